"""One program an SDK, in what its oldest and its newest releases have in common.

`make floors` runs these against the lowest versions that pyproject.toml allows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

import anthropic
import boto3  # type: ignore[import-untyped]  # it has no stubs
import ollama
import openai
from botocore.exceptions import (  # type: ignore[import-untyped]  # it has no stubs
    BotoCoreError,
)
from google import genai
from google.genai.errors import APIError

from onrecord.adapters.demo.services.server import DemoServer

KEY = "canary-0123456789"
HELLO: list[dict[str, str]] = [{"role": "user", "content": "Hello"}]


@dataclass(frozen=True)
class Program:
    """How an SDK's client is made, asked once, and closed; what its errors descend from.

    `send` sends the arguments that `chat.request` gave.
    """

    name: str
    api: str
    client: Callable[[DemoServer], Any]
    ask: Callable[[Any, bool], Any]
    send: Callable[..., Any]
    errors: type[Exception]
    close: Callable[[Any], Any] = lambda client: client.close()

    def __str__(self) -> str:
        return self.name


async def done(value: Any) -> Any:
    """Wait for what a coroutine gives; anything else is there."""
    return await value if isawaitable(value) else value


def _anthropic(server: DemoServer) -> Any:
    return anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)


def _anthropic_async(server: DemoServer) -> Any:
    return anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url, max_retries=0)


def _messages(client: Any, stream: bool) -> Any:
    create = client.messages.create
    return create(model="claude-1", max_tokens=9, messages=HELLO, stream=stream)


def _send_messages(client: Any, **request: Any) -> Any:
    return client.messages.create(model="claude-1", max_tokens=9, **request)


def _openai(server: DemoServer) -> Any:
    return openai.OpenAI(api_key=KEY, base_url=server.openai_url, max_retries=0)


def _openai_async(server: DemoServer) -> Any:
    return openai.AsyncOpenAI(api_key=KEY, base_url=server.openai_url, max_retries=0)


def _chat(client: Any, stream: bool) -> Any:
    return client.chat.completions.create(model="gpt-1", messages=HELLO, stream=stream)


def _responses(client: Any, stream: bool) -> Any:
    return client.responses.create(model="gpt-1", input="Hello", stream=stream)


def _send_chat(client: Any, **request: Any) -> Any:
    return client.chat.completions.create(model="gpt-1", **request)


def _send_responses(client: Any, **request: Any) -> Any:
    return client.responses.create(model="gpt-1", **request)


def _genai(server: DemoServer) -> Any:
    return genai.Client(api_key=KEY, vertexai=False, http_options={"base_url": server.url})


def _generate(client: Any, stream: bool) -> Any:
    models = client.models
    ask = models.generate_content_stream if stream else models.generate_content
    return ask(model="gemini-1", contents="Hello")


def _send_contents(client: Any, **request: Any) -> Any:
    return client.models.generate_content(model="gemini-1", **request)


def _ollama(server: DemoServer) -> Any:
    return ollama.Client(host=server.url)


def _ollama_async(server: DemoServer) -> Any:
    return ollama.AsyncClient(host=server.url)


def _local(client: Any, stream: bool) -> Any:
    return client.chat(model="m", messages=HELLO, stream=stream)


def _send_locally(client: Any, **request: Any) -> Any:
    return client.chat(model="m", **request)


def _bedrock(server: DemoServer) -> Any:
    made: Any = boto3
    return made.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=server.url,
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
    )


def _converse(client: Any, stream: bool) -> Any:
    asked = {
        "modelId": "amazon.nova-pro-v1:0",
        "messages": [{"role": "user", "content": [{"text": "Hello"}]}],
    }
    return client.converse_stream(**asked)["stream"] if stream else client.converse(**asked)


def _send_converse(client: Any, **request: Any) -> Any:
    return client.converse(modelId="amazon.nova-pro-v1:0", **request)


def _close_ollama(client: Any) -> Any:
    """Close it by what it sends with: older releases have no way of their own."""
    inner = client._client
    return inner.aclose() if hasattr(inner, "aclose") else inner.close()


def _close_genai(client: Any) -> None:
    close = getattr(client, "close", client._api_client._httpx_client.close)
    close()


async def _close_genai_async(client: Any) -> None:
    api = client._api_client
    if hasattr(client.aio, "aclose"):
        await client.aio.aclose()
    else:
        await api._async_httpx_client.aclose()
    _close_genai(client)


def _aio(program: Callable[[Any, bool], Any]) -> Callable[[Any, bool], Awaitable[Any]]:
    return lambda client, stream: program(client.aio, stream)


SYNC = (
    Program(
        "anthropic",
        "anthropic-messages",
        _anthropic,
        _messages,
        _send_messages,
        anthropic.AnthropicError,
    ),
    Program("openai chat", "openai-chat", _openai, _chat, _send_chat, openai.OpenAIError),
    Program(
        "openai responses",
        "openai-responses",
        _openai,
        _responses,
        _send_responses,
        openai.OpenAIError,
    ),
    Program("google-genai", "gemini", _genai, _generate, _send_contents, APIError, _close_genai),
    Program("ollama", "ollama", _ollama, _local, _send_locally, Exception, _close_ollama),
    Program("boto3", "bedrock-converse", _bedrock, _converse, _send_converse, BotoCoreError),
)
ASYNC = (
    Program(
        "anthropic",
        "anthropic-messages",
        _anthropic_async,
        _messages,
        _send_messages,
        anthropic.AnthropicError,
    ),
    Program("openai chat", "openai-chat", _openai_async, _chat, _send_chat, openai.OpenAIError),
    Program(
        "openai responses",
        "openai-responses",
        _openai_async,
        _responses,
        _send_responses,
        openai.OpenAIError,
    ),
    Program(
        "google-genai",
        "gemini",
        _genai,
        _aio(_generate),
        _send_contents,
        APIError,
        _close_genai_async,
    ),
    Program("ollama", "ollama", _ollama_async, _local, _send_locally, Exception, _close_ollama),
)
