"""The runtime that a page shows, as its readers use it: many messages at once."""

import asyncio
from typing import Any

import anthropic
import pytest

import onrecord
from onrecord.adapters.demo.services.scenes import Answer
from onrecord.adapters.demo.services.server import DemoServer
from tests.shown_program import Program
from tests.test_docs import ROOT, fences

TEXTS = [f"Message {number}." for number in range(3)]


@pytest.fixture
def shown() -> Program:
    """What the page defines; its own conversations are not held."""
    (text,) = [
        fence.text
        for fence in fences(ROOT / "docs" / "runtime.md")
        if fence.language == "python" and "class Runtime" in fence.text
    ]
    started = "asyncio.run(main())"
    assert text.count(started) == 1
    program: Program = {}
    exec(text.replace(started, ""), program)  # noqa: S102 - it is ours
    return program


def echo(body: dict[str, Any]) -> Answer:
    """An answer that says what it answers: the last message of the request."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    return Answer(({"type": "text", "text": f"You said: {text}"},))


def test_three_messages_said_at_once_in_one_conversation_get_an_answer_each(
    shown: Program,
) -> None:
    async def main(url: str) -> list[str]:
        async with (
            onrecord.connect_async("memory://") as store,
            anthropic.AsyncAnthropic(base_url=url, api_key="none") as model,
        ):
            runtime = shown["Runtime"](store, model)
            said: list[str] = await asyncio.gather(*(runtime.say("4711", each) for each in TEXTS))
            return said

    with DemoServer(echo) as server:
        assert asyncio.run(main(server.url)) == [f"You said: {text}" for text in TEXTS]
        assert len(server.requests) == len(TEXTS)
