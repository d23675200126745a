"""Answers that a program has in hand, read as those on the wire are, by the same readers."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple, cast
from uuid import UUID

from onrecord.adapters.wire.answer import Conclusion, closing_event
from onrecord.adapters.wire.api import Wire, attempt_failed
from onrecord.adapters.wire.blob_bytes import Scratch
from onrecord.adapters.wire.bodies.attempt import Attempt
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.bodies.payloads import Payload, answer_payload, out_of_batch
from onrecord.adapters.wire.secrets import Digest
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.events import AnswerPart, ResponseCompleted, ResponseInterrupted
from onrecord.domain.jsontext import JsonObject, read_bounded

NO_REQUEST: Final = UUID(int=0)
"""The request that an answer names before it is known which one it answers."""

_PIECE: Final = 1024 * 1024

_OF_ANSWERS: Final = frozenset(
    {"id", "object", "model", "choices", "candidates", "content", "output", "responseId", "done"}
)
"""Members that answers have, and bodies of errors do not, whatever the API."""


class AnswerReading(NamedTuple):
    """An answer that was read, and names no request yet; `digest` stands for all its bytes."""

    recording: Conclusion
    closing: ResponseCompleted | ResponseInterrupted | None
    digest: str


def read_answer(native: object, wire: Wire, digest: Digest, scratch: Scratch) -> AnswerReading:
    """Return what an answer says; InvalidContent where it is none of its API.

    What is too long to be held goes to files in `scratch`.
    """
    payload = out_of_batch(answer_payload(native, wire))
    credentials = Credentials((), digest)
    recording = _failure(payload, credentials) or _recording(payload, wire, credentials, scratch)
    closing = closing_event(recording)
    if closing is not None:
        _must_be_of_api(wire, payload, recording, closing)
    return AnswerReading(recording, closing, hashlib.sha256(payload.data).hexdigest())


def _recording(
    payload: Payload, wire: Wire, credentials: Credentials, scratch: Scratch
) -> Conclusion:
    """Return the events of an answer, as an attempt on the wire comes to them."""
    recordings: list[Conclusion] = []

    def close(recording: Conclusion, _failed: bool) -> None:
        recordings.append(recording)

    attempt = Attempt(wire, NO_REQUEST, None, lambda: credentials, close, scratch)
    headers = {"content-type": payload.content_type}
    if payload.request_id is not None:
        headers["request-id"] = payload.request_id
    attempt.answered(200, headers)
    for at in range(0, len(payload.data), _PIECE):
        attempt.feed(payload.data[at : at + _PIECE])
        if attempt.must_write:
            attempt.write_out()
    attempt.finish()
    (recording,) = recordings
    return recording


def _failure(payload: Payload, credentials: Credentials) -> Conclusion | None:
    """Return the failed attempt that an error's body tells of; None for what is none."""
    try:
        members = _error_in(read_bounded(payload.data))
    except MalformedJson:
        return None
    if members is None:
        return None
    failed = attempt_failed(payload.status or 0, jsontext.write(members), request=NO_REQUEST)
    update = {"status": payload.status, "error": credentials.out_of_error(failed.error)}
    return (failed.model_copy(update=update),), {}


def _error_in(body: object) -> JsonObject | None:
    """Return the body of an error, which has nothing else in it; Google has a list around it."""
    match body:
        case [dict()]:
            return _error_in(cast("list[object]", body)[0])
        case {"error": str() | dict()} | {"Error": dict()} | {"message": str()}:
            members = cast("JsonObject", body)
            return None if members.keys() & _OF_ANSWERS else members
        case _:
            return None


def _must_be_of_api(
    wire: Wire,
    payload: Payload,
    recording: Conclusion,
    closing: ResponseCompleted | ResponseInterrupted,
) -> None:
    if not isinstance(closing, ResponseInterrupted):
        return
    if closing.reason == "malformed":
        raise InvalidContent(f"this is no answer of {wire.api}: {closing.detail or 'malformed'}")
    says_something = closing.unfinished or any(isinstance(e, AnswerPart) for e in recording[0])
    members = frozenset(closing.envelope)
    if wire.answer_members is not None:
        members &= wire.answer_members
    is_known = says_something or members or closing.reason == "oversized"
    if not (is_known or (closing.error is not None and payload.is_one_event)):
        raise InvalidContent(f"this is no answer of {wire.api}: it says nothing that is of it")
