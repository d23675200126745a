"""The official SDK as a client of the demo server, for tests."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import cast

import anthropic
import httpx2
from anthropic.types import Message, MessageParam, RawMessageStreamEvent, ToolUnionParam

from onrecord.adapters.demo import support_agent
from onrecord.adapters.demo.services.scenes import Answer, JsonObject, Script
from onrecord.adapters.demo.services.server import DemoServer

MODEL = "claude-sonnet-5"
HELLO: list[JsonObject] = [{"role": "user", "content": "Hello"}]
GREETING = Answer(content=({"type": "text", "text": "Hello! What can I do for you?"},))
TOOLS = cast("list[ToolUnionParam]", list(support_agent.TOOLS))


@contextmanager
def serving(script: Script, retries: int = 0) -> Generator[tuple[anthropic.Anthropic, DemoServer]]:
    """Run a server and a client that talks to it."""
    with (
        DemoServer(script) as server,
        anthropic.Anthropic(api_key="demo", base_url=server.url, max_retries=retries) as client,
    ):
        yield client, server


def bare_stream(server: DemoServer) -> AbstractContextManager[httpx2.Response]:
    """Ask for a stream without the SDK, to see the bytes."""
    return httpx2.stream(
        "POST",
        f"{server.url}/v1/messages",
        headers={"x-api-key": "demo", "anthropic-version": "2023-06-01"},
        json={"model": MODEL, "max_tokens": 9, "stream": True, "messages": HELLO},
    )


def ask(client: anthropic.Anthropic, messages: Sequence[JsonObject] = HELLO) -> JsonObject:
    """Return the message that the SDK makes of a JSON answer, as it would send it back."""
    return unchanged(
        client.messages.create(
            model=MODEL,
            max_tokens=1024,
            messages=cast("list[MessageParam]", messages),
            system=support_agent.SYSTEM,
            tools=TOOLS,
        )
    )


def stream(client: anthropic.Anthropic, messages: Sequence[JsonObject] = HELLO) -> JsonObject:
    """Return the message that the SDK accumulates from a stream, as it would send it back."""
    return list(snapshots(client, messages))[-1]


def snapshots(client: anthropic.Anthropic, messages: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """Yield what the SDK has accumulated after each event of a stream."""
    with client.messages.stream(
        model=MODEL,
        max_tokens=1024,
        messages=cast("list[MessageParam]", messages),
        system=support_agent.SYSTEM,
        tools=TOOLS,
    ) as events:
        for _ in events:
            yield unchanged(events.current_message_snapshot)


def unchanged(message: Message) -> JsonObject:
    return message.model_dump(mode="json", exclude_unset=True, by_alias=True)


def blocks(message: JsonObject) -> list[JsonObject]:
    return cast("list[JsonObject]", message["content"])


def kinds(message: JsonObject) -> list[str]:
    return [str(block["type"]) for block in blocks(message)]


def raw_events(client: anthropic.Anthropic) -> Iterator[RawMessageStreamEvent]:
    return iter(
        client.messages.create(
            model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}], stream=True
        )
    )
