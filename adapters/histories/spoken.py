"""What a request's history says, read as the recorder reads it on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, Final, cast
from uuid import UUID

from pydantic import ValidationError

from onrecord.adapters.histories.history import Doubt, Heard, Listener, Spoken
from onrecord.adapters.recording.plan import with_digest
from onrecord.adapters.wire import secrets
from onrecord.adapters.wire.api import Sent
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput, UnknownApi
from onrecord.domain.events import DocumentExtracted, Event, MessageRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import known_api

_NOBODY: Final = UUID(int=0)
_ROLES: Final = frozenset({"user", "assistant", "model", "system", "developer", "tool", "function"})


def hear(
    api: str, request: JsonObject, listener: Listener, times: Sequence[int | None] = ()
) -> Heard:
    """Return what a request of an API says; secrets beside what was said are cut.

    `times` tells when each message was said, if that is known. Raises InvalidInput, with the number
    of the message, where it is no request of this API, UnknownApi where no wire of it is read.
    """
    if api not in WIRES:
        raise UnknownApi(
            f"{api} is no API whose wire is read: the known ones are {', '.join(WIRES)}"
        )
    clean, _ = secrets.cut(request, api, listener.digest)
    try:
        return _heard(api, clean, listener, times)
    except (InvalidInput, ValidationError) as exc:
        number = _first_wrong(api, clean)
        place = "" if number is None else f"{_noun(api)} {number}: "
        raise InvalidInput(f"{place}{_reason(exc)}") from exc


def _heard(api: str, request: JsonObject, listener: Listener, times: Sequence[int | None]) -> Heard:
    wire = WIRES[api]
    sent = wire.read_request(jsontext.write(request))
    settings: tuple[Event, ...] = ()
    blobs: dict[str, bytes] = {}
    for is_set, read in ((sent.system, wire.instructions), (sent.tools, wire.tools)):
        if is_set is not None:
            events, spilled = read(sent, None)
            settings += tuple(map(with_digest, events))
            blobs.update(spilled)
    events, spilled = wire.said(sent, sent.pieces, listener.responses, None)
    blobs.update(spilled)
    skipped = _length(request.get(known_api(api).messages)) - len(sent.messages)
    spoken = _placed(sent, events, skipped, times)
    return Heard(tuple(spoken), settings, blobs, tuple(_doubts(sent, skipped)))


def _placed(
    sent: Sent, events: Sequence[Event], skipped: int, times: Sequence[int | None]
) -> Iterator[Spoken]:
    """Yield each event with the place of its message: a message of the caller's has many blocks."""
    pieces = iter(sent.pieces)
    at = 0
    for event in events:
        if isinstance(event, DocumentExtracted):
            # A picture in an answer is a block that the event before it took already.
            yield Spoken(event, f"{_noun(sent.api)} {at + 1}", _time(times, at))
            continue
        blocks = len(event.content) if isinstance(event, MessageRecorded) else 1
        for _, piece in zip(range(blocks), pieces, strict=False):
            at = piece.message + skipped
        yield Spoken(event, f"{_noun(sent.api)} {at + 1}", _time(times, at))


def _time(times: Sequence[int | None], at: int) -> int | None:
    return times[at] if at < len(times) else None


def _doubts(sent: Sent, skipped: int) -> Iterator[Doubt]:
    heard = {piece.message for piece in sent.pieces}
    for at, message in enumerate(sent.messages):
        place = f"{_noun(sent.api)} {at + skipped + 1}"
        role = message.get("role")
        if at not in heard:
            yield Doubt("left out", place, "it holds no block: there is nothing to record")
        if isinstance(role, str) and role not in _ROLES:
            yield Doubt("opaque", place, "its role is none that is known: kept as it is")


def _first_wrong(api: str, request: JsonObject) -> int | None:
    """Return the number, from 1, of the first message that cannot be read even on its own."""
    messages = request.get(known_api(api).messages)
    if not isinstance(messages, list):
        return None
    for number, message in enumerate(cast("list[Any]", messages), 1):
        try:
            sent = WIRES[api].read_request(jsontext.write({known_api(api).messages: [message]}))
            WIRES[api].said(sent, sent.pieces, repeat(_NOBODY), None)
        except (InvalidInput, ValidationError):
            return number
    return None


def _length(messages: object) -> int:
    return len(cast("list[Any]", messages)) if isinstance(messages, list) else 1


def _noun(api: str) -> str:
    return "item" if known_api(api).messages == "input" else "message"


def _reason(exc: InvalidInput | ValidationError) -> str:
    """Say what is wrong, but nothing of the content."""
    return str(exc) if isinstance(exc, InvalidInput) else "a text or an id is not of its kind"
