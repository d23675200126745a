"""An answer as Gemini's API writes it: one JSON body, or server-sent events.

Shapes: ai.google.dev, "GenerateContentResponse", and recorded answers. A chunk of a stream is such
a body that holds what is new.
"""

from collections.abc import Iterator

from onrecord.adapters.demo.services.anthropic import encoded
from onrecord.adapters.demo.services.connection import tokens
from onrecord.adapters.demo.services.scenes import JsonObject, Said

_PIECE = 40


def parts(said: Said) -> list[JsonObject]:
    """Return what the model says as parts, nothing signed yet."""
    thought: list[JsonObject] = [{"text": said.thought, "thought": True}] if said.thought else []
    text: list[JsonObject] = [{"text": said.text}] if said.text else []
    calls: list[JsonObject] = [
        {"functionCall": {"name": call.name, "args": call.arguments}} for call in said.calls
    ]
    return [*thought, *text, *calls]


def body(said: list[JsonObject], request: JsonObject, model: str, own_id: str) -> JsonObject:
    """Return the body that says these parts."""
    return _response(said, "STOP", _usage(said, request), model, own_id)


def chunks(said: list[JsonObject], request: JsonObject, model: str, own_id: str) -> Iterator[bytes]:
    """Yield the events that say these parts; the last says why the model stopped."""
    usage = _usage(said, request)
    pieces = [piece for part in said for piece in _pieces(part)]
    for place, piece in enumerate(pieces, start=1):
        finish = "STOP" if place == len(pieces) else None
        yield b"data: %s\r\n\r\n" % encoded(_response([piece], finish, usage, model, own_id))


def _response(
    said: list[JsonObject], finish: str | None, usage: JsonObject, model: str, own_id: str
) -> JsonObject:
    candidate: JsonObject = {"content": {"parts": [*said], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": model,
        "responseId": own_id,
    }


def _usage(said: list[JsonObject], request: JsonObject) -> JsonObject:
    prompt, answer = tokens(request), tokens({"parts": [*said]})
    return {
        "promptTokenCount": prompt,
        "candidatesTokenCount": answer,
        "totalTokenCount": prompt + answer,
    }


def _pieces(part: JsonObject) -> Iterator[JsonObject]:
    """Yield a part as it arrives: a text piece by piece, what is signed and a call whole."""
    match part:
        case {"text": str(text)} if "thoughtSignature" not in part:
            for start in range(0, len(text), _PIECE):
                yield {**part, "text": text[start : start + _PIECE]}
        case _:
            yield part
