"""Sessions of ADK in our store where something goes wrong: cancelled, killed, damaged, or very long."""

# google-adk is in no environment that types are checked in: what it gives is Any.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false
# pyright: reportUntypedBaseClass=false, reportPrivateUsage=false

from __future__ import annotations

import asyncio
import os
import re
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types

import onrecord
from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store, backend_of, tenancy_of
from onrecord.frameworks.adk import OnrecordSessionService
from tests.adapters.frameworks.counted_reads import counted_reads
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import SqlitePlace
from tests.factories import appending, raw_event
from tests.frameworks.adk.services import ONE, event, get
from tests.frameworks.processes import apart
from tests.patience import join_process
from tests.sqlite_by_hand import Unruled

SESSION = ("session", *ONE.values())


async def test_what_was_cancelled_is_recorded_whole_or_not_at_all(sqlite_store: Store) -> None:
    service = OnrecordSessionService(sqlite_store)
    session = await service.create_session(**ONE)
    for attempt in range(20):
        given = event(attempt, n=attempt, **{"app:n": attempt, "user:n": attempt})
        appending = asyncio.ensure_future(service.append_event(session, given))
        for _ in range(attempt % 5):
            await asyncio.sleep(0)
        appending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appending
        found = await get(service)
        is_there = given in found.events
        seen = [found.state.get(name) == attempt for name in ("n", "app:n", "user:n")]
        assert seen == [is_there] * 3
        session = found
        await service.append_event(session, given)
        assert (await get(service)).events.count(given) == 1


async def test_a_long_session_costs_what_is_asked_for(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = OnrecordSessionService(sqlite_store)
    session = await service.create_session(**ONE)
    read = counted_reads(sqlite_store, monkeypatch)

    async def most_read() -> int:
        """How many events one append reads at most, over two summaries of the state."""
        counts: list[int] = []
        for number in range(140):
            read.clear()
            await service.append_event(session, event(number, **{f"k{number % 7}": number}))
            counts.append(len(read))
        return max(counts)

    await most_read()
    in_a_short_one = await most_read()
    items = Sessions(sqlite_store, "google-adk").session(*SESSION)
    for start in range(0, 5_000, 500):
        batch = [event(each, own=each) for each in range(start, start + 500)]
        items.record(
            [NewItem(each.model_dump(mode="json", exclude_none=True), each.id) for each in batch]
        )
    session = await get(service)
    assert len(session.events) == 5_280
    await service.append_event(session, event(1, own="last"))
    assert await most_read() == in_a_short_one
    read.clear()
    found = await get(service, num_recent_events=50)
    assert (found.events, found.state) == (session.events[-50:], session.state)
    assert len(read) <= 50 + in_a_short_one


async def test_rows_that_nobody_knows_are_passed_by(sqlite_store: Store) -> None:
    service = OnrecordSessionService(sqlite_store)
    session = await service.create_session(**ONE)
    await service.append_event(session, event(1, a=1))
    key = service.conversation_key(**ONE)
    conversation_id = sqlite_store.conversation(key).conversation_id
    request = appending(conversation_id, raw_event(), tenant=tenancy_of(sqlite_store).tenant)
    backend_of(sqlite_store).append([request])
    await service.append_event(session, event(2, a=2))
    assert await get(service) == session


@pytest.mark.parametrize("other", [{"author": 5}, {"actions": {"of a later release": True}}])
async def test_an_event_that_adk_cannot_read_is_a_corrupt_record(
    sqlite_store: Store, other: dict[str, Any]
) -> None:
    service = OnrecordSessionService(sqlite_store)
    await service.create_session(**ONE)
    body = event(1).model_dump(mode="json", exclude_none=True) | other
    Sessions(sqlite_store, "google-adk").session(*SESSION).record([NewItem(body, body["id"])])
    with pytest.raises(onrecord.CorruptRecord, match="version 3"):
        await get(service)
    assert (await get(service, num_recent_events=0)).events == []


@pytest.mark.parametrize("item", [{}, {"id": 1, "timestamp": 1.0}, {"id": "x", "timestamp": "1"}])
async def test_an_item_that_is_no_event_is_a_corrupt_record(
    sqlite_store: Store, item: dict[str, Any]
) -> None:
    service = OnrecordSessionService(sqlite_store)
    session = await service.create_session(**ONE)
    Sessions(sqlite_store, "google-adk").session(*SESSION).record([NewItem(item)])
    for asking in (get(service), service.append_event(session, event(1))):
        with pytest.raises(onrecord.CorruptRecord, match="version 3"):
            await asking


@pytest.mark.parametrize("summary", [5, {"x": 1}, {"creation": "c", "updated": "1", "state": {}}])
async def test_a_summary_that_is_none_is_a_corrupt_record_until_it_is_redacted(
    sqlite_store: Store, summary: Any
) -> None:
    service = OnrecordSessionService(sqlite_store)
    other = await service.create_session(app_name="desk", user_id="ana", session_id="other")
    session = await service.create_session(**ONE)
    Sessions(sqlite_store, "google-adk").session(*SESSION).record(state={"summary": summary})
    key = re.escape(service.conversation_key(**ONE))
    listing = service.list_sessions(app_name="desk")
    for asking in (get(service), service.append_event(session, event(1)), listing):
        with pytest.raises(onrecord.CorruptRecord, match=key):
            await asking
    await service.append_event(other, event(2, b=1))
    sqlite_store.conversation(service.conversation_key(**ONE)).redact(3)
    assert await get(service) == session
    assert len((await service.list_sessions(app_name="desk")).sessions) == 2


@pytest.mark.parametrize(
    "foreign",
    [
        {"items": [NewItem({"x": 1})]},
        {"items": [NewItem({"delta": 5, "recorded_at": 1})]},
        {"items": [NewItem({"delta": {}, "recorded_at": "1"})]},
        {"state": {"summary": 5}},
        {"state": {"summary": {"values": {}, "recorded_at": {"a": "1"}}}},
    ],
)
@pytest.mark.parametrize("outer_id", [("app", "desk"), ("user", "desk", "ana")])
async def test_a_shared_state_that_is_none_is_a_corrupt_record_until_it_is_redacted(
    sqlite_store: Store, outer_id: tuple[str, ...], foreign: dict[str, Any]
) -> None:
    service = OnrecordSessionService(sqlite_store)
    await service.create_session(**ONE, state={"app:a": 1, "user:a": 2})
    sessions = Sessions(sqlite_store, "google-adk")
    chat = sqlite_store.conversation(sessions.key(*outer_id))
    sessions.session(*outer_id).record(**foreign, stream="state")
    for asking in (get(service), service.list_sessions(app_name="desk")):
        with pytest.raises(onrecord.CorruptRecord, match=re.escape(sessions.key(*outer_id))):
            await asking
    chat.redact(chat.head().version)
    assert (await get(service)).state == {"app:a": 1, "user:a": 2}


async def test_a_damaged_row_is_told_and_no_other_session_suffers(tmp_path: Path) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}", actor="eve") as store:
        service = OnrecordSessionService(store)
        session = await service.create_session(**ONE)
        other = await service.create_session(app_name="desk", user_id="ana", session_id="other")
        await service.append_event(session, event(1, a=1))
        damaged = store.conversation(service.conversation_key(**ONE)).conversation_id.bytes
    with closing(Unruled.open(tmp_path / "log.db")) as hand:
        hand.run("UPDATE event SET body = x'00' WHERE conversation_id = ? AND version = 3", damaged)
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}", actor="eve") as store:
        service = OnrecordSessionService(store)
        with pytest.raises(onrecord.CorruptRecord):
            await get(service)
        with pytest.raises(onrecord.CorruptRecord):
            await service.append_event(session, event(2))
        await service.append_event(other, event(2, b=1))
        found = await service.get_session(**{**ONE, "session_id": "other"})
        assert found == other


# A turn that ends with its process.


class Tracker(BaseLlm):  # type: ignore[misc]
    """A model that calls a tool before it answers."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        last = llm_request.contents[-1].parts[0]
        call = types.FunctionCall(name="track", args={"parcel": "NW-1"})
        part = (
            types.Part(text="North.") if last.function_response else types.Part(function_call=call)
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def track(parcel: str) -> dict[str, str]:
    """Say where a parcel is."""
    return {"at": f"{parcel}: North"}


async def _turn(service: Any) -> list[Any]:
    agent = LlmAgent(name="desk", model=Tracker(model="x"), tools=[track], output_key="user:answer")
    runner = Runner(app_name="desk", agent=agent, session_service=service)
    message = types.Content(role="user", parts=[types.Part(text="Where?")])
    run = runner.run_async(user_id="ana", session_id="one", new_message=message)
    return [each async for each in run]


def _killed(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _turn_until(folder: Path, calls: int, verb: str) -> None:
    """Run a turn, and be killed where a verb of the stored sessions is called once more than so often."""
    with store_of(SqlitePlace(folder).open(), folder) as store:
        service = OnrecordSessionService(store)
        every, left = getattr(service._stored, verb), [calls]

        def counted(*arguments: Any) -> Any:
            left[0] -= 1
            return _killed() if left[0] < 0 else every(*arguments)

        setattr(service._stored, verb, counted)
        asyncio.run(_turn(service))


@pytest.mark.parametrize(
    ("calls", "verb", "events"),
    [(1, "append", 1), (2, "append", 2), (3, "append", 3), (0, "_take_up", 4)],
)
def test_a_turn_that_is_killed_between_two_calls_leaves_a_session_that_runs_on(
    tmp_path: Path, calls: int, verb: str, events: int
) -> None:
    with store_of(SqlitePlace(tmp_path).open(), tmp_path) as store:
        asyncio.run(OnrecordSessionService(store).create_session(**ONE))
    process = apart(_turn_until, tmp_path, calls, verb)
    join_process(process)
    assert process.exitcode == -signal.SIGKILL
    with store_of(SqlitePlace(tmp_path).open(), tmp_path) as store:
        service = OnrecordSessionService(store)
        found = asyncio.run(get(service))
        assert len(found.events) == events
        assert found.state == ({"user:answer": "North."} if events == 4 else {})
        said = asyncio.run(_turn(service))
        assert said[-1].content.parts[0].text == "North."
        again = asyncio.run(get(service))
        assert (again.events[:events], again.state) == (found.events, {"user:answer": "North."})
        assert len(again.events) == events + 4
