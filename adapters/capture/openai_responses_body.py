"""The answers of OpenAI's Responses API, read from the bytes of a JSON body.

So are the answers to /responses/compact, and what is read of a response that went on in the
background.
"""

from __future__ import annotations

from typing import Any, cast

from onrecord.adapters.capture.answer import Anomaly, Answer, Block, Loss
from onrecord.adapters.capture.nesting import read_object
from onrecord.adapters.capture.openai_responses_envelope import (
    API,
    closed,
    ended,
    envelope_of,
    error_code,
    is_known_end,
)
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole.

    Never raises: a body that cannot be read is an answer without blocks that says so.
    """
    try:
        response = read_object(body)
    except MalformedJson as exc:
        return Answer(api=API, interruption=loss, detail=detail or str(exc))
    output, error = response.get("output"), response.get("error")
    if isinstance(output, list):
        return _response(response, cast("list[Any]", output))
    envelope = envelope_of(response)
    if error is not None:
        code = error_code(error)
        return Answer(API, envelope=envelope, interruption="error", error=error, detail=code)
    why = "a response without a list of output"
    return Answer(api=API, envelope=envelope, interruption="malformed", detail=why)


def _response(response: JsonObject, output: list[Any]) -> Answer:
    whole = tuple(
        Block(index, cast("JsonObject", item))
        for index, item in enumerate(output)
        if isinstance(item, dict)
    )
    status, envelope = response.get("status"), envelope_of(response)
    interruption, detail = ended(status, envelope)
    broken = len(output) - len(whole)
    if broken:
        interruption, detail = "malformed", f"{broken} of the output is no item"
    is_odd = not is_known_end(status, envelope)
    answer = Answer(
        api=API,
        blocks=whole,
        envelope=envelope,
        interruption=interruption,
        detail=detail,
        error=envelope.get("error") if interruption == "error" else None,
        anomalies=(Anomaly("a response of no known status"),) if is_odd else (),
    )
    return closed(answer)
