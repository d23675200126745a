"""What is handed over at once: documents in it, what comes twice or late, and what is no entry."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import onrecord
from onrecord.adapters.conversation import ingest
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.streams.results import record_result
from onrecord.domain import events
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Document, Text, ToolCall
from onrecord.domain.conversation import CANCELLED
from tests.adapters.recording.handed_over import (
    PDF,
    bell,
    last_turn,
    result,
    result_of,
    types,
    with_open_calls,
)


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("process/4711")


@pytest.fixture
def round_of_two(chat: onrecord.Conversation) -> onrecord.Conversation:
    return with_open_calls(chat)


# Documents.


def test_documents_of_two_calls_are_found_in_each(round_of_two: onrecord.Conversation) -> None:
    given = [
        result("a", {"files": [PDF]}),
        result("b", [{"deep": [b"%PDF-1.7 another"]}]),
    ]
    assert round_of_two.ingest(given) == "ready"
    found = [
        event
        for recorded in round_of_two.events(after=0)
        if isinstance(event := recorded.event(), events.DocumentExtracted)
    ]
    assert [(event.call_id, event.tool_name, event.path) for event in found] == [
        ("a", "tool_a", "/files/0"),
        ("b", "tool_b", "/0/deep/0"),
    ]


def test_documents_of_results_go_before_signals_and_theirs_behind_them(
    round_of_two: onrecord.Conversation,
) -> None:
    """As sent: results, their documents; then the signal's text, preamble, tag, document."""
    round_of_two.ingest(
        [result("a", {"file": PDF}), bell({"picture": b"\x89PNG\r\n\x1a\n"}), result("b")]
    )
    messages = round_of_two.request("openai-chat", model="gpt-4.1")["messages"]
    shape = [message["role"] for message in messages]
    assert shape[:4] == ["user", "assistant", "tool", "tool"]
    assert set(shape[4:]) == {"user"}
    sent = str(messages[4:])
    assert sent.index("tool-call-id") < sent.index("picture")
    assert sent.index("picture") < sent.rindex("document-short-id")


def test_what_is_found_is_logged_without_its_names(
    round_of_two: onrecord.Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "onrecord"):
        round_of_two.ingest([result("a", {"private": PDF}), result("b")])
    [line] = [record.getMessage() for record in caplog.records]
    assert "1 of application/pdf" in line
    assert "private" not in line


def test_a_document_of_a_signal_is_its_own(chat: onrecord.Conversation) -> None:
    chat.ingest([bell({"report": PDF})])
    event = chat.events(after=1)[0].event()
    assert isinstance(event, events.SignalReceived)
    assert [type(part) for part in event.content] == [Text, Document]


# What comes twice, late, or for nobody.


def test_results_of_no_call_are_recorded_and_leave_the_round_open(
    round_of_two: onrecord.Conversation,
) -> None:
    assert round_of_two.ingest([result("a"), result("stranger")]) == "deferred"
    assert result_of(round_of_two, "stranger")
    assert round_of_two.ingest([result("b")]) == "ready"
    assert last_turn(round_of_two)[:2] == ["a: a gave", "b: b gave"]


def test_the_same_results_again_change_nothing(round_of_two: onrecord.Conversation) -> None:
    given = [result("a"), result("b"), bell(message_id="s1")]
    round_of_two.ingest(given)
    version = round_of_two.head().version
    assert round_of_two.ingest(given) == "ready"
    assert round_of_two.head().version == version


def test_a_result_that_comes_twice_at_once_counts_once(round_of_two: onrecord.Conversation) -> None:
    """Where Camunda raises: the other one is kept beside the history."""
    version = round_of_two.head().version
    given = [result("a"), result("a"), result("a", "other"), result("b")]
    assert round_of_two.ingest(given) == "ready"
    assert types(round_of_two, version) == [
        "tool_result.recorded",
        "tool_result.recorded",
        "tool_result.rejected",
    ]
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave"]


def test_a_result_that_comes_after_its_call_was_given_up_is_kept_and_rejected(
    round_of_two: onrecord.Conversation,
) -> None:
    round_of_two.ingest([bell()], behaviour="interrupt")
    version = round_of_two.head().version
    round_of_two.ingest([result("a")])
    [recorded] = round_of_two.events(after=version)
    event = recorded.event()
    assert isinstance(event, events.ToolResultRejected)
    assert event.reason == "cancelled"
    assert last_turn(round_of_two)[0] == f"a: {CANCELLED}"


def test_an_id_that_an_earlier_round_used_is_answered_again(
    round_of_two: onrecord.Conversation,
) -> None:
    round_of_two.ingest([result("a"), result("b")])
    call = ToolCall(id="a", name="tool_a", arguments={})
    round_of_two.log.append(events.ToolCallRecorded(call_id="a", name="tool_a", content=call))
    assert round_of_two.ingest([result("a")]) == "ready"
    assert last_turn(round_of_two) == ["a: a gave"]


# What is no entry.


def test_any_object_with_the_members_of_an_entry_is_one(
    round_of_two: onrecord.Conversation,
) -> None:
    given = SimpleNamespace(id="a", name="tool_a", content="seen", properties={})
    cancelled = SimpleNamespace(
        id="b", name="tool_b", content=None, properties={"interrupted": True}
    )
    assert round_of_two.ingest([given, cancelled]) == "ready"
    assert last_turn(round_of_two) == ["a: seen", f"b: {CANCELLED}"]


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ("text", "inputs are a list"),
        ({"id": "a"}, "inputs are a list"),
        ([4], "entry 0 of the inputs is a mapping"),
        ([{"id": 4}], "the id of entry 0"),
        ([bell(), {"id": ""}], "the id of entry 1 of the inputs is empty.* id of its call"),
        ([{"id": None, "name": 4}], "the name of entry 0"),
        ([bell(), bell(), {"id": "a", "content": {1}}], "content of entry 2 .* set.*no JSON"),
        ([bell(), bell({"x": {1}})], "content of entry 1 of the inputs: .* at /x .*no JSON"),
    ],
)
def test_what_is_no_entry_is_refused_and_nothing_recorded(
    round_of_two: onrecord.Conversation, inputs: Any, why: str
) -> None:
    version = round_of_two.head().version
    with pytest.raises(onrecord.InvalidContent, match=why):
        round_of_two.ingest(inputs)
    assert round_of_two.head().version == version


@pytest.mark.parametrize("bad", [result("", "x"), result("b", object()), 4])
def test_nothing_is_stored_of_entries_of_which_one_is_none(
    round_of_two: onrecord.Conversation, bad: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(chunks: object) -> object:
        raise AssertionError("stored")

    monkeypatch.setattr(stream_of(round_of_two), "put", put)
    with pytest.raises(onrecord.InvalidContent):
        round_of_two.ingest([result("a", {"file": PDF}), bell([PDF]), bad])


def test_another_behaviour_is_refused(round_of_two: onrecord.Conversation) -> None:
    with pytest.raises(onrecord.InvalidContent, match='"wait" or "interrupt"'):
        round_of_two.ingest([bell()], behaviour="stop")  # type: ignore[arg-type]  # the test


def test_results_of_an_engine_say_more_than_is_recorded(
    round_of_two: onrecord.Conversation,
) -> None:
    more = {"completedAt": "2026-07-02T11:55:00+02:00[Europe/Berlin]", "elementId": "Tool_A"}
    round_of_two.ingest([result("a", **more), result("b", properties=more)])
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave"]


def test_a_signal_that_comes_twice_at_once_is_recorded_once(
    round_of_two: onrecord.Conversation,
) -> None:
    said = bell("rings", message_id="s1")
    assert round_of_two.ingest([said, bell("rings"), said], behaviour="interrupt") == "ready"
    assert types(round_of_two, 0).count("signal.received") == 2


def test_a_prompt_and_a_signal_of_one_message_id_are_refused(chat: onrecord.Conversation) -> None:
    given = [bell(message_id="s1"), bell(message_id="m1")]
    with pytest.raises(onrecord.InvalidContent, match="the prompt and entry 1 of the inputs have"):
        chat.ingest(given, prompt="Look", message_id="m1")
    assert chat.head().version == 0
    chat.ingest(given)
    with pytest.raises(onrecord.IdempotencyMismatch, match="of a message or signal with other"):
        chat.user("Look", message_id="m1")


@pytest.mark.parametrize("given", [[bell({"see": PDF})], [result("a", {"see": PDF})], []])
def test_a_closed_conversation_takes_nothing_and_stores_nothing(
    round_of_two: onrecord.Conversation, given: list[dict[str, Any]]
) -> None:
    round_of_two.end()
    with pytest.raises(onrecord.ConversationClosed):
        round_of_two.ingest(given)
    assert not stream_of(round_of_two).holds(blob_of(PDF))


def test_a_sweep_amid_a_hand_over_makes_nothing_of_it_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes after the commit, and takes the document of a result that no call awaits."""
    url = f"sqlite:///{tmp_path / 'swept.db'}"
    sweeps: list[int] = []

    def swept_before(*result: Any) -> Any:
        if not sweeps:
            with onrecord.connect(url) as other:
                sweeps.append(other.sweep(older_than=timedelta(0)).documents)
        return record_result(*result)

    monkeypatch.setattr(ingest, "record_result", swept_before)
    with onrecord.connect(url) as store:
        chat = store.conversation("process/4713")
        chat.user("Hello")
        version = chat.head().version
        stray = {"id": "late", "content": {"file": b"%PDF-1.7 a report"}}
        assert chat.ingest([stray, bell()], prompt="And?") == "ready"
        assert sweeps == [1]
        assert types(chat, version) == [
            "message.recorded",
            "signal.received",
            "tool_result.recorded",
            "document.extracted",
        ]
