"""`conversation.diff`: what changed between the requests of two versions, by events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import onrecord
from onrecord import Conversation, RequestDiff, Store, Window
from onrecord.adapters.conversation import history_queries
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.rendering import request_from
from onrecord.domain.events import ReasoningRecorded
from tests.factories import native_answer, tool_call, tool_result

API = "anthropic-messages"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        yield store


@pytest.fixture
def chat(store: Store) -> Conversation:
    """Given: a prompt (version 2), its answer (3 and 4), a prompt (5), its answer (6 and 7)."""
    chat = store.conversation("support/4711")
    for prompt in ("Where is my parcel?", "When does it come?"):
        chat.user(prompt)
        said(chat, f"An answer to: {prompt}")
    return chat


def said(chat: Conversation, text: str) -> None:
    response = uuid4()
    closing = onrecord.ResponseCompleted(response=response, api=API, envelope={})
    chat.log.append(native_answer(response, text), closing)


def changes(diff: RequestDiff) -> list[tuple[str, int, str | None]]:
    return [(it.change, it.event.version, it.reason) for it in diff.events]


def test_nothing_changed_between_a_version_and_itself(chat: Conversation) -> None:
    diff = chat.diff(4, 4, api=API)
    assert diff == RequestDiff(API, 4, 4)
    assert diff.is_empty


def test_what_was_recorded_since_came_in(chat: Conversation) -> None:
    diff = chat.diff(2, 5, api=API)
    assert changes(diff) == [("added", 3, "not recorded yet"), ("added", 5, "not recorded yet")]
    assert [it.event.type for it in diff.added] == ["message.recorded"] * 2
    back = chat.diff(5, 2, api=API)
    assert changes(back) == [("removed", 3, "not recorded yet"), ("removed", 5, "not recorded yet")]


def test_a_compaction_takes_out_what_its_summary_stands_for(chat: Conversation) -> None:
    before = chat.head().version
    done = chat.compact("The parcel is late.", until=4)
    diff = chat.diff(before, done.last, api=API)
    assert changes(diff) == [
        ("removed", 2, "compaction"),
        ("removed", 3, "compaction"),
        ("added", done.last, "not recorded yet"),
    ]


def test_a_later_compaction_takes_out_the_one_before(chat: Conversation) -> None:
    first = chat.compact("The parcel is late.", until=4).last
    second = chat.compact("It comes on Friday.").last
    diff = chat.diff(first, second, api=API)
    assert ("removed", first, "compaction") in changes(diff)
    assert ("added", second, "not recorded yet") in changes(diff)


def test_a_redaction_takes_out_its_event_alone(chat: Conversation) -> None:
    before = chat.head().version
    done = chat.redact(3, "a name stands in it")
    diff = chat.diff(before, done.last, api=API)
    assert [it for it in changes(diff) if it[0] == "removed"] == [("removed", 3, "redaction")]
    assert diff.added == ()


def test_a_window_that_moved_takes_out_the_oldest_exchange(chat: Conversation) -> None:
    window = Window(exchanges=1, step=1)
    chat.user("Thanks.")
    diff = chat.diff(5, 8, api=API, window=window)
    assert changes(diff) == [
        ("removed", 2, "window"),
        ("removed", 3, "window"),
        ("added", 6, "not recorded yet"),
        ("added", 8, "not recorded yet"),
    ]
    assert [it.reason for it in chat.diff(8, 5, api=API, window=window).added] == ["window"] * 2


def test_an_edit_takes_out_what_it_replaces_and_what_followed(chat: Conversation) -> None:
    before = chat.head().version
    chat.edit_message(5, "Can it come on Saturday?")
    diff = chat.diff(before, chat.head().version, api=API)
    assert [it for it in changes(diff) if it[0] == "removed"] == [
        ("removed", 5, "given up"),
        ("removed", 6, "given up"),
    ]
    assert [it.reason for it in diff.added] == ["not recorded yet"]


def test_new_tools_and_instructions_are_told_beside_the_events(chat: Conversation) -> None:
    chat.instruct("Be brief.")
    chat.tools.declare([declared("track"), declared("price")])
    before = chat.head().version
    chat.instruct("Be kind.")
    chat.tools.declare([declared("track", "Find a parcel."), declared("claim")])
    diff = chat.diff(before, chat.head().version, api=API)
    assert diff.events == ()
    assert diff.instructions == onrecord.InstructionsChange("Be brief.", "Be kind.")
    assert diff.tools == onrecord.ToolsChange(("claim",), ("price",), ("track",))
    assert not diff.is_empty


def declared(name: str, description: str = "A tool.") -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    return {"name": name, "description": description, "input_schema": schema}


def test_a_call_whose_result_came_changed_its_form(chat: Conversation) -> None:
    chat.user("Look.")
    chat.log.append(tool_call("c1", "track"))
    before = chat.head().version
    chat.log.append(tool_result("c1", "It is in depot North."))
    diff = chat.diff(before, chat.head().version, api=API)
    assert [it.event.type for it in diff.added] == ["tool_result.recorded"]
    (call,) = diff.changed
    assert (call.event.type, call.reason) == ("tool_call.recorded", None)
    assert [note.rule for note in call.before] != [note.rule for note in call.after]


def test_a_fork_tells_what_of_its_origin_went(chat: Conversation) -> None:
    fork = chat.fork("support/4711/other", at=7)
    fork.user("Go on.")
    before = fork.head().version
    fork.compact("All was said.", until=1)
    diff = fork.diff(before, fork.head().version, api=API)
    gone = {(it.event.conversation_id, it.event.version) for it in diff.removed}
    assert gone == {(chat.conversation_id, version) for version in (2, 3, 5, 6)}
    assert {it.reason for it in diff.removed} == {"compaction"}


@pytest.mark.parametrize("version", [0, -1, 99, True, "2"])
def test_what_is_no_version_is_refused(chat: Conversation, version: Any) -> None:
    with pytest.raises(onrecord.InvalidInput):
        chat.diff(version, 2, api=API)
    with pytest.raises(onrecord.InvalidInput):
        chat.diff(2, version, api=API)


def test_a_version_without_a_turn_has_no_request(chat: Conversation) -> None:
    with pytest.raises(onrecord.NothingToSend):
        chat.diff(1, 2, api=API)


def test_a_diff_of_windows_reads_no_more_of_a_longer_conversation(
    chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    backend = stream_of(chat).backend
    log_read = backend.read

    def counted(*args: Any, **options: Any) -> Iterator[Any]:
        for event in log_read(*args, **options):
            read.append(event.version)
            yield event

    def events_read() -> int:
        read.clear()
        last = chat.head().version
        chat.diff(last - 3, last, api=API, window=Window(exchanges=1, step=1))
        return len(read)

    def go_on() -> None:
        for number in range(30):
            chat.user(f"And now? {number}")
            said(chat, f"Not yet. {number}")

    monkeypatch.setattr(backend, "read", counted)
    go_on()
    before = events_read()
    go_on()
    assert 0 < events_read() <= before


def test_an_event_of_a_fork_is_told_no_notes_of_its_origin(chat: Conversation) -> None:
    chat.log.append(tool_call("call:1", "track"))
    fork = chat.fork("support/4711/otherwise")
    while fork.head().version < chat.head().version:
        fork.user("Otherwise.")
    version = chat.head().version
    diff = fork.diff(version - 1, version, api=API)
    (added,) = diff.added
    assert added.event.conversation_id == fork.conversation_id
    assert [note.why for note in added.after if "call" in note.why] == []


def test_what_one_api_leaves_out_is_in_no_request_of_it(chat: Conversation) -> None:
    before = chat.head().version
    response = uuid4()
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    content = onrecord.Native(api=API, value=thought)
    chat.log.append(
        ReasoningRecorded(response=response, index=0, content=content),
        onrecord.ResponseCompleted(response=response, api=API, envelope={}),
    )
    assert changes(chat.diff(before, chat.head().version, api="openai-chat")) == []


def thought(text: str) -> ReasoningRecorded:
    value = {"type": "thinking", "thinking": text, "signature": "c2lnbmVk"}
    content = onrecord.Native(api=API, value=value)
    return ReasoningRecorded(response=uuid4(), index=0, content=content)


def test_an_event_of_which_words_go_is_in_the_request(chat: Conversation) -> None:
    before = chat.head().version
    chat.user(b"%PDF-1.7 a report")
    said(chat, "I cannot read it.")
    diff = chat.diff(before, chat.head().version, api="ollama")
    assert before + 1 in [it.event.version for it in diff.added]


def test_a_note_on_an_event_of_the_origin_takes_nothing_from_a_fork(store: Store) -> None:
    chat = store.conversation("support/4712")
    chat.user("Where is it?")
    chat.log.append(thought("Hm."))
    fork = chat.fork("support/4712/otherwise")
    version = fork.head().version
    while fork.head().version < 4:
        fork.user(f"And now? {fork.head().version}")
    diff = fork.diff(version, fork.head().version, api="openai-chat")
    own = [it.event.version for it in diff.added]
    assert own == [*range(version + 1, fork.head().version + 1)]


def test_what_is_left_out_of_many_is_told_from_what_goes(chat: Conversation) -> None:
    before = chat.head().version
    versions: list[int] = []
    for number in range(8):
        chat.log.append(thought(f"Hm {number}."))
        versions.append(chat.user(b"%PDF-1.7 a report").last)
        said(chat, "I cannot read it.")
        versions.append(chat.head().version - 1)
    diff = chat.diff(before, chat.head().version, api="ollama")
    assert [it.event.version for it in diff.added] == versions


def test_a_diff_makes_no_more_requests_for_documents_that_go_in_words(
    chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted(*args: Any) -> Any:
        made.append(1)
        return request_from(*args)

    monkeypatch.setattr(history_queries, "request_from", counted)
    before = chat.head().version
    for _ in range(8):
        chat.user(b"%PDF-1.7 a report")
        said(chat, "I cannot read it.")
    chat.diff(before, chat.head().version, api="ollama")
    assert len(made) == 2
