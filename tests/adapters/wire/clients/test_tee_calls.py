"""Calls that fail, are tried again, are refused, or are made beside one another."""

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import cast

import anthropic
import pytest

from onrecord.adapters.demo.services.scenes import (
    Answer,
    Cut,
    HangUp,
    Stall,
)
from onrecord.adapters.recording.state import OpenRequest
from onrecord.domain.errors import NotRecorded, StorageError, StorageFull
from onrecord.domain.events import (
    AttemptFailed,
    MessageRecorded,
    ResponseCompleted,
    ToolCallRecorded,
)
from tests.adapters.recorded_calls import (
    CALLING,
    GREETING,
    HELLO,
    MODEL,
    WAITING,
    Recorded,
    calling,
)
from tests.demo_faults import overloaded, rate_limited

MESSAGES = cast("list[anthropic.types.MessageParam]", HELLO)
FULL = StorageFull("no room")


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


# -- attempts --------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [True, False])
def test_retries_are_attempts_of_one_request(recorded: Recorded, streamed: bool) -> None:
    with calling(recorded, [overloaded(), HangUp(), rate_limited(), GREETING], retries=3) as calls:
        calls.stream() if streamed else calls.ask()
        assert len(calls.server.requests) == 4
    assert recorded.types() == [
        "message.recorded",
        "request.sent",
        *["attempt.failed"] * 3,
        "message.recorded",
        "response.completed",
    ]
    failed = [event for event in recorded.events() if isinstance(event, AttemptFailed)]
    assert [event.status for event in failed] == [529, None, 429]
    assert failed[0].reason == (None if streamed else "overloaded_error")
    assert failed[1].reason == "RemoteProtocolError"
    assert {event.request for event in failed} == {recorded.chat.events(after=0)[2].event_id}


def test_an_answer_that_was_cut_may_be_retried_as_the_same_request(recorded: Recorded) -> None:
    scenes = [Answer(GREETING.content, faults=(Cut(100),)), GREETING]
    with calling(recorded, scenes, retries=1) as calls:
        calls.ask()
    assert recorded.types().count("request.sent") == 1
    assert recorded.types()[-3:] == [
        "response.interrupted",
        "message.recorded",
        "response.completed",
    ]


def test_a_call_that_fails_for_good_is_closed_and_may_be_made_again(recorded: Recorded) -> None:
    with calling(recorded, [overloaded()] * 2 + [GREETING], retries=1) as calls:
        with pytest.raises(anthropic.APIStatusError):
            calls.ask()
        calls.ask()
    assert recorded.types().count("request.sent") == 2
    assert [request.line for request in recorded.requests()] == [None, None]


# -- no call without a record ----------------------------------------------------------------


def test_calls_that_failed_for_good_are_not_kept_in_mind_for_ever(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onrecord.adapters.wire.clients.exchange_recorder._FAILED_AT_MOST", 2)
    with calling(recorded, [overloaded()] * 5) as calls:
        for _ in range(5):
            with pytest.raises(anthropic.APIStatusError):
                calls.ask()
        gc.collect()
        requests = {request.event_id for request in recorded.chat.events(after=0)}
        kept = [held for held in gc.get_objects() if type(held) is OpenRequest]
        assert len([held for held in kept if held.request in requests]) == 2


@pytest.mark.parametrize("streamed", [True, False])
def test_a_call_that_cannot_be_recorded_is_refused_once(recorded: Recorded, streamed: bool) -> None:
    with calling(recorded, [GREETING], retries=3) as calls:
        recorded.counting.broken = FULL
        with pytest.raises(NotRecorded, match="not sent") as refused:
            calls.stream() if streamed else calls.ask()
        assert calls.server.requests == ()
    assert isinstance(refused.value, anthropic.AnthropicError)
    assert not isinstance(refused.value, anthropic.APIError)
    assert refused.value.__cause__ is FULL
    assert len(recorded.counting.appends) == 1


def test_a_closed_conversation_takes_no_call(recorded: Recorded) -> None:
    recorded.chat.user("Hello")
    recorded.chat.end()
    with calling(recorded, [GREETING]) as calls:
        with pytest.raises(NotRecorded, match="closed"):
            calls.ask()
        assert calls.server.requests == ()


def test_a_closed_store_takes_no_call(recorded: Recorded) -> None:
    with calling(recorded, [GREETING]) as calls:
        recorded.store.close()
        with pytest.raises(NotRecorded) as refused:
            calls.ask()
        assert calls.server.requests == ()
    assert isinstance(refused.value.__cause__, StorageError)


# -- many at once ----------------------------------------------------------------------------


def test_two_threads_may_share_a_recorded_client(recorded: Recorded) -> None:
    def work(streamed: bool) -> None:
        for _ in range(10):
            calls.stream() if streamed else calls.ask()

    with calling(recorded, [GREETING] * 20) as calls, ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work, streamed) for streamed in (True, False)]:
            done.result(WAITING)
    events = recorded.events()
    closed = {e.request for e in events if isinstance(e, ResponseCompleted)}
    assert len(closed) == 20
    assert [request.line for request in recorded.requests()].count(None) == 1
    answers = [e for e in events if isinstance(e, MessageRecorded) and e.line is None]
    assert len(answers) == 2


def test_a_request_beside_one_in_flight_stands_on_its_own_line(recorded: Recorded) -> None:
    release = Event()
    waiting = Answer(CALLING.content, "tool_use", faults=(Stall(500, release),))
    with calling(recorded, [waiting, CALLING]) as calls:
        slow = calls.client.messages.create(
            model=MODEL, max_tokens=9, messages=MESSAGES, stream=True
        )
        calls.ask()
        release.set()
        list(slow)
    first, second = recorded.requests()
    assert (first.line is None, second.line is None) == (True, False)
    calls_made = [e for e in recorded.events() if isinstance(e, ToolCallRecorded)]
    assert [call.line is None for call in calls_made] == [False, False, True, True]
    assert len(recorded.chat.open_calls()) == 2
