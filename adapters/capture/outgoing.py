"""A request as it is recorded: without its secrets, as it is about to go out."""

from __future__ import annotations

from onrecord.adapters.capture import request_headers, secrets
from onrecord.adapters.capture.nesting import read_object
from onrecord.adapters.capture.sending import Sending
from onrecord.adapters.recording.plan import Outgoing
from onrecord.adapters.recording.recorder import Journal
from onrecord.domain import jsontext


def outgoing_of(api: str, sending: Sending, body: bytes, journal: Journal) -> Outgoing:
    """Return what is about to go out, without its secrets.

    What it shares with a body that had none is not looked through again.
    """
    digest = journal.digest
    short = journal.shortened(api, body)
    clean, places = secrets.cut(read_object(short or body), api, digest)
    if short is not None and places:
        clean, places = secrets.cut(read_object(body), api, digest)
    account = request_headers.account_in(sending.headers, sending.target)
    return Outgoing(
        api=api,
        endpoint=secrets.cut_url(sending.target, digest),
        body=jsontext.write(clean) if places else body,
        cut=places,
        account=None if account is None else digest(account).hex(),
        headers=request_headers.kept(api, sending.headers),
    )
