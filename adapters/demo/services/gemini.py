"""Gemini's API as the demo server speaks it: generateContent and its stream.

What the service refuses is told by the rules that `onrecord check-request` knows. What a request
alone cannot tell is told here: whether a signature is the service's own.
"""

import base64
import hmac
import re
from collections.abc import Iterator

from onrecord.adapters.demo.services.connection import (
    SSE,
    Received,
    Reply,
    at_once,
    pieces,
    streamed,
    tokens,
)
from onrecord.adapters.demo.services.scenes import JsonObject, OtherScript, PlainAnswer, encoded
from onrecord.projections.apis.gemini import rules
from onrecord.projections.apis.rules import violations
from onrecord.projections.members import objects, standard_base64, text

# An answer as Gemini's API writes it: one JSON body, or server-sent events.
#
# Shapes: ai.google.dev, "GenerateContentResponse", and recorded answers. A chunk of a stream is
# such a body that holds what is new.

_PIECE = 40


def _parts_of(answer: PlainAnswer) -> list[JsonObject]:
    """Return what the model says as parts, nothing signed yet."""
    thought: list[JsonObject] = (
        [{"text": answer.thought, "thought": True}] if answer.thought else []
    )
    text: list[JsonObject] = [{"text": answer.text}] if answer.text else []
    calls: list[JsonObject] = [
        {"functionCall": {"name": call.name, "args": call.arguments}} for call in answer.calls
    ]
    return [*thought, *text, *calls]


def _chunks(
    parts: list[JsonObject], request: JsonObject, model: str, own_id: str
) -> Iterator[bytes]:
    """Yield the events that say these parts; the last says why the model stopped."""
    usage = _usage(parts, request)
    arriving = [piece for part in parts for piece in _part_pieces(part)]
    for place, piece in enumerate(arriving, start=1):
        finish = "STOP" if place == len(arriving) else None
        yield b"data: %s\r\n\r\n" % encoded(_response([piece], finish, usage, model, own_id))


def _response(
    parts: list[JsonObject], finish: str | None, usage: JsonObject, model: str, own_id: str
) -> JsonObject:
    candidate: JsonObject = {"content": {"parts": [*parts], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": model,
        "responseId": own_id,
    }


def _usage(parts: list[JsonObject], request: JsonObject) -> JsonObject:
    prompt, answer = tokens(request), tokens({"parts": [*parts]})
    return {
        "promptTokenCount": prompt,
        "candidatesTokenCount": answer,
        "totalTokenCount": prompt + answer,
    }


def _part_pieces(part: JsonObject) -> Iterator[JsonObject]:
    """Yield a part as it arrives: a text piece by piece, what is signed and a call whole."""
    match part:
        case {"text": str(text)} if "thoughtSignature" not in part:
            for piece in pieces(text, _PIECE):
                yield {**part, "text": piece}
        case _:
            yield part


UNSIGNED = b"skip_thought_signature_validator"
"""What the service takes in place of a signature (ai.google.dev, "Thought signatures")."""

_PATH = re.compile(r"/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent)")
_NO_KEY = (
    "Method doesn't allow unregistered callers (callers without established identity). "
    "Please use API Key or other form of API consumer identity to call this API."
)


class GeminiService:
    """Answers what its script says, and refuses what the real service refuses."""

    def __init__(self, script: OtherScript, key: bytes) -> None:
        """Hold the script; `key` stands for who signs."""
        self._script = script
        self._key = key

    def reply(self, received: Received, request: JsonObject | None, own_id: str) -> Reply | None:
        """Answer a request (None: it is no JSON), if it is for these paths; ids are made of `own_id`."""
        match = _PATH.fullmatch(received.path)
        if match is None:
            return None
        if "x-goog-api-key" not in received.headers:
            return _refused(403, "PERMISSION_DENIED", _NO_KEY)
        if request is None:
            return _refused(400, "INVALID_ARGUMENT", "Invalid JSON payload received.")
        model = match[1]
        why = next(self._complaints({**request, "model": model}), None)
        if why is not None:
            return _refused(400, "INVALID_ARGUMENT", why)
        answer = self._script("gemini", request)
        parts = _parts_of(answer)
        if answer.reasons:
            parts = self._signed(parts)
        if match[2] == "streamGenerateContent":
            return streamed(_chunks(parts, request, model, own_id), SSE, {})
        usage = _usage(parts, request)
        return at_once(200, _response(parts, "STOP", usage, model, own_id), {})

    def _complaints(self, request: JsonObject) -> Iterator[str]:
        for violation in violations(rules.RULES, request):
            yield violation.said
        for content in objects(request.get("contents")):
            for part in objects(content.get("parts")):
                if not self._is_genuine(part):
                    yield "Corrupted thought signature."

    def _signed(self, parts: list[JsonObject]) -> list[JsonObject]:
        """Return an answer with its first call signed, or, where it makes none, its last text."""
        calls = [place for place, part in enumerate(parts) if "functionCall" in part]
        at = calls[0] if calls else len(parts) - 1
        signature = base64.b64encode(self._signature(parts[at])).decode()
        return [
            {**part, "thoughtSignature": signature} if place == at else part
            for place, part in enumerate(parts)
        ]

    def _is_genuine(self, part: JsonObject) -> bool:
        spelled = text(part.get("thoughtSignature"))
        if not spelled or spelled.encode() == UNSIGNED:
            return True
        try:
            # The service reads both alphabets: its own SDK spells what it got in the other one.
            signature = base64.b64decode(standard_base64(spelled))
        except ValueError:
            return False
        return signature == UNSIGNED or hmac.compare_digest(signature, self._signature(part))

    def _signature(self, part: JsonObject) -> bytes:
        bare: JsonObject = {key: value for key, value in part.items() if key != "thoughtSignature"}
        return hmac.digest(self._key, encoded(bare), "sha256")


def _refused(code: int, status: str, message: str) -> Reply:
    return at_once(code, {"error": {"code": code, "message": message, "status": status}}, {})
