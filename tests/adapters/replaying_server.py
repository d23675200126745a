"""A server on this machine that answers one request after the other with what it was given."""

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from threading import Event, Lock, Thread

from onrecord.adapters.demo.services.connection import Listener, Received, Reply
from tests.openai_responses_wire import JsonObject, event
from tests.patience import join


class Replaying:
    """What a server still is to answer, and what it received."""

    def __init__(self, replies: Iterable[Reply]) -> None:
        self._replies = iter(replies)
        self._lock = Lock()
        self.received: list[str] = []
        self.requests: list[Received] = []
        self.url = ""

    def reply(self, received: Received) -> Reply:
        with self._lock:
            self.received.append(f"{received.method} {received.path}")
            self.requests.append(received)
            return next(self._replies)


@contextmanager
def replaying(*replies: Reply) -> Generator[Replaying]:
    closing = Event()
    server = Replaying(replies)
    listener = Listener(server.reply, closing)
    server.url = f"http://127.0.0.1:{listener.server_port}/v1"
    thread = Thread(target=listener.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        closing.set()
        listener.shutdown()
        join(thread)
        listener.server_close()


def whole(body: JsonObject, status: int = 200) -> Reply:
    return Reply(status, {"content-type": "application/json"}, json.dumps(body).encode())


def streamed(events: Iterable[JsonObject]) -> Reply:
    body = b"".join(map(event, events))
    return Reply(200, {"content-type": "text/event-stream; charset=utf-8"}, body, chunked=True)
