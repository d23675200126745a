"""Ollama's chat API as the demo server speaks it: one JSON object, or a line of JSON a piece.

Shapes and errors: Ollama's `docs/api.md` and `server/routes.go`. It answers with a stream unless
it is told not to.
"""

from collections.abc import Iterator

from onrecord.adapters.demo.services.connection import (
    Received,
    Reply,
    at_once,
    pieces,
    streamed,
    tokens,
)
from onrecord.adapters.demo.services.scenes import JsonObject, OtherScript, PlainAnswer, encoded
from onrecord.projections.apis.ollama import rules
from onrecord.projections.apis.rules import violations

_PATH = "/api/chat"
_LINES = "application/x-ndjson"
_CREATED = "2026-09-22T08:00:00.123456789Z"


class OllamaService:
    """Answers what its script says, and refuses what the real server refuses."""

    def __init__(self, script: OtherScript) -> None:
        """Hold the script."""
        self._script = script

    def reply(self, received: Received, request: JsonObject | None, own_id: str) -> Reply | None:
        """Answer a request (None: it is no JSON), if it is for these paths; ids are made of `own_id`."""
        if received.path != _PATH:
            return None
        if request is None:
            return _refused("invalid character in request body")
        if not request.get("model"):
            return _refused("model is required")
        for violation in violations(rules.RULES, request):
            return _refused(violation.said)
        answer = self._script("ollama", request)
        if request.get("stream") is False:
            return at_once(200, _last(_message(answer, own_id), answer, request), {})
        return streamed(_lines(answer, request, own_id), _LINES, {})


def _lines(answer: PlainAnswer, request: JsonObject, own_id: str) -> Iterator[bytes]:
    for member, words in (("thinking", answer.thought), ("content", answer.text)):
        for piece in pieces(words):
            yield _line({"content": "", member: piece}, request)
    calls = _calls(answer, own_id)
    if calls:
        yield _line({"content": "", "tool_calls": [*calls]}, request)
    yield encoded(_last({"role": "assistant", "content": ""}, answer, request)) + b"\n"


def _line(members: JsonObject, request: JsonObject) -> bytes:
    line: JsonObject = {
        "model": request["model"],
        "created_at": _CREATED,
        "message": {"role": "assistant", **members},
        "done": False,
    }
    return encoded(line) + b"\n"


def _last(message: JsonObject, answer: PlainAnswer, request: JsonObject) -> JsonObject:
    return {
        "model": request["model"],
        "created_at": _CREATED,
        "message": message,
        "done": True,
        "done_reason": "stop",
        "total_duration": 4_883_583_458,
        "prompt_eval_count": tokens(request),
        "eval_count": tokens(_message(answer, "")),
    }


def _message(answer: PlainAnswer, own_id: str) -> JsonObject:
    calls = _calls(answer, own_id)
    return {
        "role": "assistant",
        "content": answer.text,
        **({"thinking": answer.thought} if answer.thought else {}),
        **({"tool_calls": [*calls]} if calls else {}),
    }


def _calls(answer: PlainAnswer, own_id: str) -> list[JsonObject]:
    return [
        {
            "id": f"call_{own_id[:8]}{place}",
            "function": {"index": place, "name": call.name, "arguments": call.arguments},
        }
        for place, call in enumerate(answer.calls)
    ]


def _refused(message: str) -> Reply:
    return at_once(400, {"error": message}, {})
