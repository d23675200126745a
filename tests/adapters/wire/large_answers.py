"""Large answers: a service that gives them, and a program that reads one and tells its own peak.

Each is a process of its own: `python -m tests.adapters.wire.large_answers serve`, or `read` with what to
read. The peak is that of a process's whole life, so that each answer is read by a new one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from tests.patience import PATIENCE

PIECE: Final = "and so the answer goes on, "
_BLOCK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Reading:
    """What a program saw of an answer; `peak` is the most memory that it had, in bytes."""

    peak: int
    seconds: float
    digest: str
    failure: str | None
    closing: str | None = None
    reason: str | None = None
    raw: int = 0


def _sse(data: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (data["type"].encode(), json.dumps(data).encode())


def _chunk(**more: Any) -> bytes:
    choice: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": None, **more}
    held = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: %s\n\n" % json.dumps({**held, "choices": [choice]}).encode()


def _repeated(frame: bytes, size: int) -> Iterator[bytes]:
    """Yield a frame again and again, some of them at once."""
    many = max(1, _BLOCK // len(frame))
    for _ in range(max(1, size // (len(frame) * many))):
        yield frame * many


def _spaced(frame: bytes, size: int) -> Iterator[bytes]:
    """Yield one frame whose text is long; the text is spelled with an x in the frame."""
    head, tail = frame.split(b"xxx")
    yield head
    yield from _repeated(PIECE.encode(), size)
    yield tail


def _anthropic(middle: Callable[[bytes, int], Iterator[bytes]], text: str, size: int) -> Any:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
    }
    usage = {"input_tokens": 1, "output_tokens": 1}
    start: dict[str, Any] = {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield _sse({"type": "message_start", "message": start})
    block = {"type": "text", "text": ""}
    yield _sse({"type": "content_block_start", "index": 0, "content_block": block})
    delta = {"type": "text_delta", "text": text}
    yield from middle(_sse({"type": "content_block_delta", "index": 0, "delta": delta}), size)
    yield _sse({"type": "content_block_stop", "index": 0})
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _sse({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9}})
    yield _sse({"type": "message_stop"})


def _chat(middle: Callable[[bytes, int], Iterator[bytes]], text: str, size: int) -> Any:
    yield _chunk(delta={"role": "assistant", "content": ""})
    yield from middle(_chunk(delta={"content": text}), size)
    yield _chunk(finish_reason="stop")
    yield b"data: [DONE]\n\n"


def _responses(middle: Callable[[bytes, int], Iterator[bytes]], text: str, size: int) -> Any:
    """A stream of OpenAI's: what was said piece by piece is said again as it ends."""
    about = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    told: dict[str, Any] = {
        "type": "response.output_text.delta",
        **about,
        "delta": text,
        "logprobs": [],
    }
    frame = _sse(told)
    size //= 2 if text == PIECE else 3
    said = PIECE * sum(part.count(PIECE.encode()) for part in middle(frame, size))
    part: dict[str, Any] = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
    item: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
    }
    answer: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    yield _sse({"type": "response.created", "response": {**answer, "status": "in_progress"}})
    begun: dict[str, Any] = {**item, "status": "in_progress", "content": []}
    yield _sse({"type": "response.output_item.added", "output_index": 0, "item": begun})
    empty: dict[str, Any] = {**part, "text": ""}
    yield _sse({"type": "response.content_part.added", **about, "part": empty})
    yield from middle(frame, size)
    yield _sse({"type": "response.output_text.done", **about, "text": said, "logprobs": []})
    done: dict[str, Any] = {**item, "content": [part]}
    yield _sse({"type": "response.output_item.done", "output_index": 0, "item": done})
    whole: dict[str, Any] = {**answer, "status": "completed", "output": [done]}
    yield _sse({"type": "response.completed", "response": whole})


def _body(size: int) -> Iterator[bytes]:
    message: dict[str, Any] = {"role": "assistant", "content": "xxx", "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    said = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield from _spaced(json.dumps({**said, "choices": [choice], "usage": usage}).encode(), size)


def _packed(body: Iterator[bytes]) -> Iterator[bytes]:
    packing = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    for part in body:
        yield packing.compress(part)
    yield packing.flush()


def _cut(body: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a body without its end."""
    held = next(body)
    for part in body:
        if b"message_delta" not in part:
            yield held
            held = part


ANSWERS: Final[dict[str, Callable[[int], Iterator[bytes]]]] = {
    "anthropic-deltas": lambda size: _anthropic(_repeated, PIECE, size),
    "anthropic-wide": lambda size: _anthropic(_repeated, PIECE * 40, size),
    "anthropic-block": lambda size: _anthropic(_spaced, "xxx", size),
    "anthropic-cut": lambda size: _cut(_anthropic(_repeated, PIECE, size)),
    "chat-deltas": lambda size: _chat(_repeated, PIECE, size),
    "chat-block": lambda size: _chat(_spaced, "xxx", size),
    "chat-body": _body,
    "chat-zeros": lambda size: _packed(_repeated(b"\0" * _BLOCK, size)),
    "chat-bomb": lambda size: _packed(_body(size)),
    "responses-deltas": lambda size: _responses(_repeated, PIECE, size),
    "responses-block": lambda size: _responses(_spaced, "xxx", size),
}
_WHOLE: Final = ("chat-body", "chat-zeros", "chat-bomb")
_PACKED: Final = ("chat-zeros", "chat-bomb")


class _Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        _, kind, size, *_ = self.path.split("/")
        self.send_response(200)
        whole = kind in _WHOLE
        self.send_header("content-type", "application/json" if whole else "text/event-stream")
        if kind in _PACKED:
            self.send_header("content-encoding", "gzip")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with suppress(OSError):
            for part in ANSWERS[kind](int(size)):
                if part:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def serve() -> None:
    """Serve until the input ends, having said at which port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


def peak() -> int:
    """Return the most memory that this process had, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


def _asking(kind: str) -> tuple[str, dict[str, Any]]:
    messages = [{"role": "user", "content": "Hello"}]
    if kind.startswith("responses"):
        return "responses", {"model": "m", "input": messages}
    if kind.startswith("anthropic"):
        return "messages", {"model": "m", "messages": messages, "max_tokens": 9}
    return "chat.completions", {"model": "m", "messages": messages}


def _client(kind: str, url: str, is_async: bool) -> Any:
    if kind.startswith("anthropic"):
        import anthropic

        made = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return made(api_key="sk-ant-canary-0123456789", base_url=url, max_retries=0, timeout=600)
    import openai

    opened = openai.AsyncOpenAI if is_async else openai.OpenAI
    return opened(api_key="sk-canary-0123456789", base_url=url, max_retries=0, timeout=600)


def _read(client: Any, kind: str, taken: Callable[[Any], None]) -> None:
    name, asked = _asking(kind)
    calls = client
    for member in name.split("."):
        calls = getattr(calls, member)
    if kind in _WHOLE:
        taken(calls.create(**asked))
        return
    for event in calls.create(**asked, stream=True):
        taken(event)


async def _aread(client: Any, kind: str, taken: Callable[[Any], None]) -> None:
    name, asked = _asking(kind)
    calls = client
    for member in name.split("."):
        calls = getattr(calls, member)
    if kind in _WHOLE:
        taken(await calls.create(**asked))
        return
    async for event in await calls.create(**asked, stream=True):
        taken(event)


def read(url: str, kind: str, size: int, *, recorded: bool, is_async: bool, store: str) -> Reading:
    """Read an answer, recorded or not, and return what was seen of it."""
    digest, seen = hashlib.sha256(), 0  # Of what the program sees: recorded or not, the same.

    def taken(event: Any) -> None:
        nonlocal seen
        seen += 1
        if seen % 101 < 11:  # To spell all of them would take longer than to read them.
            digest.update(b"%d %s" % (seen, repr(event).encode()))

    client: Any = _client(kind, f"{url}/{kind}/{size}", is_async)
    chat: Any = None
    if recorded:
        import onrecord

        chat = onrecord.connect(store).conversation("large")
        client = chat.record(client)
    failure, began = None, time.monotonic()
    try:
        if is_async:
            asyncio.run(_aread(client, kind, taken))
        else:
            _read(client, kind, taken)
    except Exception as exc:  # noqa: BLE001 - named: the same with and without us
        failure = type(exc).__name__
    seconds = time.monotonic() - began
    closing = None if chat is None else _closing(chat)
    told = Reading(peak(), seconds, digest.hexdigest(), failure)
    if closing is None:
        return told
    name, raw = type(closing).__name__, closing.raw.size if closing.raw else 0
    return replace(told, closing=name, reason=getattr(closing, "reason", None), raw=raw)


def _closing(chat: Any) -> Any:
    """Return the event that closes the response: a client may leave its stream before the end."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        last = [known.event() for known in chat.events(after=1)][-1]
        if type(last).__name__ in ("ResponseCompleted", "ResponseInterrupted"):
            return last
        time.sleep(0.05)
    raise TimeoutError("the response was not recorded")


def main(command: str, *given: str) -> None:
    """Serve, or read what is given: a URL, a kind, a size, who reads how, and where it records."""
    if command == "serve":
        serve()
        return
    url, kind, size, recorded, way, folder = given
    told = read(
        url,
        kind,
        int(size),
        recorded=recorded == "recorded",
        is_async=way == "async",
        store=f"sqlite:///{Path(folder) / 'large.db'}",
    )
    print(json.dumps(asdict(told)))


if __name__ == "__main__":
    main(*sys.argv[1:])
