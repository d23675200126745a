"""A process that is killed at any call of a turn leaves a session that its framework loads and goes on with."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
from ag2.events import ModelRequest, TextInput
from agent_framework import Message
from agents import Agent, Runner, function_tool
from agents.testing import ScriptedModel
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.frameworks.ag2 import OnrecordStorage
from onrecord.frameworks.agent_framework import OnrecordHistoryProvider
from onrecord.frameworks.claude import ClaudeSessionStore, SessionKey
from onrecord.frameworks.openai_agents import OnrecordSession
from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.frameworks import turns
from tests.patience import join_process

CALLS = ("append", "read", "head", "new_since", "open", "find", "put_blob")
"""The calls of a log before which a process may be killed."""


class Framework(NamedTuple):
    """What a turn of a framework is, with a text, and how its session tells all texts."""

    turn: Callable[[Store, str], Awaitable[None]]
    texts: Callable[[Store], Awaitable[list[str]]]


# A turn of each, of two calls of its store at least.


async def claude_turn(store: Store, text: str) -> None:
    sessions, key = ClaudeSessionStore(store), SessionKey(project_key="p", session_id="one")
    await sessions.append(key, [{"type": "user", "uuid": f"u {text}", "text": text}])
    await sessions.append(key, [{"type": "assistant", "uuid": f"a {text}", "text": "yes"}])


async def claude_texts(store: Store) -> list[str]:
    sessions = ClaudeSessionStore(store)
    entries = await sessions.load({"project_key": "p", "session_id": "one"})
    return [entry["text"] for entry in entries or []]


@function_tool
def track(parcel: str) -> str:
    return f"{parcel} is in depot North"


async def openai_turn(store: Store, text: str) -> None:
    call = ResponseFunctionToolCall(
        arguments='{"parcel":"NW-1"}', call_id="call_1", name="track", type="function_call"
    )
    said = ResponseOutputMessage(
        id="msg_1",
        content=[ResponseOutputText(text="yes", type="output_text", annotations=[])],
        role="assistant",
        status="completed",
        type="message",
    )
    agent = Agent(name="desk", model=ScriptedModel(steps=[[call], [said]]), tools=[track])
    await Runner.run(agent, text, session=OnrecordSession("one", store))


async def openai_texts(store: Store) -> list[str]:
    items = cast("list[Any]", await OnrecordSession("one", store).get_items())
    return [str(item.get("content") or item["type"]) for item in items]


async def pydantic_ai_turn(store: Store, text: str) -> None:
    await turns.turn(OnrecordConversationStore(store), text)


async def pydantic_ai_texts(store: Store) -> list[str]:
    return await turns.texts(OnrecordConversationStore(store)) or []


async def agent_framework_turn(store: Store, text: str) -> None:
    provider = OnrecordHistoryProvider(store)
    for role, said in (("user", text), ("assistant", "yes")):
        await provider.save_messages("one", [Message(role, [said])])


async def agent_framework_texts(store: Store) -> list[str]:
    return [message.text for message in await OnrecordHistoryProvider(store).get_messages("one")]


async def ag2_turn(store: Store, text: str) -> None:
    stream: Any = SimpleNamespace(stream=SimpleNamespace(id="one"))
    for said in (text, "yes"):
        await OnrecordStorage(store).save_event(ModelRequest([TextInput(said)]), stream)


async def ag2_texts(store: Store) -> list[str]:
    history = await OnrecordStorage(store).get_history(cast("Any", "one"))
    return [part.content for event in history for part in cast("Any", event).parts]


FRAMEWORKS = {
    "claude": Framework(claude_turn, claude_texts),
    "openai-agents": Framework(openai_turn, openai_texts),
    "pydantic-ai": Framework(pydantic_ai_turn, pydantic_ai_texts),
    "agent-framework": Framework(agent_framework_turn, agent_framework_texts),
    "ag2": Framework(ag2_turn, ag2_texts),
}


def connect(folder: Path) -> Store:
    return onrecord.connect(f"sqlite:///{folder / 'log.db'}", actor="eve")


def _turn_until(framework: Framework, folder: Path, call: int) -> None:
    """Take a turn, and be killed before a call of the log."""
    with connect(folder) as store:
        backend, calls = backend_of(store), itertools.count(1)
        for name in CALLS:
            setattr(backend, name, _counted(getattr(backend, name), calls, call))
        asyncio.run(cast("Any", framework.turn(store, "two")))


def _counted(method: Callable[..., Any], calls: itertools.count[int], last: int) -> Any:
    def counted(*arguments: Any, **named: Any) -> Any:
        if next(calls) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments, **named)

    return counted


async def _goes_on(framework: Framework, store: Store) -> list[str]:
    before = await framework.texts(store)
    await framework.turn(store, "three")
    after = await framework.texts(store)
    assert after[: len(before)] == before
    assert "three" in after[len(before) :]
    return before


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_turn_that_is_killed_at_any_call_leaves_a_session_that_goes_on(
    name: str, tmp_path: Path
) -> None:
    framework, seen = FRAMEWORKS[name], list[list[str]]()
    for call in itertools.count(1):
        folder = tmp_path / str(call)
        folder.mkdir()
        with connect(folder) as store:
            asyncio.run(cast("Any", framework.turn(store, "one")))
            whole = asyncio.run(cast("Any", framework.texts(store)))
        writer = multiprocessing.get_context("fork").Process(
            target=_turn_until, args=(framework, folder, call)
        )
        writer.start()
        join_process(writer)
        with connect(folder) as store:
            held = asyncio.run(_goes_on(framework, store))
            assert held[: len(whole)] == whole
            assert store.verify().is_whole
        seen.append(held)
        if writer.exitcode == 0:
            break
        assert writer.exitcode == -signal.SIGKILL
    assert len(seen) > 2
    # Of what is written in order, no more is there at an earlier call than at a later one.
    assert [len(held) for held in seen] == sorted(len(held) for held in seen)
    assert len(seen[0]) < len(seen[-1])
