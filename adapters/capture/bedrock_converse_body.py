"""The answers of Bedrock's Converse API, read from the bytes of a JSON body."""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.capture.answer import Anomaly, Answer, Block, Loss
from onrecord.adapters.capture.bedrock_converse_envelope import (
    API,
    closed,
    envelope_of,
    message_of,
)
from onrecord.adapters.capture.failures import error_kind
from onrecord.adapters.capture.nesting import read_object
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject

_ERRORS: Final = frozenset({"message", "Message", "__type", "error"})
"""Members that errors have; no answer has one of them."""


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole.

    Never raises: a body that cannot be read is an answer without blocks that says so.
    """
    try:
        told = read_object(body)
    except MalformedJson as exc:
        return Answer(api=API, interruption=loss, detail=detail or str(exc))
    if "output" not in told and told.keys() & _ERRORS:
        error = told.get("error", told)
        return Answer(api=API, interruption="error", error=error, detail=error_kind(error))
    content = message_of(told).get("content")
    if not isinstance(content, list):
        why = "an answer without a list of content"
        return Answer(api=API, envelope=envelope_of(told), interruption="malformed", detail=why)
    return _answer(told, cast("list[Any]", content))


def _answer(told: JsonObject, content: list[Any]) -> Answer:
    whole = tuple(
        Block(index, cast("JsonObject", block))
        for index, block in enumerate(content)
        if isinstance(block, dict)
    )
    broken = len(content) - len(whole)
    stopped = told.get("stopReason") is not None
    answer = Answer(
        api=API,
        blocks=whole,
        envelope=envelope_of(told),
        interruption="malformed" if broken else None,
        detail=f"{broken} of the content is no block" if broken else None,
        anomalies=() if stopped else (Anomaly("an answer without a stop reason"),),
    )
    return closed(answer)
