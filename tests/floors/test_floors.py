"""What is promised of recording, on the lowest and on the newest releases of each SDK alike."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services.scenes import Answer, FunctionCall, JsonObject, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.projections.api import known_api
from tests.floors.programs import ASYNC, SYNC, Program, done

# What google-genai makes of aiohttp's session, where it is installed.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

SAID = "Hello! What can I do for you?"
RECORDED = ["message.recorded", "request.sent", "message.recorded", "response.completed"]
ARGUMENTS: JsonObject = {"parcel": "1"}
TOOL = {
    "name": "track",
    "description": "Tell where a parcel is.",
    "input_schema": {
        "type": "object",
        "properties": {"parcel": {"type": "string"}},
        "required": ["parcel"],
    },
}
WAYS = ("client", "scope")

sync_programs = pytest.mark.parametrize("program", SYNC, ids=str)
async_programs = pytest.mark.parametrize("program", ASYNC, ids=str)
ways = pytest.mark.parametrize("way", WAYS)
streams = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.fixture
def server() -> Generator[DemoServer]:
    def others(*_: object) -> PlainAnswer:
        return PlainAnswer(SAID)

    answer = Answer(content=({"type": "text", "text": SAID},))
    with DemoServer(lambda _: answer, openai=others, others=others) as running:
        yield running


@pytest.fixture
def calling() -> Generator[DemoServer]:
    """A model that calls a tool until it has a result."""
    call: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "track", "input": ARGUMENTS}

    def others(_: object, request: JsonObject) -> PlainAnswer:
        is_done = "in depot North" in repr(request)
        return (
            PlainAnswer(SAID) if is_done else PlainAnswer(calls=(FunctionCall("track", ARGUMENTS),))
        )

    def messages(request: JsonObject) -> Answer:
        if "in depot North" in repr(request):
            return Answer(content=({"type": "text", "text": SAID},))
        return Answer(content=(call,), stop_reason="tool_use")

    with DemoServer(messages, openai=others, others=others) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Generator[Any]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'floors.db'}") as store:
        yield store


def types(chat: onrecord.Conversation) -> list[str]:
    return [event.type for event in chat.events(after=0) if event.type != "conversation.started"]


def answered(chat: onrecord.Conversation, api: str) -> str:
    *_, said = chat.request(api)[known_api(api).messages]
    return repr(said)


@sync_programs
@ways
@streams
def test_a_call_is_recorded(
    store: Any, server: DemoServer, program: Program, way: str, stream: bool
) -> None:
    chat, plain = store.conversation("talk"), program.client(server)
    client = chat.record(plain) if way == "client" else plain
    with ExitStack() as stack:
        if way == "scope":
            stack.enter_context(chat.recording())
        answer = program.ask(client, stream)
        if stream:
            assert list(answer)
    program.close(plain)
    assert types(chat) == RECORDED
    assert SAID in answered(chat, program.api)
    assert [outcome.is_whole for outcome in replays(chat)] == [True]


@async_programs
@ways
@streams
def test_an_async_call_is_recorded(
    store: Any, server: DemoServer, program: Program, way: str, stream: bool
) -> None:
    chat = store.conversation("talk")

    async def ask() -> None:
        plain = program.client(server)
        client = chat.record(plain) if way == "client" else plain
        with ExitStack() as stack:
            if way == "scope":
                stack.enter_context(chat.recording())
            answer = await done(program.ask(client, stream))
            if stream:
                assert [chunk async for chunk in answer]
        await done(program.close(plain))

    asyncio.run(ask())
    assert types(chat) == RECORDED
    assert SAID in answered(chat, program.api)


@sync_programs
def test_a_call_that_cannot_be_recorded_is_refused_by_the_sdks_own_error(
    store: Any, server: DemoServer, program: Program
) -> None:
    plain = program.client(server)
    client = store.record(plain, unbound="refuse")
    with pytest.raises(program.errors, match="it is bound to no conversation"):
        program.ask(client, False)
    program.close(plain)
    assert not server.requests


@sync_programs
def test_a_round_of_tools_is_rendered_as_its_sdk_takes_it(
    store: Any, calling: DemoServer, program: Program
) -> None:
    chat, plain = store.conversation("talk"), program.client(calling)
    client = chat.record(plain)
    chat.tools.declare([TOOL])
    chat.user("Where is parcel 1?")
    program.send(client, **chat.request(program.api))
    [call] = chat.open_calls()
    assert call.arguments == {"parcel": "1"}
    chat.tool_result(call.id, "in depot North")
    program.send(client, **chat.request(program.api))
    program.close(plain)
    assert not chat.open_calls()
    assert SAID in answered(chat, program.api)


def test_the_command_line_begins_with_the_oldest_typer() -> None:
    for command in (("--help",), ("serve", "--help"), ("share", "--help")):
        program = [sys.executable, "-c", "from onrecord.adapters.cli import main; main()"]
        ended = subprocess.run([*program, *command], check=False, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert "Usage:" in ended.stdout
