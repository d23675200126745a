"""Sessions of ADK: the rules of its session services, on one of its own and on ours; and ours alone."""

# google-adk is in no environment that types are checked in: what it gives is Any.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.frameworks.adk import OnrecordSessionService
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.recorded_blocks import recorded_kinds
from tests.patience import join_process, until

ONE: dict[str, Any] = {"app_name": "desk", "user_id": "ana", "session_id": "one"}


@pytest.fixture
def ours(store: Store) -> Any:
    return OnrecordSessionService(store)


@pytest.fixture(params=["theirs", "ours"])
def service(request: pytest.FixtureRequest, store: Store) -> Any:
    return InMemorySessionService() if request.param == "theirs" else OnrecordSessionService(store)


def event(number: int = 0, **delta: Any) -> Any:
    at = 1_700_000_000.123457 + number
    return Event(author="ana", timestamp=at, actions=EventActions(state_delta=delta))


async def get(service: Any, **config: Any) -> Any:
    return await service.get_session(**ONE, config=GetSessionConfig(**config))


async def test_a_session_comes_back_equal(service: Any) -> None:
    session = await service.create_session(**ONE, state={"a": 1, "app:b": 2, "user:c": None})
    assert session.state == {"a": 1, "app:b": 2, "user:c": None}
    assert await get(service) == session
    await service.append_event(session, event(1, a=2, **{"app:b": 3, "user:d": [None]}))
    found = await get(service)
    assert found == session
    assert (found.state["app:b"], found.last_update_time) == (3, 1_700_000_001.123457)


async def test_an_id_is_stripped_made_where_there_is_none_and_taken_once(service: Any) -> None:
    await service.create_session(**ONE)
    with pytest.raises(AlreadyExistsError):
        await service.create_session(**{**ONE, "session_id": " one "})
    made = await service.create_session(app_name="desk", user_id="ana")
    other = await service.create_session(**{**ONE, "user_id": "bob"})
    assert made.id not in ("", "one")
    assert (other.id, other.user_id) == ("one", "bob")
    assert await service.get_session(**{**ONE, "session_id": "none"}) is None


async def test_state_goes_to_those_it_belongs_to_and_temp_to_nobody(service: Any) -> None:
    session = await service.create_session(**ONE, state={"temp:x": 1})
    given = event(1, own=1, **{"app:a": 1, "user:u": 1, "temp:t": 1})
    returned = await service.append_event(session, given)
    assert session.state["temp:t"] == 1
    assert "temp:t" not in returned.actions.state_delta
    assert (await get(service)).state == {"own": 1, "app:a": 1, "user:u": 1}
    same_user = await service.create_session(app_name="desk", user_id="ana")
    other_user = await service.create_session(app_name="desk", user_id="bob")
    other_app = await service.create_session(app_name="shop", user_id="ana")
    states = [same_user.state, other_user.state, other_app.state]
    assert states == [{"app:a": 1, "user:u": 1}, {"app:a": 1}, {}]
    assert await service.get_user_state(app_name="desk", user_id="ana") == {"u": 1}


async def test_the_last_events_and_those_of_a_time_are_returned(service: Any) -> None:
    session = await service.create_session(**ONE)
    for number in range(5):
        await service.append_event(session, event(number, n=number))
    events = session.events
    assert (await get(service, num_recent_events=2)).events == events[3:]
    assert (await get(service, num_recent_events=0)).events == []
    assert (await get(service, after_timestamp=events[2].timestamp)).events == events[2:]
    assert (await get(service, num_recent_events=1)).state == {"n": 4}


async def test_events_of_one_time_keep_their_order(service: Any) -> None:
    session = await service.create_session(**ONE)
    for _ in range(8):
        await service.append_event(session, event(1))
    assert (await get(service)).events == session.events


async def test_sessions_are_listed_without_events_the_last_moved_at_the_end(service: Any) -> None:
    for name in ("x", "y"):
        session = await service.create_session(**{**ONE, "session_id": name}, state={"app:a": name})
        await service.append_event(session, event(1 if name == "y" else 2))
    await service.create_session(app_name="desk", user_id="bob")
    listed = (await service.list_sessions(app_name="desk", user_id="ana")).sessions
    assert [(each.id, each.events, each.state) for each in listed] == [
        ("y", [], {"app:a": "y"}),
        ("x", [], {"app:a": "y"}),
    ]
    assert len((await service.list_sessions(app_name="desk")).sessions) == 3
    assert (await service.list_sessions(app_name="shop")).sessions == []


async def test_a_deleted_session_is_gone_its_shared_state_is_not(service: Any) -> None:
    session = await service.create_session(**ONE)
    given = event(1, own=1, **{"app:a": 1, "user:u": 1})
    await service.append_event(session, given)
    for _ in range(2):
        await service.delete_session(**ONE)
    assert await get(service) is None
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, event(2))
    again = await service.create_session(**ONE)
    assert (again.events, again.state) == ([], {"app:a": 1, "user:u": 1})
    await service.append_event(again, given)
    assert len((await get(service)).events) == 1


async def test_a_partial_event_is_not_stored(service: Any) -> None:
    session = await service.create_session(**ONE)
    await service.append_event(session, Event(author="ana", partial=True))
    assert (await get(service)).events == session.events == []


async def test_the_same_event_again_changes_nothing(service: Any) -> None:
    session = await service.create_session(**ONE)
    given = event(1, a=1)
    for _ in range(2):
        await service.append_event(session, given)
    assert (await get(service)).events == [given]


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
    context = multiprocessing.get_context("spawn")
    arguments = (durable_place, tmp_path, 100)
    writers = [context.Process(target=_append_many, args=arguments) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        join_process(writer)
    assert [writer.exitcode for writer in writers] == [0, 0]
    found = _held(durable_place, tmp_path)
    assert len({each.id for each in found.events}) == len(found.events) == 200
    assert found.state == {"app:n": 99}


def test_a_process_that_is_killed_leaves_a_session_that_loads(
    durable_place: Place, tmp_path: Path
) -> None:
    _begun(durable_place, tmp_path)
    writer = multiprocessing.get_context("spawn").Process(
        target=_append_many, args=(durable_place, tmp_path, 100_000)
    )
    writer.start()
    until(lambda: len(_held(durable_place, tmp_path).events) >= 10, "the events")
    os.kill(writer.pid or 0, signal.SIGKILL)
    join_process(writer)
    found = _held(durable_place, tmp_path)
    assert found.state == {"app:n": len(found.events) - 1}
