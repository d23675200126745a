"""What services answer, in the bytes of their wire: whole bodies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tests.bench.payload import API as ANTHROPIC
from tests.bench.payload import text
from tests.bench.spellings import CHAT, RESPONSES

JsonObject = dict[str, Any]


def answered(api: str, number: int) -> tuple[bytes, JsonObject]:
    """Return an answer of 1 KB, and what a program appends of it to its list."""
    answer, said = _ANSWERS[api](number)
    return json.dumps(answer).encode(), said


def _message(number: int) -> tuple[JsonObject, JsonObject]:
    content = [{"type": "text", "text": text()}]
    said: JsonObject = {"role": "assistant", "content": content}
    told = {"id": f"msg_{number}", "type": "message", "model": "m", "stop_reason": "end_turn"}
    return {**told, **said, "usage": {"input_tokens": 9, "output_tokens": 9}}, said


def _completion(number: int) -> tuple[JsonObject, JsonObject]:
    said: JsonObject = {"role": "assistant", "content": text(), "refusal": None}
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": "stop"}
    told = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "m"}
    return {**told, "choices": [choice]}, said


def _response(number: int) -> tuple[JsonObject, JsonObject]:
    part: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": text()}
    said: JsonObject = {"id": f"msg_of_{number}", "type": "message", "status": "completed"}
    said |= {"role": "assistant", "content": [part]}
    told = {"id": f"resp_{number}", "object": "response", "model": "m", "status": "completed"}
    return {**told, "output": [said]}, said


_ANSWERS: Final[dict[str, Callable[[int], tuple[JsonObject, JsonObject]]]] = {
    ANTHROPIC: _message,
    CHAT: _completion,
    RESPONSES: _response,
}
