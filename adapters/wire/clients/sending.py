"""A request on its way out, whatever client sends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from onrecord.adapters.recording.plan import Outgoing
from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.wire import secrets
from onrecord.adapters.wire.api import Kind
from onrecord.adapters.wire.bodies.credentials import Credentials, credentials_of
from onrecord.adapters.wire.secrets import Digest
from onrecord.adapters.wire.wires import WIRES, Purpose, endpoint_of
from onrecord.domain import jsontext
from onrecord.domain.errors import OnrecordError
from onrecord.domain.jsontext import read_bounded_object
from onrecord.domain.new_events import NOBODY, Attribution

MARK: Final = "onrecord.request"
"""What a request is marked with that goes on for a turn: redirected, or sent anew."""

SPLICED: Final = "onrecord.spliced"
"""What a request is sent with: the body that its SDK made, and the one that goes in its place."""

_CALL: ContextVar[MutableMapping[str, Any] | None] = ContextVar("onrecord.call", default=None)


@dataclass(frozen=True)
class Sending:
    """A request that is about to be sent; its `target` is the path and the query, as on the wire.

    `extensions` travel with it through redirects, renewed authentication, and retries where its
    client tells of them.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    extensions: MutableMapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def path(self) -> str:
        """The path of its URL, as on the wire."""
        return self.target.partition("?")[0]

    @cached_property
    def purpose(self) -> Purpose:
        """The endpoint that it goes to, and whose that is."""
        return endpoint_of(self.method, self.path)

    @property
    def is_recorded(self) -> bool:
        """Whether something is recorded of it, or of what it is answered."""
        return self.kind != "none"

    @property
    def kind(self) -> Kind:
        """What it is for."""
        return "turn" if MARK in self.extensions else self.purpose.kind

    @property
    def is_turn(self) -> bool:
        """Whether it is a turn of a conversation, or goes on for one."""
        return self.kind == "turn"

    def credentials(self, body: bytes, api: str, digest: Digest) -> Callable[[], Credentials]:
        """Return what tells its secrets; its headers are copied: a retry sets them anew."""
        return partial(credentials_of, dict(self.headers), self.target, body, WIRES[api], digest)


@contextmanager
def one_call() -> Generator[None]:
    """Say that all which is sent within are attempts of one request.

    For SDKs whose requests do not tell which attempt they are.
    """
    token = _CALL.set({})
    try:
        yield
    finally:
        _CALL.reset(token)


def extensions_of_call(own: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return what travels with a request: its own, unless its client told of the call."""
    call = _CALL.get()
    return own if call is None else call


def target_of(url: str) -> str:
    """Return the path and the query of a URL."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


# What of a request's headers the record keeps, and what of them tells whose account it is.

_KEYS: Final = ("x-api-key", "api-key", "x-goog-api-key")
_PARTS: Final = ("openai-organization", "openai-project")
_SIGNED: Final = re.compile(r"AWS4-\S+ Credential=([^/,\s]+)")
"""How a signature of AWS begins: the id of the key that made it follows ("Signature Version 4")."""

_FLEETING: Final = ("eyJ", "ya29.", "bedrock-api-key-", "ASIA")
"""How keys begin that are other ones within the hour, or the day: a JSON object in base64 (RFC
7519), an access token of Google's, a short-term key of Bedrock's, a key id of AWS's token service.
"""

_RETRIES: Final = "x-stainless-retry-count"
_ATTEMPTS: Final = "amz-sdk-request"
_ATTEMPT: Final = re.compile(r"\battempt=(\d+)")


def account_in(headers: Mapping[str, str], target: str = "") -> str | None:
    """Return what tells the account that a request goes out under: a secret, to be digested.

    Its key stands in `x-api-key` (Anthropic), `api-key` (Azure), `x-goog-api-key` (Gemini), in the
    query of its target (`key=`), else in `authorization`; there a signature of AWS names it. OpenAI's
    organization and project, where they are given, say which account of that key. A token that is
    another one soon tells none.
    """
    keys = (headers[name] for name in _KEYS if name in headers)
    key = next(keys, None) or _asked_with(target) or _authorized(headers.get("authorization", ""))
    if not key or key.startswith(_FLEETING):
        return None
    parts = [headers.get(name) for name in _PARTS]
    return jsontext.write([key, *parts]).decode() if any(parts) else key


def retry_count(headers: Mapping[str, str]) -> int:
    """Return which retry of the SDK's a request is; 0 is the first attempt."""
    count = headers.get(_RETRIES, "")
    if count.isdecimal():
        return int(count)
    attempt = _ATTEMPT.search(headers.get(_ATTEMPTS, ""))
    return 0 if attempt is None else max(int(attempt[1]) - 1, 0)


def _asked_with(target: str) -> str | None:
    """Return the key in the query of a request's target."""
    return next((value for name, value in parse_qsl(urlsplit(target).query) if name == "key"), None)


def _authorized(value: str) -> str:
    signed = _SIGNED.match(value)
    return value.removeprefix("Bearer ") if signed is None else signed[1]


# A request as it is recorded: without its secrets, as it is about to go out.


def outgoing_of(
    api: str, sending: Sending, body: bytes, recorder: Recorder, by: Attribution = NOBODY
) -> Outgoing:
    """Return what is about to go out, without its secrets; `by` is who sends it.

    What it shares with a body that had none is not looked through again.
    """
    digest, wire = recorder.digest, WIRES[api]
    short = recorder.shortened(api, body)
    clean, places = secrets.cut(read_bounded_object(short or body), wire, digest)
    if short is not None and places:
        clean, places = secrets.cut(read_bounded_object(body), wire, digest)
    account = account_in(sending.headers, sending.target)
    return Outgoing(
        api=api,
        endpoint=secrets.cut_url(sending.target, digest),
        body=jsontext.write(clean) if places else body,
        cut=places,
        account=None if account is None else digest(account).hex(),
        headers={name: sending.headers[name] for name in wire.headers if name in sending.headers},
        compacts=sending.purpose.compacts,
        by=by,
    )


def unread(api: str, body: bytes, recorder: Recorder) -> bytes:
    """Return a request without the messages of one before it, which were read when that came.

    All of it where it shares none with that, or where its end makes no sense alone.
    """
    short = recorder.shortened(api, body)
    if short is None:
        return body
    try:
        WIRES[api].read_request(short)
    except OnrecordError:
        return body
    return short
