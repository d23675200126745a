"""Which request goes on, whose answer is history, and that what was sent does not change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain import events
from onrecord.domain.errors import StorageError
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Verdict
from tests.adapters.recorded_calls import GREETING, Recorded, calling, requests_of
from tests.adapters.recording.tabs import Tab, told, words
from tests.patience import PATIENCE, join
from tests.projections.happenings import tool_use


class Busy(Memory):
    """A store in which somebody else is quicker, as often as `others` says."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[Callable[[], object]] = []

    def append(self, appends: Any) -> list[Verdict]:
        if self.others:
            self.others.pop(0)()
        return super().append(appends)


@pytest.fixture
def store() -> Busy:
    return Busy()


@pytest.fixture
def tab(store: Busy, tmp_path: Path) -> Tab:
    return Tab(store, tmp_path)


@pytest.fixture
def other(store: Busy, tmp_path: Path) -> Tab:
    """The same conversation, held by somebody else."""
    return Tab(store, tmp_path)


def test_a_prompt_between_rendering_and_sending_comes_after_the_answer(tab: Tab) -> None:
    tab.chat.user("one")
    request = tab.render()
    tab.chat.user("slipped in")
    tab.answer(tab.send(request), "answer")
    assert words(tab.render()) == ["one", "answer", "slipped in"]
    assert [sent.seen for sent in requests_of(tab.chat)] == [2]


def test_a_request_of_an_earlier_version_goes_on_from_there(tab: Tab) -> None:
    tab.chat.user("one")
    tab.chat.user("two")
    tab.answer(tab.send(tab.render(at=2)), "answer")
    assert words(tab.render()) == ["one", "answer", "two"]


def test_a_result_between_rendering_and_sending_is_late(tab: Tab) -> None:
    tab.chat.user("one")
    tab.answer(tab.send(tab.render()), tool_use("toolu_1"))
    request = tab.render()
    tab.chat.tool_result("toolu_1", "42")
    tab.answer(tab.send(request), "answer")
    later = tab.render()
    assert later["messages"][:3] == request["messages"]
    assert "42" in str(later["messages"][3:])


def test_a_request_that_saw_all_that_was_said_does_not_say_so(tab: Tab) -> None:
    tab.chat.user("one")
    request = tab.render()
    tab.chat.annotate({"a": "remark"})
    tab.send(request)
    assert [sent.seen for sent in requests_of(tab.chat)] == [None]


def test_a_program_with_its_own_history_goes_on_after_what_was_not_seen(tab: Tab) -> None:
    tab.chat.user("one")
    request = tab.render()
    tab.chat.user("slipped in")
    tab.answer(tab.send(request), "answer")
    history: list[JsonObject] = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": "slipped in"},
    ]
    assert tab.send_own(history).line is None
    assert len(tab.chat.events(after=tab.chat.head().version - 1)) == 1


def test_what_goes_on_supersedes_what_is_still_out(tab: Tab) -> None:
    tab.chat.user("one")
    first = tab.send(tab.render())
    tab.chat.user("two")
    second = tab.send(tab.render())
    tab.answer(second, "second answer")
    tab.answer(first, "first answer")
    assert told(tab) == {"second answer": True, "first answer": False}
    assert words(tab.render()) == ["one", "two", "second answer"]
    aside = [e for e in tab.chat.events(after=0) if getattr(e.event(), "line", None)]
    assert {getattr(e.event(), "line", None) for e in aside} == {first.request}


def test_a_stream_that_is_left_unread_does_not_swallow_the_next_answer(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    chat = recorded.chat
    with calling(recorded, [GREETING, GREETING]) as calls:
        client = chat.record(calls.plain)
        chat.user("one")
        first: Any = chat.request("anthropic-messages")
        stream: Any = client.messages.create(model="m", max_tokens=9, stream=True, **first)
        next(iter(stream))
        chat.user("two")
        again: Any = chat.request("anthropic-messages")
        client.messages.create(model="m", max_tokens=9, **again)
        stream.close()
    assert [request.line for request in requests_of(chat)] == [None, None]
    said = words(chat.request("anthropic-messages"))
    assert said == ["one", "two", "Hello! What can I do for you?"]


def test_of_two_tabs_that_ask_the_same_at_once_one_goes_on(tab: Tab, other: Tab) -> None:
    tab.chat.user("one")
    mine, theirs = tab.render(), other.render()
    first, second = tab.send(mine), other.send(theirs)
    assert first.line is None
    assert second.line == second.request
    other.answer(second, "theirs")
    tab.answer(first, "mine")
    assert told(tab) == {"theirs": False, "mine": True}
    assert words(other.render()) == ["one", "mine"]


def test_a_request_that_missed_the_answer_is_aside(tab: Tab, other: Tab) -> None:
    tab.chat.user("one")
    first = tab.send(tab.render())
    missing = other.render()
    tab.answer(first, "answer")
    assert other.send(missing).line is not None


def test_a_request_goes_on_though_it_missed_what_broke_off(tab: Tab, other: Tab) -> None:
    tab.chat.user("one")
    first = tab.send(tab.render())
    other.chat.user("two")
    missing = other.render()
    tab.abandon(first, "I was say")
    second = other.send(missing)
    assert second.line is None
    other.answer(second, "answer")
    assert words(tab.render()) == ["one", "two", "answer"]


def test_a_failed_request_that_another_one_went_beyond_is_not_gone_on_from(
    tab: Tab, other: Tab
) -> None:
    tab.chat.user("one")
    old = other.render()
    tab.answer(tab.send(tab.render()), "answer")
    tab.chat.user("two")
    tab.fail(tab.send(tab.render()))
    assert other.send(old).line is not None


def test_own_history_that_says_more_supersedes_what_is_out(tab: Tab) -> None:
    one: JsonObject = {"role": "user", "content": "one"}
    first = tab.send_own([one])
    second = tab.send_own([one, {"role": "user", "content": "two"}])
    assert second.line is None
    tab.answer(first, "first answer")
    tab.answer(second, "second answer")
    assert told(tab) == {"first answer": False, "second answer": True}


def test_own_history_sent_again_while_it_is_out_is_a_sample(tab: Tab, other: Tab) -> None:
    one: JsonObject = {"role": "user", "content": "one"}
    first = tab.send_own([one])
    assert tab.send_own([one]).line is not None
    assert other.send_own([one]).line is not None
    del first
    assert other.send_own([one]).line is None


def test_what_others_append_meanwhile_leaves_the_answer_where_it_belongs(
    tab: Tab, other: Tab, store: Busy
) -> None:
    tab.chat.user("one")
    begun = tab.send(tab.render())
    other.chat.user("meanwhile")
    store.others = [lambda: other.chat.annotate({"a": "remark"})] * 3
    tab.answer(begun, "answer")
    assert told(tab) == {"answer": True}
    assert words(tab.render()) == ["one", "answer", "meanwhile"]


def test_an_answer_that_is_overtaken_as_it_is_recorded_goes_aside(
    tab: Tab, other: Tab, store: Busy
) -> None:
    tab.chat.user("one")
    begun = tab.send(tab.render())
    other.chat.user("two")
    request = other.render()
    store.others = [lambda: other.send(request)]
    tab.answer(begun, "answer")
    assert told(tab) == {"answer": False}


def test_an_answer_is_kept_aside_rather_than_lost_where_others_are_always_quicker(
    tab: Tab, other: Tab, store: Busy
) -> None:
    tab.chat.user("one")
    begun = tab.send(tab.render())

    def interfere() -> None:
        other.chat.annotate({"a": "remark"})
        store.others.append(interfere)

    store.others = [interfere]
    tab.answer(begun, "answer")
    store.others = []
    assert told(tab) == {"answer": False}


def test_a_superseded_call_awaits_no_result(tab: Tab) -> None:
    tab.chat.user("one")
    first = tab.send(tab.render())
    tab.chat.user("two")
    tab.send(tab.render())
    tab.answer(first, tool_use("toolu_1"))
    assert tab.chat.open_calls() == []
    assert any(isinstance(e.event(), events.ToolCallRecorded) for e in tab.chat.events(after=0))


def test_two_holders_that_ask_at_once_get_one_answer_into_the_history(tab: Tab, other: Tab) -> None:
    tab.chat.user("one")
    barrier = threading.Barrier(2, timeout=PATIENCE)

    def go(holder: Tab, said: str) -> None:
        request = holder.render()
        barrier.wait()
        begun = holder.send(request)
        barrier.wait()
        holder.answer(begun, said)

    threads = [
        threading.Thread(target=go, args=held) for held in ((tab, "mine"), (other, "theirs"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    assert sorted(told(tab).values()) == [False, True]
    assert len(words(tab.render())) == 2


def test_an_answer_that_was_overtaken_while_the_store_was_away_is_taken_in_aside(
    tab: Tab, store: Busy, tmp_path: Path
) -> None:
    tab.chat.user("one")
    first = tab.send(tab.render())
    store.others = [unreachable]
    tab.answer(first, "first answer")
    other = Tab(store, tmp_path / "another machine")
    other.chat.user("two")
    other.answer(other.send(other.render()), "second answer")
    with pytest.warns(RecordingWarning):
        tab.recorder.spool.take_in(store)
    assert told(tab) == {"first answer": False, "second answer": True}


def test_an_answer_is_history_though_the_store_was_away_when_it_came(
    tab: Tab, store: Busy, tmp_path: Path
) -> None:
    tab.chat.user("one")
    first = tab.send(tab.render())
    store.others = [unreachable]
    tab.answer(first, "answer")
    other = Tab(store, tmp_path / "another machine")
    other.chat.user("two")
    with pytest.warns(RecordingWarning):
        tab.recorder.spool.take_in(store)
    assert words(tab.render()) == ["one", "answer", "two"]


def unreachable() -> None:
    raise StorageError("the store is away")
