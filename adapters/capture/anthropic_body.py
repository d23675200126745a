"""The answers of Anthropic's Messages API, read from the bytes of a JSON body."""

from __future__ import annotations

from typing import Any, cast

from onrecord.adapters.capture.answer import Anomaly, Answer, Block, Loss
from onrecord.adapters.capture.anthropic_envelope import API, closed, envelope_of
from onrecord.adapters.capture.failures import error_kind
from onrecord.adapters.capture.nesting import read_object
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole.

    Never raises: a body that cannot be read is an answer without blocks that says so.
    """
    try:
        message = read_object(body)
    except MalformedJson as exc:
        return Answer(api=API, interruption=loss, detail=detail or str(exc))
    return answer_of(message)


def answer_of(message: JsonObject) -> Answer:
    """Return what a message, or an error in its place, said."""
    if message.get("type") == "error":
        error = message.get("error", message)
        return Answer(api=API, interruption="error", error=error, detail=error_kind(error))
    content = message.get("content")
    if not isinstance(content, list):
        why = "a message without a list of content"
        return Answer(api=API, envelope=envelope_of(message), interruption="malformed", detail=why)
    return _message(message, cast("list[Any]", content))


def _message(message: JsonObject, content: list[Any]) -> Answer:
    whole = tuple(
        Block(index, cast("JsonObject", block))
        for index, block in enumerate(content)
        if isinstance(block, dict)
    )
    broken = len(content) - len(whole)
    stopped = message.get("stop_reason") is not None
    answer = Answer(
        api=API,
        blocks=whole,
        envelope=envelope_of(message),
        interruption="malformed" if broken else None,
        detail=f"{broken} of the content is no block" if broken else None,
        anomalies=() if stopped else (Anomaly("a message without a stop reason"),),
    )
    return closed(answer)
