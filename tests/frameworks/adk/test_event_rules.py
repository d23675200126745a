"""The rules of ADK for its session services: events, and several who use one session."""

# google-adk is in no environment that types are checked in: what it gives is Any.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import Any

import pytest
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.genai import types

from tests.frameworks.adk.services import ANA, ONE, event, get


async def test_an_event_for_no_session_is_refused(service: Any) -> None:
    session = await service.create_session(**ONE)
    await service.delete_session(**ONE)
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, event(1, **{"app:a": 1}))
    assert await get(service) is None
    assert (await service.create_session(**ANA)).state == {}


async def test_a_partial_event_is_returned_and_not_stored(service: Any) -> None:
    session = await service.create_session(**ONE)
    partial = Event(author="ana", partial=True, actions=EventActions(state_delta={"a": 1}))
    assert await service.append_event(session, partial) is partial
    found = await get(service)
    assert found.events == session.events == []
    assert found.state == session.state == {}


async def test_a_session_moved_when_its_last_event_says(service: Any) -> None:
    session = await service.create_session(**ONE)
    created = session.last_update_time
    await service.append_event(session, event(0))
    assert session.last_update_time == event(0).timestamp > created
    assert (await get(service)).last_update_time == event(0).timestamp


async def test_the_events_that_are_asked_for_are_returned(service: Any) -> None:
    session = await service.create_session(**ONE)
    for number in range(5):
        await service.append_event(session, event(number, n=number))
    events = session.events
    at = [each.timestamp for each in events]
    assert (await get(service)).events == events
    assert (await get(service, num_recent_events=0)).events == []
    assert (await get(service, num_recent_events=3)).events == events[2:]
    assert (await get(service, num_recent_events=9)).events == events
    assert (await get(service, after_timestamp=at[3])).events == events[3:]
    assert (await get(service, after_timestamp=at[4] + 1)).events == []
    assert (await get(service, after_timestamp=at[3], num_recent_events=3)).events == events[3:]
    assert (await get(service, after_timestamp=at[1], num_recent_events=3)).events == events[2:]
    assert (await get(service, num_recent_events=0)).state == {"n": 4}


async def test_bytes_come_back(service: Any) -> None:
    session = await service.create_session(**ONE)
    picture = types.Part.from_bytes(data=bytes(range(256)), mime_type="image/png")
    signed = types.Part(text="hm", thought=True, thought_signature=b"\xfb\xff\x00")
    point = types.SearchEntryPoint(sdk_blob=b"\x00blob")
    given = Event(
        author="desk",
        content=types.Content(role="model", parts=[signed, picture]),
        grounding_metadata=types.GroundingMetadata(search_entry_point=point),
    )
    await service.append_event(session, given)
    (found,) = (await get(service)).events
    assert (found.content, found.grounding_metadata) == (given.content, given.grounding_metadata)


async def test_an_event_comes_back_with_all_that_it_holds(service: Any) -> None:
    session = await service.create_session(**ONE)
    call = types.FunctionCall(id="call-1", name="track", args={"parcel": "NW-1"})
    answer = types.FunctionResponse(id="call-1", name="track", response={"at": ["North"]})
    parts = [types.Part(function_call=call), types.Part(function_response=answer)]
    given = Event(
        invocation_id="first",
        author="desk",
        branch="desk.other",
        timestamp=1_800_000_000.123,
        content=types.Content(role="model", parts=parts),
        actions=EventActions(
            artifact_delta={"file": 0},
            transfer_to_agent="other",
            escalate=True,
            skip_summarization=True,
            end_of_agent=True,
            agent_state={"step": 1},
        ),
        long_running_tool_ids={"call-1"},
        turn_complete=True,
        partial=False,
        interrupted=True,
        error_code="code",
        error_message="message",
        finish_reason=types.FinishReason.MAX_TOKENS,
        custom_metadata={"key": {"nested": [1, None]}},
        citation_metadata=types.CitationMetadata(),
        grounding_metadata=types.GroundingMetadata(web_search_queries=["where"]),
        usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=2),
        input_transcription=types.Transcription(text="heard", finished=True),
        output_transcription=types.Transcription(text="spoken", finished=True),
    )
    await service.append_event(session, given)
    assert await get(service) == session
    assert session.events == [given]


async def test_compactions_and_rewinds_come_back(service: Any) -> None:
    session = await service.create_session(**ONE)
    summary = types.Content(role="model", parts=[types.Part(text="in short")])
    compaction = EventCompaction(start_timestamp=1.5, end_timestamp=2.25, compacted_content=summary)
    for number, actions in enumerate(
        (EventActions(compaction=compaction), EventActions(rewind_before_invocation_id="first"))
    ):
        at = 1_800_000_000.5 + number
        await service.append_event(session, Event(author="user", timestamp=at, actions=actions))
    found = await get(service)
    assert found == session
    assert found.events[0].actions.compaction == compaction
    assert found.events[1].actions.rewind_before_invocation_id == "first"


async def test_a_timestamp_comes_back_to_its_last_digit(service: Any, kept: Any) -> None:
    session = await service.create_session(**ONE)
    with kept:
        for at in (1_800_000_000.1234567, 1_800_000_001.0000002):
            await service.append_event(session, Event(author="ana", timestamp=at))
            found = await get(service)
            assert found.events[-1].timestamp == found.last_update_time == at


async def test_events_of_one_time_keep_their_order(service: Any, kept: Any) -> None:
    session = await service.create_session(**ONE)
    with kept:
        for number in range(9, 1, -1):
            given = event(1).model_copy(update={"id": f"id-{number}"})
            await service.append_event(session, given)
        assert (await get(service)).events == session.events
        assert (await get(service, num_recent_events=2)).events == session.events[-2:]


async def test_events_are_in_the_order_in_which_they_were_appended(service: Any, kept: Any) -> None:
    session = await service.create_session(**ONE)
    with kept:
        for number in (3, 1, 2):
            await service.append_event(session, event(number))
        assert (await get(service)).events == session.events
        assert (await get(service, num_recent_events=1)).events == session.events[-1:]


async def test_an_event_that_comes_again_changes_nothing(service: Any, kept: Any) -> None:
    session = await service.create_session(**ONE)
    given = event(1, a=1)
    await service.append_event(session, given)
    await service.append_event(session, event(2, a=2))
    with kept:
        await service.append_event(session, given.model_copy(deep=True))
        found = await get(service)
        assert (len(found.events), found.state) == (2, {"a": 2})
        assert found == session


# Several who use one session.


async def test_a_writer_whom_another_came_before_is_told(service: Any, kept: Any) -> None:
    first = await service.create_session(**ONE)
    second = await get(service)
    await service.append_event(first, event(1, a=1))
    with kept:
        with pytest.raises(StaleSessionError):
            await service.append_event(second, event(2, a=2))
        assert (second.events, second.state) == ([], {})
        found = await get(service)
        assert (len(found.events), found.state) == (1, {"a": 1})


async def test_a_writer_is_told_whatever_the_timestamps_say(service: Any, kept: Any) -> None:
    await service.append_event(await service.create_session(**ONE), event(5))
    first, second = await get(service), await get(service)
    await service.append_event(first, event(4, a=1))
    with kept, pytest.raises(StaleSessionError):
        await service.append_event(second, event(6, a=2))


async def test_what_was_returned_is_the_callers_own_to_change(service: Any, kept: Any) -> None:
    await service.create_session(**ONE, state={"a": {"b": 1}, "app:a": {"b": 1}})
    session = await get(service)
    await service.append_event(session, event(1, **{"user:u": {"b": 1}}))
    with kept:
        for _ in range(2):
            found = await get(service)
            assert [found.state[name] for name in ("a", "app:a", "user:u")] == [{"b": 1}] * 3
            assert len(found.events) == 1
            for name in ("a", "app:a", "user:u"):
                found.state[name]["b"] = "changed"
            found.state["c"] = 1
            found.events.clear()
        assert await service.get_user_state(app_name="desk", user_id="ana") == {"u": {"b": 1}}


async def test_what_was_given_is_the_callers_own_to_change(service: Any, kept: Any) -> None:
    state: dict[str, Any] = {"a": {"b": 1}, "app:a": {"b": 1}}
    session = await service.create_session(**ONE, state=state)
    given = event(1, c={"b": 1})
    await service.append_event(session, given)
    for each in (state["a"], state["app:a"], given.actions.state_delta["c"]):
        each["b"] = "changed"
    given.author = "changed"
    with kept:
        found = await get(service)
        assert found.state == {"a": {"b": 1}, "app:a": {"b": 1}, "c": {"b": 1}}
        assert found.events[0].author == "ana"
        assert found.events[0].actions.state_delta == {"c": {"b": 1}}
