"""OpenAI's SDK takes clients of the older httpx as well: these are recorded like those of httpx2."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

import onrecord
from onrecord.domain.events import ResponseInterrupted
from tests.adapters.openai_clients import ANSWERED, HELLO, KEY, MODEL, types
from tests.adapters.openai_server import OpenAIServer, Says
from tests.adapters.recorded_calls import known

WAYS = ("client", "scope")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: Says("Hello! What can I do for you?")) as running:
        yield running


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[onrecord.Conversation]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        yield store.conversation("talk")


def sync_client(server: OpenAIServer) -> openai.OpenAI:
    older: Any = httpx.Client()
    return openai.OpenAI(api_key=KEY, base_url=server.url, http_client=older, max_retries=0)


def async_client(server: OpenAIServer) -> openai.AsyncOpenAI:
    older: Any = httpx.AsyncClient()
    return openai.AsyncOpenAI(api_key=KEY, base_url=server.url, http_client=older, max_retries=0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("streamed", [True, False])
def test_a_call_is_recorded(
    chat: onrecord.Conversation, server: OpenAIServer, way: str, streamed: bool
) -> None:
    with sync_client(server) as plain, ExitStack() as stack:
        client = chat.record(plain) if way == "client" else plain
        if way == "scope":
            stack.enter_context(chat.recording())
        create: Any = client.chat.completions.create
        answer = create(model=MODEL, messages=HELLO, stream=streamed)
        if streamed:
            assert len(list(answer)) > 2
    assert types(chat) == ANSWERED
    assert len(server.received) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("streamed", [True, False])
def test_an_async_call_is_recorded(
    chat: onrecord.Conversation, server: OpenAIServer, way: str, streamed: bool
) -> None:
    async def ask() -> None:
        async with async_client(server) as plain:
            with ExitStack() as stack:
                client = chat.record(plain) if way == "client" else plain
                if way == "scope":
                    stack.enter_context(chat.recording())
                create: Any = client.chat.completions.create
                answer = await create(model=MODEL, messages=HELLO, stream=streamed)
                if streamed:
                    assert len([chunk async for chunk in answer]) > 2

    asyncio.run(ask())
    assert types(chat) == ANSWERED
    assert len(server.received) == 1


def test_a_client_is_wrapped_once(chat: onrecord.Conversation, server: OpenAIServer) -> None:
    with sync_client(server) as plain:
        once = chat.record(plain)
        assert chat.record(once) is once
        with chat.recording():
            once.chat.completions.create(model=MODEL, messages=HELLO)
    assert types(chat) == ANSWERED


def test_a_stream_that_is_not_read_on_is_abandoned(
    chat: onrecord.Conversation, server: OpenAIServer
) -> None:
    with sync_client(server) as plain:
        client = chat.record(plain)
        with client.chat.completions.create(model=MODEL, messages=HELLO, stream=True) as stream:
            next(iter(stream))
    last = known(chat.events(after=0)[-1])
    assert isinstance(last, ResponseInterrupted)
    assert last.reason == "abandoned"


def test_an_answer_that_a_transport_has_whole_is_recorded(chat: onrecord.Conversation) -> None:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Hi"},
    }
    body = {"id": "c", "object": "chat.completion", "model": MODEL, "choices": [choice]}

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=body)

    canned: Any = httpx.Client(transport=httpx.MockTransport(answer))
    with openai.OpenAI(api_key=KEY, base_url="http://test", http_client=canned) as plain:
        chat.record(plain).chat.completions.create(model=MODEL, messages=HELLO)
    assert types(chat) == ANSWERED
