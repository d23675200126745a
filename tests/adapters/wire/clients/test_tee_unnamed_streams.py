"""Bodies that are not what their content type says, or that have none: clients read them anyway."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import openai
import pytest

import onrecord
from onrecord.adapters.wire.stream_reader import begins_a_stream
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from tests.adapters.openai_clients import ANSWERED, HELLO, KEY, MODEL, types
from tests.adapters.wire.attempts import attempted

TYPES = ("", "text/plain", "application/json", "Text/Event-Stream; charset=UTF-8")


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return b"data: " + json.dumps({**chunk, "choices": [choice]}).encode() + b"\n\n"


EVENTS = (
    b": waiting\n\n",
    event({"role": "assistant", "content": "Hello"}),
    event({}, "stop"),
    b"data: [DONE]\n\n",
)
MESSAGE = {"role": "assistant", "content": "Hello"}
CHOICE: dict[str, Any] = {"index": 0, "message": MESSAGE, "finish_reason": "stop"}
BODY = json.dumps({"id": "c1", "model": MODEL, "choices": [CHOICE]}).encode()


class Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that comes in the chunks of EVENTS."""

    def __iter__(self) -> Iterator[bytes]:
        yield from EVENTS

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in EVENTS:
            yield chunk


def answer(content_type: str) -> httpx2.MockTransport:
    headers = {"content-type": content_type} if content_type else {}
    return httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, stream=Body()))


@pytest.mark.parametrize("content_type", TYPES)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_stream_is_read_as_one_whatever_it_is_said_to_be(content_type: str, size: int) -> None:
    body = b"".join(EVENTS)
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    closed = attempted("openai-chat", chunks, {"content-type": content_type})
    assert isinstance(closed.events[-1], ResponseCompleted)
    assert closed.raw is None


@pytest.mark.parametrize("content_type", TYPES)
def test_a_stream_passes_on_whatever_it_is_said_to_be(content_type: str) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    with openai.OpenAI(
        api_key=KEY, http_client=httpx2.Client(transport=answer(content_type))
    ) as client:
        calling = chat.record(client).chat.completions.with_streaming_response
        with calling.create(model=MODEL, messages=HELLO, stream=True) as response:
            assert list(response.iter_bytes()) == list(EVENTS)
    assert types(chat) == ANSWERED


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("content_type", TYPES)
async def test_a_stream_passes_on_to_async_clients(content_type: str) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    async with openai.AsyncOpenAI(
        api_key=KEY, http_client=httpx2.AsyncClient(transport=answer(content_type))
    ) as client:
        calling = chat.record(client).chat.completions.with_streaming_response
        async with calling.create(model=MODEL, messages=HELLO, stream=True) as response:
            assert [chunk async for chunk in response.iter_bytes()] == list(EVENTS)
    assert types(chat) == ANSWERED


def test_a_byte_order_mark_before_a_body_is_no_part_of_it() -> None:
    closed = attempted("openai-chat", [b"\xef\xbb\xbf" + BODY], {"content-type": "text/json"})
    assert isinstance(closed.events[-1], ResponseCompleted)


@pytest.mark.parametrize("page", [b"<html>", b"dat", b"", b"data is missing"])
def test_a_page_is_no_stream(page: bytes) -> None:
    closed = attempted("openai-chat", [page], {"content-type": "text/html"})
    closing = closed.events[-1]
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "malformed"


@pytest.mark.parametrize(
    ("head", "begins"),
    [
        (b"", None),
        (b"\xef\xbb\xbf\n", None),
        (b"ev", None),
        (b"event: ping", True),
        (b"\r\n: a comment", True),
        (b'{"id"', False),
        (b"[", False),
    ],
)
def test_a_stream_is_told_by_how_it_begins(head: bytes, begins: bool | None) -> None:
    assert begins_a_stream(head) is begins
