"""Clients that nobody recorded, a server for them, and conversations to record them in."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import openai
import pytest

import onrecord
from tests.adapters.openai_clients import KEY
from tests.adapters.openai_server import OpenAIServer, Says

GREETING = Says("Hello! What can I do for you?")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: GREETING) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as opened:
        yield opened


@pytest.fixture
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation("talk")


@pytest.fixture
def other(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation("other")


@pytest.fixture
def client(server: OpenAIServer) -> Iterator[openai.OpenAI]:
    """A client that nobody recorded."""
    with openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0) as made:
        yield made


@pytest.fixture
async def later(server: OpenAIServer) -> AsyncGenerator[openai.AsyncOpenAI]:
    """An async client that nobody recorded."""
    async with openai.AsyncOpenAI(api_key=KEY, base_url=server.url, max_retries=0) as made:
        yield made
