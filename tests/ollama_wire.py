"""Ollama's wire, built by hand: lines of a streamed answer, and the same answer whole."""

import json
from typing import Any

JsonObject = dict[str, Any]

HEAD: JsonObject = {"model": "qwen3", "created_at": "2026-01-02T03:04:05.678901234Z"}
END: JsonObject = {
    "done_reason": "stop",
    "total_duration": 4883583458,
    "prompt_eval_count": 26,
    "eval_count": 9,
}


def line(message: JsonObject, **members: Any) -> JsonObject:
    """One line of a stream."""
    return {**HEAD, "message": {"role": "assistant", **message}, "done": False, **members}


def last(message: JsonObject | None = None, **members: Any) -> JsonObject:
    """The last line of a stream, or a whole answer."""
    return {**line({"content": ""} if message is None else message), "done": True, **END, **members}


def spelled(lines: list[JsonObject]) -> bytes:
    """The body of a stream."""
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in lines)


def call(name: str, call_id: str | None = None, **arguments: Any) -> JsonObject:
    """A call as the wire has it, with an id where the server gives one."""
    function = {"name": name, "arguments": arguments}
    return {"function": function} if call_id is None else {"id": call_id, "function": function}
