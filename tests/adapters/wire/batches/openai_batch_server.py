"""A server on this machine that keeps files and makes batches of them, as OpenAI's does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from onrecord.adapters.demo.services.connection import Received, Reply
from onrecord.adapters.demo.services.scenes import Fault
from onrecord.domain.jsontext import JsonObject

BATCH = "batch_01"
GIVEN = "file-in"
OUTPUT = "file-out"
ERRORS = "file-errors"
CHAT: Final = "/v1/chat/completions"


def completion(text: str, number: int = 1) -> JsonObject:
    return {
        "id": f"chatcmpl-{number:02}",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def response(text: str, number: int = 1) -> JsonObject:
    said: JsonObject = {"type": "output_text", "text": text, "annotations": []}
    message: JsonObject = {
        "id": f"msg_{number:02}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [said],
    }
    return {
        "id": f"resp_{number:02}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-5",
        "output": [message],
    }


def answered(name: str, body: JsonObject, status: int = 200) -> JsonObject:
    response = {"status_code": status, "request_id": f"req_{name}", "body": body}
    return {"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": None}


ANSWERED = [
    answered("a", completion("Blue.", 1)),
    answered("b", completion("Green.", 2)),
]
FAILED = [
    answered("c", {"error": {"code": "invalid_value", "message": "too long"}}, 400),
    {
        "id": "batch_req_d",
        "custom_id": "d",
        "response": None,
        "error": {"code": "batch_expired", "message": "too late"},
    },
]


@dataclass
class FileBatches:
    """What the server says; `files` are its files, by their ids."""

    endpoint: str = CHAT
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    refusals: list[int] = field(default_factory=list[int])
    faults: tuple[Fault, ...] = ()
    url: str = ""
    batch: str = BATCH
    output: str = OUTPUT
    received: list[Received] = field(default_factory=list[Received])

    def reply(self, received: Received) -> Reply:
        self.received.append(received)
        if received.method == "POST" and self.refusals:
            return _json({"error": {"type": "server_error"}}, self.refusals.pop(0))
        match received.path.strip("/").split("/")[1:]:
            case ["files"]:
                return _json({"id": GIVEN, "object": "file", "purpose": "batch", "bytes": 1})
            case ["files", name, "content"]:
                headers = {"content-type": "application/octet-stream"}
                return Reply(200, headers, self.files[name], chunked=True, faults=self.faults)
            case ["batches"] if received.method == "GET":
                return _json({"object": "list", "data": [self.made()], "has_more": False})
            case _:
                return _json(self.made())

    def made(self) -> JsonObject:
        return {
            "id": self.batch,
            "object": "batch",
            "endpoint": self.endpoint,
            "input_file_id": GIVEN,
            "completion_window": "24h",
            "status": "completed",
            "created_at": 1,
            "output_file_id": self.output if self.output in self.files else None,
            "error_file_id": ERRORS if ERRORS in self.files else None,
        }


def lines(*said: JsonObject) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in said)


def ended(results: Sequence[JsonObject] = ANSWERED, endpoint: str = CHAT) -> FileBatches:
    """A server whose batch has its results."""
    return FileBatches(endpoint, {OUTPUT: lines(*results)})


def _json(body: JsonObject, status: int = 200) -> Reply:
    return Reply(status, {"content-type": "application/json"}, json.dumps(body).encode())
