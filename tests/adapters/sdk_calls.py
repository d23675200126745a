"""The clients of each SDK that speaks another API than OpenAI's and Anthropic's own, side by side.

What a recorded client promises it promises for each: one table, and tests over all of it.
"""

import asyncio
import json
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, cast

import anthropic
import boto3  # type: ignore[import-untyped]  # it has no stubs
import httpx
import ollama
from anthropic.lib.aws import AnthropicAWS, AsyncAnthropicAWS
from anthropic.lib.bedrock import (
    AnthropicBedrock,
    AnthropicBedrockMantle,
    AsyncAnthropicBedrock,
    AsyncAnthropicBedrockMantle,
)
from anthropic.lib.foundry import AnthropicFoundry, AsyncAnthropicFoundry
from anthropic.lib.google_cloud import AnthropicGoogleCloud, AsyncAnthropicGoogleCloud
from anthropic.lib.vertex import AnthropicVertex, AsyncAnthropicVertex
from botocore.config import Config  # type: ignore[import-untyped]  # it has no stubs
from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]  # it has no stubs
from google import genai
from google.genai.errors import APIError

from onrecord.adapters.demo.services.connection import Reply
from tests import anthropic_wire, bedrock_wire

JsonObject = dict[str, Any]

KEY = "canary-0123456789"
MODEL = "anthropic.model-1"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Asked:
    """How a client is asked; `each` is called for each chunk as the caller gets it."""

    streams: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    each: Callable[[], object] = lambda: None

    def all(self, chunks: Iterable[Any]) -> list[Any]:
        told: list[Any] = []
        for chunk in chunks:
            told.append(chunk)
            self.each()
        return told

    async def all_async(self, chunks: AsyncIterable[Any]) -> list[Any]:
        told: list[Any] = []
        async for chunk in chunks:
            told.append(chunk)
            self.each()
        return told


Asking = Callable[[Any, asyncio.Runner, Asked], list[str]]


def close(client: Any, _: asyncio.Runner) -> None:
    client.close()


@dataclass(frozen=True)
class Sdk:
    """How a kind of client is made, asked and closed, and what its service answers.

    `asks` returns the texts that came, one a chunk.
    """

    name: str
    api: str
    made: Callable[[str], Any]
    asks: Asking
    whole: Reply
    streamed: Reply
    family: type[Exception]
    closes: Callable[[Any, asyncio.Runner], None] = close

    def __str__(self) -> str:
        return self.name


BUSY = Reply(503, JSON, b'{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}')


def body_of(value: JsonObject) -> Reply:
    return Reply(200, JSON, json.dumps(value).encode())


def chunked(kind: str, body: bytes) -> Reply:
    return Reply(200, {"content-type": kind}, body, chunked=True)


# -- google-genai ----------------------------------------------------------------------------


def generated(text: str, **more: Any) -> JsonObject:
    content = {"role": "model", "parts": [{"text": text}]}
    candidate = {"content": content, "index": 0, **more}
    return {"candidates": [candidate], "modelVersion": MODEL, "responseId": "r-1"}


GENERATING = b"".join(
    b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n"
    for chunk in (generated("Hel"), generated("lo!", finishReason="STOP"))
)


def genai_client(url: str, **options: Any) -> genai.Client:
    retries = {"attempts": 2, "initial_delay": 0.01, "max_delay": 0.01, "jitter": 0}
    http: Any = {"base_url": url, "retry_options": retries, **options}
    return genai.Client(api_key=KEY, http_options=http)


def genai_through_httpx(url: str) -> genai.Client:
    older: Any = {"httpx_client": httpx.Client(), "httpx_async_client": httpx.AsyncClient()}
    return genai_client(url, **older)


def generation(asked: Asked) -> Any:
    config = {"http_options": {"headers": dict(asked.headers)}}
    return {"model": MODEL, "contents": "Hello", "config": config}


def ask_genai(client: Any, _: asyncio.Runner, asked: Asked) -> list[str]:
    request = generation(asked)
    if not asked.streams:
        return [client.models.generate_content(**request).text]
    chunks = asked.all(client.models.generate_content_stream(**request))
    return [chunk.text for chunk in chunks]


def ask_genai_async(client: Any, runner: asyncio.Runner, asked: Asked) -> list[str]:
    request = generation(asked)

    async def ask() -> list[str]:
        if not asked.streams:
            return [(await client.aio.models.generate_content(**request)).text]
        chunks = await client.aio.models.generate_content_stream(**request)
        return [chunk.text for chunk in await asked.all_async(chunks)]

    return runner.run(ask(), context=copy_context())


def close_genai(client: Any, runner: asyncio.Runner) -> None:
    client.close()
    runner.run(client.aio.aclose())
    given = client._api_client._http_options  # It leaves clients open that it was given.
    if given.httpx_client is not None:
        given.httpx_client.close()
        runner.run(given.httpx_async_client.aclose())


# -- boto3 -----------------------------------------------------------------------------------

CONVERSED = bedrock_wire.body(bedrock_wire.text("Hello!"))


def boto_client(url: str, mode: str = "standard") -> Any:
    return cast("Any", boto3).client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=KEY,
        aws_secret_access_key="secret",
        config=Config(retries={"mode": mode, "total_max_attempts": 2}),
    )


def ask_boto(client: Any, _: asyncio.Runner, asked: Asked) -> list[str]:
    def add(params: Any, **_: Any) -> None:
        params["headers"].update(asked.headers)

    said = [{"role": "user", "content": [{"text": "Hello"}]}]
    client.meta.events.register("before-call.bedrock-runtime", add)
    try:
        if not asked.streams:
            answer = client.converse(modelId=MODEL, messages=said)
            return [answer["output"]["message"]["content"][0]["text"]]
        told = client.converse_stream(modelId=MODEL, messages=said)["stream"]
        with closing(told):
            deltas = [event.get("contentBlockDelta") for event in asked.all(told)]
        return [delta["delta"]["text"] for delta in deltas if delta]
    finally:
        client.meta.events.unregister("before-call.bedrock-runtime", add)


# -- ollama ----------------------------------------------------------------------------------


def chatted(text: str, *, done: bool) -> JsonObject:
    told: JsonObject = {
        "model": MODEL,
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text},
        "done": done,
    }
    return {**told, "done_reason": "stop"} if done else told


CHATTING = b"".join(
    json.dumps(line).encode() + b"\n"
    for line in (chatted("Hel", done=False), chatted("lo!", done=False), chatted("", done=True))
)
HELLO = [{"role": "user", "content": "Hello"}]


def ollama_client(url: str) -> ollama.Client:
    return ollama.Client(host=url)


def async_ollama_client(url: str) -> ollama.AsyncClient:
    return ollama.AsyncClient(host=url)


def ask_ollama(client: Any, _: asyncio.Runner, asked: Asked) -> list[str]:
    if not asked.streams:
        return [client.chat(model=MODEL, messages=HELLO).message.content]
    chunks = client.chat(model=MODEL, messages=HELLO, stream=True)
    told = [chunk.message.content for chunk in asked.all(chunks)]
    return [text for text in told if text]


def ask_ollama_async(client: Any, runner: asyncio.Runner, asked: Asked) -> list[str]:
    async def ask() -> list[str]:
        if not asked.streams:
            return [(await client.chat(model=MODEL, messages=HELLO)).message.content]
        chunks = await client.chat(model=MODEL, messages=HELLO, stream=True)
        told = [chunk.message.content for chunk in await asked.all_async(chunks)]
        return [text for text in told if text]

    return runner.run(ask(), context=copy_context())


# -- anthropic, for others -------------------------------------------------------------------

MESSAGE = anthropic_wire.message(anthropic_wire.text("Hello!"))
MESSAGES = list(anthropic_wire.stream_events(MESSAGE, piece=3))


def creation(asked: Asked) -> Any:
    return {
        "model": MODEL,
        "max_tokens": 64,
        "messages": HELLO,
        "extra_headers": asked.headers,
    }


def texts(events: list[Any]) -> list[str]:
    return [event.delta.text for event in events if event.type == "content_block_delta"]


def ask_anthropic(client: Any, _: asyncio.Runner, asked: Asked) -> list[str]:
    request = creation(asked)
    if not asked.streams:
        return [client.messages.create(**request).content[0].text]
    events = client.messages.create(stream=True, **request)
    return texts(asked.all(events))


def ask_anthropic_async(client: Any, runner: asyncio.Runner, asked: Asked) -> list[str]:
    request = creation(asked)

    async def ask() -> list[str]:
        if not asked.streams:
            return [(await client.messages.create(**request)).content[0].text]
        events = await client.messages.create(stream=True, **request)
        return texts(await asked.all_async(events))

    return runner.run(ask(), context=copy_context())


def close_async(client: Any, runner: asyncio.Runner) -> None:
    runner.run(client.close())


VERTEX: JsonObject = {"region": "r", "project_id": "p", "access_token": "ya29.token"}
BEDROCK: JsonObject = {
    "aws_access_key": KEY,
    "aws_secret_key": "secret",
    "aws_region": "us-east-1",
}
AWS: JsonObject = {**BEDROCK, "workspace_id": "w"}
FOUNDRY: JsonObject = {"api_key": KEY}
GOOGLE: JsonObject = {
    "project": "p",
    "location": "global",
    "workspace_id": "w",
    "token_provider": lambda: "ya29.token",
}

SSE = "text/event-stream"
FRAMES = "application/vnd.amazon.eventstream"
GENERATES = (body_of(generated("Hello!", finishReason="STOP")), chunked(SSE, GENERATING), APIError)
CONVERSES = (
    body_of(CONVERSED),
    chunked(FRAMES, bedrock_wire.spelled(CONVERSED, piece=3)),
    BotoCoreError,
)
CHATS = (body_of(chatted("Hello!", done=True)), chunked("application/x-ndjson", CHATTING))
SAYS = (
    body_of(MESSAGE),
    chunked(SSE, anthropic_wire.spelled(MESSAGE, piece=3)),
    anthropic.AnthropicError,
)
FRAMED = chunked(FRAMES, b"".join(map(bedrock_wire.chunked, MESSAGES)))


def genai_sdk(name: str, made: Callable[[str], Any], asks: Asking) -> Sdk:
    return Sdk(name, "gemini", made, asks, *GENERATES, closes=close_genai)


def cloud(name: str, made: Any, asks: Asking, streamed: Reply, **options: Any) -> Sdk:
    """A client of anthropic's for another cloud's service."""

    def make(url: str) -> Any:
        return made(base_url=url, max_retries=1, **options)

    closes = close_async if asks is ask_anthropic_async else close
    whole, _, family = SAYS
    return Sdk(name, "anthropic-messages", make, asks, whole, streamed, family, closes)


GENAI = (
    genai_sdk("genai", genai_client, ask_genai),
    genai_sdk("genai-httpx", genai_through_httpx, ask_genai),
    genai_sdk("genai-aiohttp", genai_client, ask_genai_async),
    genai_sdk("genai-async-httpx", genai_through_httpx, ask_genai_async),
)
BOTO = Sdk("boto3", "bedrock-converse", boto_client, ask_boto, *CONVERSES)
OLLAMA = (
    Sdk("ollama", "ollama", ollama_client, ask_ollama, *CHATS, ollama.ResponseError, close),
    Sdk(
        *("ollama-async", "ollama", async_ollama_client, ask_ollama_async, *CHATS),
        *(ollama.ResponseError, close_async),
    ),
)
CLOUDS = (
    cloud("vertex", AnthropicVertex, ask_anthropic, SAYS[1], **VERTEX),
    cloud("vertex-async", AsyncAnthropicVertex, ask_anthropic_async, SAYS[1], **VERTEX),
    cloud("bedrock", AnthropicBedrock, ask_anthropic, FRAMED, **BEDROCK),
    cloud("bedrock-async", AsyncAnthropicBedrock, ask_anthropic_async, FRAMED, **BEDROCK),
    cloud("bedrock-mantle", AnthropicBedrockMantle, ask_anthropic, SAYS[1], **BEDROCK),
    cloud(
        *("bedrock-mantle-async", AsyncAnthropicBedrockMantle, ask_anthropic_async, SAYS[1]),
        **BEDROCK,
    ),
    cloud("aws", AnthropicAWS, ask_anthropic, SAYS[1], **AWS),
    cloud("aws-async", AsyncAnthropicAWS, ask_anthropic_async, SAYS[1], **AWS),
    cloud("foundry", AnthropicFoundry, ask_anthropic, SAYS[1], **FOUNDRY),
    cloud("foundry-async", AsyncAnthropicFoundry, ask_anthropic_async, SAYS[1], **FOUNDRY),
    cloud("google-cloud", AnthropicGoogleCloud, ask_anthropic, SAYS[1], **GOOGLE),
    cloud("google-cloud-async", AsyncAnthropicGoogleCloud, ask_anthropic_async, SAYS[1], **GOOGLE),
)
SDKS = (*GENAI, BOTO, *OLLAMA, *CLOUDS)
