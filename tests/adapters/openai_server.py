"""A small server on this machine that speaks OpenAI's two APIs, as a script tells it.

Shapes: platform.openai.com, "Chat" and "Responses", and recorded answers of both. It listens on
127.0.0.1 only and keeps every request as it came.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

from onrecord.adapters.demo.services.connection import Listener, Received, Reply
from tests.patience import join

JsonObject = dict[str, Any]
SSE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True)
class Call:
    """A call of a function, with its arguments as JSON."""

    name: str
    arguments: str = "{}"


@dataclass(frozen=True)
class Says:
    """What the model answers, on either API."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Fails:
    """An HTTP error."""

    status: int


@dataclass(frozen=True)
class Redirects:
    """A redirection to another place."""

    location: str


Scene = Says | Fails | Redirects
Script = Sequence[Scene] | Callable[[JsonObject], Scene]


class OpenAIServer:
    """`with OpenAIServer(script) as server:` answers at `server.url` until the block ends."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._played = 0
        self._ids = count(1)
        self._lock = Lock()
        self._closing = Event()
        self._listener = Listener(self._reply, self._closing)
        self._thread = Thread(target=self._listener.serve_forever, args=(0.02,))
        self.received: list[Received] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._listener.shutdown()
        join(self._thread)
        self._listener.server_close()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_port}"

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        return f"{self.origin}/v1"

    @property
    def bodies(self) -> list[JsonObject]:
        """The bodies of all requests so far, in order of arrival."""
        with self._lock:
            return [json.loads(received.body) for received in self.received if received.body]

    def _reply(self, received: Received) -> Reply:
        with self._lock:
            self.received.append(received)
            number = next(self._ids)
        request: JsonObject = json.loads(received.body) if received.body else {}
        known = received.path.endswith(("/chat/completions", "/responses"))
        if received.method != "POST" or not known:
            return _json(404, {"error": {"type": "invalid_request_error", "message": "Not found"}})
        scene = self._next(request)
        match scene:
            case Fails(status):
                error = {"type": "server_error", "message": "It failed", "code": None}
                return _json(status, {"error": error})
            case Redirects(location):
                return Reply(307, {"location": location}, b"")
            case Says() if received.path.endswith("/responses"):
                return _responses(scene, request, number)
            case Says():
                return _chat(scene, request, number)

    def _next(self, request: JsonObject) -> Scene:
        with self._lock:
            if callable(self._script):
                return self._script(request)
            self._played += 1
            return self._script[self._played - 1]


def _json(status: int, body: JsonObject) -> Reply:
    return Reply(status, {"content-type": "application/json"}, json.dumps(body).encode())


def _stream(events: Iterator[bytes]) -> Reply:
    return Reply(200, {"content-type": SSE}, b"".join(events), chunked=True)


# -- chat ------------------------------------------------------------------------------------


def _chat(says: Says, request: JsonObject, number: int) -> Reply:
    calls = [
        {
            "id": f"call_{number}_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for place, call in enumerate(says.calls)
    ]
    head = {
        "id": f"chatcmpl-{number}",
        "created": 1_790_000_000,
        "model": request["model"],
        "service_tier": "default",
        "system_fingerprint": None,
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    reason = "tool_calls" if calls else "stop"
    if request.get("stream"):
        return _stream(_chat_chunks(head, says.text, calls, reason, usage))
    message: JsonObject = {"role": "assistant", "content": says.text or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return _json(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})


def _chat_chunks(
    head: JsonObject, text: str, calls: list[JsonObject], reason: str, usage: JsonObject
) -> Iterator[bytes]:
    def chunk(delta: JsonObject, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return data({"choices": [choice], "usage": None})

    def data(members: JsonObject) -> bytes:
        whole = {**head, "object": "chat.completion.chunk", **members}
        return b"data: " + json.dumps(whole).encode() + b"\n\n"

    yield chunk({"role": "assistant", "content": "" if text else None, "refusal": None})
    for piece in (text[:5], text[5:]):
        if piece:
            yield chunk({"content": piece})
    for index, call in enumerate(calls):
        arguments = call["function"]["arguments"]
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
    yield chunk({}, reason)
    yield data({"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


# -- responses -------------------------------------------------------------------------------


def _responses(says: Says, request: JsonObject, number: int) -> Reply:
    output: list[JsonObject] = []
    if says.text:
        part: JsonObject = {
            "type": "output_text",
            "text": says.text,
            "annotations": [],
            "logprobs": [],
        }
        output.append(
            {
                "id": f"msg_{number}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        )
    output += [
        {
            "id": f"fc_{number}_{place}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{number}_{place}",
            "name": call.name,
            "arguments": call.arguments,
        }
        for place, call in enumerate(says.calls)
    ]
    response = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": request.get("instructions"),
        "metadata": {},
        "model": request["model"],
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": request.get("tools", []),
        "top_p": 1.0,
        "usage": {
            "input_tokens": 11,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 18,
        },
    }
    if request.get("stream"):
        return _stream(_numbered(_responses_events(response)))
    return _json(200, response)


def _numbered(events: Iterator[JsonObject]) -> Iterator[bytes]:
    for number, event in enumerate(events):
        data = json.dumps({**event, "sequence_number": number})
        yield f"event: {event['type']}\ndata: {data}\n\n".encode()


def _responses_events(response: JsonObject) -> Iterator[JsonObject]:
    begun: JsonObject = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        yield from _item_events(item, {"output_index": index, "item_id": item["id"]})
    yield {"type": "response.completed", "response": response}


def _item_events(item: JsonObject, place: JsonObject) -> Iterator[JsonObject]:
    index = {"output_index": place["output_index"]}
    empty: JsonObject = {"content": []} if item["type"] == "message" else {"arguments": ""}
    begun: JsonObject = {**item, "status": "in_progress", **empty}
    yield {"type": "response.output_item.added", "item": begun, **index}
    if item["type"] == "message":
        (part,) = item["content"]
        at = {**place, "content_index": 0}
        added = {**part, "text": ""}
        text = part["text"]
        yield {"type": "response.content_part.added", "part": added, **at}
        for piece in (text[:5], text[5:]):
            yield {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **at}
        yield {"type": "response.output_text.done", "text": text, "logprobs": [], **at}
        yield {"type": "response.content_part.done", "part": part, **at}
    else:
        arguments, name = item["arguments"], item["name"]
        yield {"type": "response.function_call_arguments.delta", "delta": arguments, **place}
        yield {
            "type": "response.function_call_arguments.done",
            "arguments": arguments,
            "name": name,
            **place,
        }
    yield {"type": "response.output_item.done", "item": item, **index}
