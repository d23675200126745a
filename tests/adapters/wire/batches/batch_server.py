"""A server on this machine that makes batches as it is told, and gives their results as often as asked."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Protocol, TypeVar

from onrecord.adapters.demo.services.connection import Listener, Received, Reply
from onrecord.adapters.demo.services.scenes import Fault
from onrecord.domain.jsontext import JsonObject
from tests.patience import join

BATCH = "msgbatch_01"


def message(text: str, number: int = 1) -> JsonObject:
    return {
        "id": f"msg_{number:02}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2, "service_tier": "batch"},
    }


def succeeded(name: str, text: str, number: int = 1) -> JsonObject:
    return {"custom_id": name, "result": {"type": "succeeded", "message": message(text, number)}}


ANSWERED = [succeeded("a", "Blue.", 1), succeeded("b", "Green.", 2)]
MIXED = [
    *ANSWERED,
    {
        "custom_id": "c",
        "result": {
            "type": "errored",
            "error": {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": "too long"},
                "request_id": "req_01",
            },
        },
    },
    {"custom_id": "d", "result": {"type": "expired"}},
    {"custom_id": "e", "result": {"type": "canceled"}},
]


@dataclass
class Batches:
    """What the server says: to what is created, and as the lines of results."""

    lines: Sequence[JsonObject]
    refusals: list[int] = field(default_factory=list[int])
    faults: tuple[Fault, ...] = ()
    packed: bool = False
    url: str = ""
    received: list[Received] = field(default_factory=list[Received])

    def reply(self, received: Received) -> Reply:
        self.received.append(received)
        if received.path.endswith("/results"):
            return self._results()
        if received.method == "POST" and self.refusals:
            error = {"type": "error", "error": {"type": "api_error", "message": "It failed"}}
            return _json(error, self.refusals.pop(0))
        if received.path.endswith("/messages"):
            return _json(message("Fine.", 99))
        return _json(self._batch())

    def results(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)

    def _results(self) -> Reply:
        body, headers = self.results(), {"content-type": "application/x-jsonl"}
        if self.packed:
            import gzip

            body, headers = gzip.compress(body), {**headers, "content-encoding": "gzip"}
        return Reply(200, headers, body, chunked=True, faults=self.faults)

    def _batch(self) -> JsonObject:
        url = f"{self.url}/v1/messages/batches/{BATCH}/results"
        return {
            "id": BATCH,
            "type": "message_batch",
            "processing_status": "ended",
            "results_url": url,
            "created_at": "2026-11-01T00:00:00Z",
        }


class Served(Protocol):
    """What a server says, at a URL that it is told."""

    url: str

    def reply(self, received: Received) -> Reply: ...


ServedT = TypeVar("ServedT", bound=Served)


@contextmanager
def serving(batches: ServedT) -> Generator[ServedT]:
    closing = Event()
    listener = Listener(batches.reply, closing)
    batches.url = f"http://127.0.0.1:{listener.server_port}"
    thread = Thread(target=listener.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield batches
    finally:
        closing.set()
        listener.shutdown()
        join(thread)
        listener.server_close()


def _json(body: Any, status: int = 200) -> Reply:
    return Reply(status, {"content-type": "application/json"}, json.dumps(body).encode())
