"""What an agent is shown, on each kind of store, encrypted or not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import mcp
import pytest

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.mcp_server.scope import Scope
from onrecord.adapters.mcp_server.watched import Watched, moves_of
from onrecord.projections.views.registry import VIEWS
from tests.adapters.mcp_server.agents import agent, asked, content, refused
from tests.adapters.service.served import Served, served
from tests.adapters.views.workers import caught_up
from tests.databases import url_of
from tests.patience import PATIENCE

pytestmark = pytest.mark.anyio

OWN, ORIGIN = "support/4711", "support/origin"
URI = "onrecord://conversations/support%2F4711"
PAPER = b"%PDF-1.7 swordfish"
DIGEST = sha256(PAPER).hexdigest()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Place:
    """A service on one kind of store, and the store as another part of the process has it."""

    service: Served
    store: onrecord.Store
    is_encrypted: bool


@pytest.fixture(params=["memory", "sqlite", "postgres", "encrypted"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    is_encrypted = request.param == "encrypted"
    if is_encrypted:
        new_key_file(tmp_path / "kek")
        monkeypatch.setenv("ONRECORD_KEYS", str(tmp_path / "keys.db"))
        monkeypatch.setenv("ONRECORD_KEK", str(tmp_path / "kek"))
    for url in url_of("sqlite" if is_encrypted else request.param, tmp_path):
        with served(url) as service:
            tenants = service.service.tenants
            opening = asyncio.run_coroutine_threadsafe(tenants.store_of(UUID(int=0)), service.loop)
            store = opening.result(PATIENCE)
            store.conversation(ORIGIN).user("The swordfish asks", documents=[PAPER])
            talk = store.get(ORIGIN).fork(OWN)
            talk.assistant("", calls=[onrecord.AssistantCall("track", {"fish": "marlin"})])
            (call,) = talk.open_calls()
            talk.tool_result(call.id, "a marlin")
            if request.param == "postgres":  # Others fold their views as they are read.
                caught_up(url, VIEWS)
            yield Place(service, store, is_encrypted)


async def searched(place: Place, client: mcp.Client, word: str) -> list[dict[str, Any]]:
    """What is found: nothing where the store is encrypted, and says so."""
    if place.is_encrypted:
        assert "encrypted" in await refused(client, "search_history", text=word)
        return []
    found: list[dict[str, Any]] = (await asked(client, "search_history", text=word))["hits"]
    return found


async def test_all_that_was_said_is_read(place: Place) -> None:
    async with agent(place.service, conversation=OWN) as client:
        turns = await asked(client, "read_turns")
        calls = await asked(client, "tool_calls")
        made = await asked(
            *(client, "request_at"), version=turns["at"], api="anthropic-messages", body=True
        )
        whole = await content(client, f"{URI}/events/{turns['at']}")
        document = await client.read_resource(f"onrecord://documents/{DIGEST}")
        proof = await asked(client, "verify")
        found = await searched(place, client, "swordfish")
    assert [block["speaker"] for block in turns["blocks"]][-1] == "tool"
    assert "a marlin" in json.dumps(turns)
    assert "a marlin" in json.dumps(whole)
    assert "The swordfish asks" in json.dumps(made["body"])
    assert document.contents[0].mime_type == "application/pdf"
    assert proof["is_whole"]
    (call,) = calls["calls"]
    assert call["status"] == "done"
    if place.is_encrypted:  # The views of such a store have no text.
        assert (call["arguments"], call["result"]) == (None, None)
        assert set(calls["encrypted"]) >= {"arguments", "result"}
    else:
        assert call["result"]["text"] == "a marlin"
        assert [hit["key"] for hit in found] == [ORIGIN]


async def test_what_was_redacted_is_not_shown(place: Place) -> None:
    version = place.store.get(ORIGIN).head().version
    (asking,) = redacted(place.store.get(ORIGIN), "message.recorded")
    redacted(place.store.get(OWN), "tool_call.recorded", "tool_result.recorded")
    async with agent(place.service) as client:
        seen = [
            await asked(client, "read_turns", key=ORIGIN, at=version),
            await asked(client, "read_turns", key=OWN),
            await searched(place, client, "swordfish"),
            await searched(place, client, "marlin"),
            await asked(client, "tool_calls"),
            await content(client, f"onrecord://conversations/support%2Forigin/events/{asking}"),
        ]
        why = await refused(client, "request_at", key=ORIGIN, version=version, api="gemini")
        no_document = "encrypted" if place.is_encrypted else "shows no document"
        with pytest.raises(mcp.MCPError, match=no_document):
            await client.read_resource(f"onrecord://documents/{DIGEST}")
    assert "swordfish" not in json.dumps(seen)
    assert "marlin" not in json.dumps(seen)
    assert "redacted since" in why


def redacted(talk: onrecord.Conversation, *types: str) -> list[int]:
    """Redact the events of these types; return their versions."""
    versions = [event.version for event in talk.events() if event.type in types]
    for version in versions:
        talk.redact(version)
    return versions


async def test_what_was_forgotten_is_not_shown(place: Place) -> None:
    place.store.forget(ORIGIN, reason="asked for", actor="ana")
    async with agent(place.service, conversation=OWN) as client:
        seen = [
            await asked(client, "read_turns"),
            await searched(place, client, "swordfish"),
            await asked(client, "usage"),
        ]
        assert "shows no conversation" in await refused(client, "read_turns", key=ORIGIN)
        with pytest.raises(mcp.MCPError, match="shows no document"):
            await client.read_resource(f"onrecord://documents/{DIGEST}")
    assert "swordfish" not in json.dumps(seen)
    assert ORIGIN not in json.dumps(seen)


async def test_a_conversation_that_grows_is_told_of(place: Place) -> None:
    scope = Scope(place.store, OWN)
    watched = Watched(scope, moves_of(scope))
    await watched.add(URI)
    place.store.get(OWN).user("More")
    assert await asyncio.wait_for(watched.grown(), PATIENCE) == [URI]
