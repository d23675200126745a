"""An agent that subscribed to a conversation is told when it has grown, as long as its session lasts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import mcp
import pytest
from mcp.client.subscriptions import ResourceUpdated
from mcp.types import ResourceUpdatedNotification

import onrecord
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.mcp_server import watched
from onrecord.adapters.mcp_server.scope import Scope
from onrecord.adapters.mcp_server.server import Reader, record_of_command, runs_of
from onrecord.adapters.mcp_server.watched import Watched, moves_of
from tests.adapters.mcp_server.agents import asked, subscribe, unsubscribe
from tests.patience import PATIENCE

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
]

OWN, ORIGIN, OTHER = "support/4711", "support/origin", "support/other"
OWN_URI = "onrecord://conversations/support%2F4711"
ORIGIN_URI = "onrecord://conversations/support%2Forigin"
OTHER_URI = "onrecord://conversations/support%2Fother"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'talks.db'}"


@pytest.fixture
def store(url: str) -> Iterator[onrecord.Store]:
    with onrecord.connect(url) as store:
        store.conversation(ORIGIN).user("The origin")
        store.get(ORIGIN).fork(OWN).user("Hello")
        store.conversation(OTHER).user("Another")
        yield store


@asynccontextmanager
async def session(
    store: onrecord.Store, mode: Literal["legacy", "auto"] = "legacy"
) -> AsyncGenerator[tuple[mcp.Client, asyncio.Queue[str]]]:
    """A client of a session, and the URIs that it was notified of."""
    updated: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            updated.put_nowait(message.params.uri)

    scope = Scope(store, OWN)
    reader = Reader(scope, partial(record_of_command, store, "agent"), runs_of(scope))
    server = reader.session_server()
    async with mcp.Client(server, mode=mode, message_handler=hear) as client:
        yield client, updated


async def heard(updated: asyncio.Queue[str]) -> str:
    return await asyncio.wait_for(updated.get(), PATIENCE)


async def test_each_growth_is_told_until_the_agent_unsubscribes(
    store: onrecord.Store, url: str
) -> None:
    async with session(store) as (client, updated):
        await subscribe(client, OWN_URI)
        await subscribe(client, ORIGIN_URI)
        store.get(OWN).user("More")
        assert await heard(updated) == OWN_URI
        turns = await asked(client, "read_turns")
        assert turns["blocks"][-1]["said"]["text"] == "More"
        with onrecord.connect(url) as another:  # It wakes up nobody here.
            another.get(OWN).user("Still more")
        assert await heard(updated) == OWN_URI
        await unsubscribe(client, OWN_URI)
        store.get(OTHER).user("Of no concern")
        store.get(OWN).user("Nobody is told")
        store.get(ORIGIN).user("Somebody is told")
        assert await heard(updated) == ORIGIN_URI
        assert updated.empty()


async def test_what_is_redacted_or_forgotten_is_told_too(store: onrecord.Store) -> None:
    async with session(store) as (client, updated):
        await subscribe(client, ORIGIN_URI)
        store.get(ORIGIN).redact(store.get(ORIGIN).head().version)
        assert await heard(updated) == ORIGIN_URI
        store.forget(ORIGIN, reason="asked for", actor="ana")
        assert await heard(updated) == ORIGIN_URI
        with pytest.raises(mcp.MCPError, match="shows no conversation"):
            await client.read_resource(ORIGIN_URI)


async def test_only_conversations_that_are_shown_are_watched(
    store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "MOST", 1)
    refusals: list[str] = []
    async with session(store) as (client, _):
        for uri in (OTHER_URI, OTHER_URI + "x", OWN_URI + "/events/1", "a:b"):
            with pytest.raises(mcp.MCPError) as refusal:
                await subscribe(client, uri)
            refusals.append(str(refusal.value))
        await subscribe(client, OWN_URI)
        with pytest.raises(mcp.MCPError, match="at most 1 "):
            await subscribe(client, ORIGIN_URI)
    assert refusals[0] == refusals[1]
    assert "only a conversation grows" in refusals[2]


async def test_a_subscription_ends_with_its_session(store: onrecord.Store) -> None:
    before = asyncio.all_tasks()
    async with session(store) as (client, _):
        await subscribe(client, OWN_URI)
    assert asyncio.all_tasks() <= before


async def test_a_log_that_does_not_grow_is_not_read_again(
    store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "_PACE", 0.01)
    monkeypatch.setattr(watched, "_REST", 0.01)
    scope = Scope(store, OWN)
    watching = Watched(scope, moves_of(scope))
    await watching.add(OWN_URI)
    reads: list[str | None] = []
    conversation = Scope.conversation

    def counted(scope: Scope, key: str | None) -> Conversation:
        reads.append(key)
        return conversation(scope, key)

    monkeypatch.setattr(Scope, "conversation", counted)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(watching.grown(), 0.5)
    assert len(reads) == 1


async def test_an_agent_of_the_newest_revision_listens(store: onrecord.Store) -> None:
    async with (
        session(store, "auto") as (client, _),
        client.listen(resource_subscriptions=[OWN_URI, OTHER_URI]) as listening,
    ):
        assert listening.honored.resource_subscriptions == [OWN_URI]
        store.get(OTHER).user("Of no concern")
        store.get(OWN).user("More")
        event = await asyncio.wait_for(anext(aiter(listening)), PATIENCE)
        assert event == ResourceUpdated(OWN_URI)
