"""Sessions of ADK in our store: what the rules of its session services do not ask."""

# google-adk is in no environment that types are checked in: what it gives is Any.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.genai import types

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.frameworks.adk import OnrecordSessionService
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.adk.services import ONE, event, get
from tests.frameworks.processes import run_apart, run_until
from tests.frameworks.recorded_blocks import recorded_kinds


@pytest.fixture
def ours(store: Store) -> Any:
    return OnrecordSessionService(store)


def test_it_is_a_service_of_the_sdk(ours: Any) -> None:
    assert isinstance(ours, BaseSessionService)
    with pytest.raises(onrecord.InvalidInput):
        OnrecordSessionService(ours._store, writers=cast("Any", "all"))


async def test_a_stale_writer_is_told_or_merged(store: Store, ours: Any) -> None:
    first = await ours.create_session(**ONE)
    second, unmarked = await get(ours), await get(ours)
    unmarked._storage_update_marker = None
    await ours.append_event(first, event(1, a=1))
    for stale in (second, unmarked):
        with pytest.raises(StaleSessionError):
            await ours.append_event(stale, event(2, a=2))
        assert (stale.events, stale.state) == ([], {})
    merging = OnrecordSessionService(store, writers="merge")
    await merging.append_event(second, event(3, a=3))
    found = await get(ours)
    assert (len(found.events), found.state) == (2, {"a": 3})
    with pytest.raises(StaleSessionError):
        await ours.append_event(first, event(4))


async def test_tasks_that_share_a_session_do_not_overtake_each_other(ours: Any) -> None:
    session = await ours.create_session(**ONE)
    await asyncio.gather(*(ours.append_event(session, event(n)) for n in range(10)))
    assert (await get(ours)).events == session.events
    assert len(session.events) == 10


async def test_state_is_read_from_the_end_however_long_a_session_is(ours: Any) -> None:
    session = await ours.create_session(**ONE, state={"first": 1, "app:first": 1})
    for n in range(150):
        await ours.append_event(session, event(n, **{f"k{n % 7}": n, f"app:k{n % 7}": n}))
    found = await get(ours, num_recent_events=3)
    assert (found.state, len(found.events)) == (session.state, 3)
    assert (await get(ours)).events == session.events


def _killed(*_: Any) -> None:
    raise ConnectionAbortedError


async def test_shared_state_that_a_killed_process_left_is_taken_up_once(
    ours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await ours.create_session(**ONE)
    other = await ours.create_session(app_name="desk", user_id="ana")

    with monkeypatch.context() as patched:
        patched.setattr(ours._stored, "_take_up", _killed)
        with pytest.raises(ConnectionAbortedError):
            await ours.append_event(session, event(1, **{"app:a": 1}))
    assert (await get(ours)).state == {"app:a": 1}
    await ours.append_event(other, event(2, **{"app:a": 2}))
    assert (await get(ours)).state == {"app:a": 2}


async def test_shared_state_that_is_taken_up_late_comes_over_nothing_newer(
    ours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await ours.create_session(**ONE)
    other = await ours.create_session(app_name="desk", user_id="ana")
    with monkeypatch.context() as patched:
        patched.setattr(ours._stored, "_take_up", _killed)
        with pytest.raises(ConnectionAbortedError):
            await ours.append_event(session, event(1, **{"app:a": "old", "app:b": "old"}))
    await ours.append_event(other, event(2, **{"app:a": "new", "user:c": "new"}))
    for _ in range(2):
        assert (await get(ours)).state == {"app:a": "new", "app:b": "old", "user:c": "new"}
    assert (await ours.create_session(app_name="desk", user_id="bob")).state == {
        "app:a": "new",
        "app:b": "old",
    }


async def test_what_others_note_on_a_session_makes_no_writer_stale(store: Store, ours: Any) -> None:
    session = await ours.create_session(**ONE)
    conversation = store.conversation(ours.conversation_key(**ONE))
    conversation.annotate({"checked": "yes"})
    await ours.append_event(session, event(1, a=1))
    conversation.annotate({"checked": "again"})
    await ours.append_event(session, event(2, a=2))
    assert (await get(ours)) == session


async def test_an_event_that_comes_again_is_known_also_from_a_stale_writer(ours: Any) -> None:
    await ours.create_session(**ONE)
    writer, stale = await get(ours), await get(ours)
    events = [event(number, a=number) for number in range(3)]
    for each in events:
        await ours.append_event(writer, each)
    for each in events:
        assert await ours.append_event(stale, each) == each
    assert (stale.events, stale.state) == ([], {})
    changed = events[0].model_copy(update={"author": "eve"})
    for unknown in (changed, event(7)):
        with pytest.raises(StaleSessionError):
            await ours.append_event(stale, unknown)
    assert await get(ours) == writer
    await ours.delete_session(**ONE)
    again = await ours.create_session(**ONE)
    with pytest.raises(StaleSessionError):
        await ours.append_event(stale, events[0])
    assert await get(ours) == again


@pytest.mark.parametrize("bad", ["", "  ", "a\0b", "x" * 5_000, "\ud800", None])
async def test_what_is_no_id_names_no_session(sqlite_store: Store, bad: Any) -> None:
    service = OnrecordSessionService(sqlite_store)
    with pytest.raises(onrecord.OnrecordError):
        await service.create_session(app_name="desk", user_id=bad, session_id="one")
    with pytest.raises(onrecord.OnrecordError):
        await service.get_session(app_name="desk", user_id="ana", session_id=bad)


async def test_nan_is_refused_with_the_whole_event(ours: Any) -> None:
    session = await ours.create_session(**ONE)
    with pytest.raises(onrecord.OnrecordError):
        await ours.append_event(session, event(1, a=float("nan"), **{"app:b": 1}))
    assert (session.events, session.state) == ([], {})
    assert await get(ours) == session


async def test_a_session_of_another_id_or_tenant_is_not_seen(ours: Any, tmp_path: Path) -> None:
    await ours.create_session(**ONE, state={"app:a": 1, "user:u": 1})
    for crafted in ("../one", 'one","x', "ONE", "one\u0301", "one:"):
        assert await ours.get_session(**{**ONE, "session_id": crafted}) is None
    others = OnrecordSessionService(store_of(backend_of(ours._store), tmp_path, UUID(int=77)))
    assert await get(others) is None
    assert (await others.create_session(**ONE)).state == {}


async def test_an_erased_session_is_gone_and_begins_anew(sqlite_store: Store) -> None:
    service = OnrecordSessionService(sqlite_store)
    session = await service.create_session(**ONE, state={"own": 1})
    sqlite_store.forget(service.conversation_key(**ONE), reason="asked for")
    assert await get(service) is None
    again = await service.create_session(**ONE)
    with pytest.raises(StaleSessionError):
        await service.append_event(session, event(1))
    await service.append_event(again, event(1))
    assert await get(service) == again
    assert sqlite_store.verify().is_whole


async def test_of_a_user_who_is_erased_no_byte_is_left(tmp_path: Path) -> None:
    secret = "the parcel of Ana Novak"
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}", actor="eve") as store:
        service = OnrecordSessionService(store)
        session = await service.create_session(**ONE, state={"user:name": secret})
        content = types.Content(role="user", parts=[types.Part(text=secret)])
        given = event(1, own=secret, **{"user:name": secret})
        given.content = content
        await service.append_event(session, given)
        other = await service.create_session(app_name="desk", user_id="bob", state={"app:a": 1})
        await service.append_event(other, event(1, a=1))
        for key in (service.conversation_key(**ONE), service.user_key("desk", "ana")):
            store.forget(key, reason="asked for")
        assert await get(service) is None
        assert await service.get_user_state(app_name="desk", user_id="ana") == {}
        assert (await service.list_sessions(app_name="desk")).sessions[0].id == other.id
        named = {"app_name": "desk", "user_id": "bob", "session_id": other.id}
        assert await service.get_session(**named) == other
        assert store.verify().is_whole
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.encode() not in held


async def test_each_kind_of_block_comes_back_as_it_was(sqlite_store: Store) -> None:
    service = OnrecordSessionService(sqlite_store)
    session = await service.create_session(**ONE)
    kinds = [
        each
        for name in ("anthropic", "gemini", "openai-responses")
        for each in recorded_kinds(name)
    ]
    response = types.FunctionResponse(name="f", response={"kinds": kinds})
    content = types.Content(role="user", parts=[types.Part(function_response=response)])
    await service.append_event(session, Event(author="ana", content=content))
    assert await get(service) == session


class Model(BaseLlm):  # type: ignore[misc]
    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        said = f"{len(llm_request.contents)} contents"
        content = types.Content(role="model", parts=[types.Part(text=said)])
        yield LlmResponse(content=content)


async def _said(service: Any, text: str) -> list[str]:
    agent = LlmAgent(name="desk", model=Model(model="fake"), output_key="user:answer")
    runner = Runner(app_name="desk", agent=agent, session_service=service)
    message = types.Content(role="user", parts=[types.Part(text=text)])
    run: AsyncGenerator[Any] = runner.run_async(
        user_id="ana", session_id="one", new_message=message
    )
    return [each.content.parts[0].text async for each in run]


async def test_a_runner_goes_on_where_another_process_would_find_it(store: Store) -> None:
    await OnrecordSessionService(store).create_session(**ONE)
    for expected in ("1 contents", "3 contents"):
        service = OnrecordSessionService(store)
        assert await _said(service, "Where?") == [expected]
        assert (await get(service)).state == {"user:answer": expected}


def _append_many(place: Place, folder: Path, count: int) -> None:
    async def append(service: Any) -> None:
        session = await get(service)
        for number in range(count):
            await service.append_event(session, event(number, **{"app:n": number}))

    with store_of(place.open(), folder) as store:
        asyncio.run(append(OnrecordSessionService(store, writers="merge")))


def _begun(place: Place, folder: Path) -> None:
    with store_of(place.open(), folder) as store:
        asyncio.run(OnrecordSessionService(store).create_session(**ONE))


def _held(place: Place, folder: Path) -> Any:
    with store_of(place.open(), folder) as store:
        return asyncio.run(get(OnrecordSessionService(store)))


def test_two_processes_lose_nothing_and_double_nothing(
    durable_place: Place, tmp_path: Path
) -> None:
    _begun(durable_place, tmp_path)
    write = partial(_append_many, durable_place, tmp_path, 100)
    run_apart(write, write)
    found = _held(durable_place, tmp_path)
    assert len({each.id for each in found.events}) == len(found.events) == 200
    assert found.state == {"app:n": 99}


def test_a_process_that_is_killed_leaves_a_session_that_loads(
    durable_place: Place, tmp_path: Path
) -> None:
    _begun(durable_place, tmp_path)
    run_until(
        lambda: len(_held(durable_place, tmp_path).events) >= 10,
        partial(_append_many, durable_place, tmp_path, 100_000),
    )
    found = _held(durable_place, tmp_path)
    assert found.state == {"app:n": len(found.events) - 1}
