"""The answers of Gemini's API, read from the bytes of a JSON body.

`streamGenerateContent` without `alt=sse` gives a list of chunks (ai.google.dev, "Stream").
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.capture.answer import Answer, Loss
from onrecord.adapters.capture.gemini_chunks import Chunks
from onrecord.adapters.capture.gemini_parts import API
from onrecord.adapters.capture.nesting import read
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject

SILENT: Final = "a candidate without a finish reason"
NOTHING: Final = "an answer of no candidate"


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole.

    Never raises: a body that cannot be read is an answer without blocks that says so.
    """
    try:
        found: Any = read(body)
    except MalformedJson as exc:
        return Answer(api=API, interruption=loss, detail=detail or str(exc))
    listed = cast("list[Any]", found) if isinstance(found, list) else [found]
    if not listed or not all(isinstance(chunk, dict) for chunk in listed):
        return Answer(api=API, interruption="malformed", detail="expected a JSON object")
    chunks = Chunks()
    for chunk in cast("list[JsonObject]", listed):
        chunks.take(chunk)
    return ended(chunks)


def ended(chunks: Chunks) -> Answer:
    """Return what chunks said of which the last has come."""
    answer = chunks.answer(None, None)
    if answer.error is not None or chunks.is_over:
        return answer
    if not answer.envelope.get("candidates"):
        return chunks.answer("malformed", NOTHING)
    chunks.note(SILENT)
    return chunks.answer(None, None)
