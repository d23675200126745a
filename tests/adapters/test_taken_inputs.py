"""Results and signals handed over at once: what is recorded, and what the model is asked next.

The cases are those of Camunda's composer of turn inputs, whose rules these are.
"""

from __future__ import annotations

import logging
from itertools import permutations
from types import SimpleNamespace
from typing import Any, Literal

import pytest

import hansard
from hansard.domain import events
from hansard.domain.content import Document, Text, ToolCall
from hansard.domain.conversation import CANCELLED
from hansard.projections.turn_input import NextInput, next_input
from tests.projections.happenings import words
from tests.projections.test_signals import INTERRUPTED, WAITED

Behaviour = Literal["wait", "interrupt"]
BOTH: list[Behaviour] = ["wait", "interrupt"]
PDF = b"%PDF-1.7 a report"


@pytest.fixture
def store() -> hansard.Store:
    return hansard.connect("memory://")


@pytest.fixture
def talk(store: hansard.Store) -> hansard.Talk:
    return store.conversation("process/4711")


@pytest.fixture
def round_of_two(talk: hansard.Talk) -> hansard.Talk:
    """A conversation whose last message is an assistant's that calls two tools."""
    talk.user("Look")
    for call_id in ("a", "b"):
        call = ToolCall(id=call_id, name=f"tool_{call_id}", arguments={})
        talk.append(events.ToolCallRecorded(call_id=call_id, name=call.name, content=call))
    return talk


def answered(talk: hansard.Talk) -> hansard.Talk:
    talk.user("Hello")
    talk.append(events.MessageRecorded(role="assistant", content=(Text(text="Hi."),)))
    return talk


def result(call_id: str, content: Any = None, **more: Any) -> dict[str, Any]:
    given = f"{call_id} gave" if content is None else content
    return {"id": call_id, "name": f"tool_{call_id}", "content": given, **more}


def bell(content: Any = "a bell rang", **more: Any) -> dict[str, Any]:
    return {"id": None, "name": "bell", "content": content, **more}


def last_turn(talk: hansard.Talk) -> list[str]:
    return [words(block) for block in talk.turns()[-1].blocks]


def types(talk: hansard.Talk, since: int) -> list[str]:
    return [recorded.type for recorded in talk.since(since)]


# Nothing was said before.


def test_results_on_an_empty_conversation_are_an_error_with_its_code(talk: hansard.Talk) -> None:
    with pytest.raises(hansard.ResultsWithoutConversation) as caught:
        talk.take([bell(), result("a")])
    assert caught.value.code == "TOOL_CALL_RESULTS_ON_EMPTY_CONTEXT"
    assert str(caught.value) == (
        "Agent received tool call results, but the agent context was empty (no previous "
        "conversation). Is the context configured correctly?"
    )
    assert talk.head().version == 0


def test_signals_may_begin_a_conversation(talk: hansard.Talk) -> None:
    assert talk.take([bell()]) == "ready"
    assert last_turn(talk) == ["a bell rang"]


def test_nothing_at_all_is_no_input(talk: hansard.Talk) -> None:
    assert talk.take([]) == "nothing"
    assert talk.head().version == 0


# No call is open: a prompt, and what stands beside it.


def test_a_prompt_after_nothing_goes_alone(talk: hansard.Talk) -> None:
    talk.user("Hello")
    assert talk.take([]) == "ready"
    assert last_turn(talk) == ["Hello"]


def test_a_prompt_after_the_instructions_goes_alone(talk: hansard.Talk) -> None:
    talk.instruct("Be kind.")
    talk.user("Hello")
    assert talk.take([]) == "ready"


def test_a_prompt_after_an_answer_goes(talk: hansard.Talk) -> None:
    answered(talk).user("And?")
    assert talk.take([]) == "ready"
    assert last_turn(talk) == ["And?"]


def test_an_answer_alone_is_no_input(talk: hansard.Talk) -> None:
    assert answered(talk).take([]) == "nothing"


@pytest.mark.parametrize("before", ["prompt", "answer"])
def test_stray_results_beside_a_prompt_are_recorded_and_are_no_results_of_a_round(
    talk: hansard.Talk, before: str
) -> None:
    """Where Camunda drops them silently: they are told as the words they are."""
    talk.user("Hello") if before == "prompt" else answered(talk)
    version = talk.head().version
    assert talk.take([result("a"), result("b")]) == "ready"
    assert types(talk, version) == ["tool_result.recorded", "tool_result.recorded"]
    assert {block.mark for block in talk.turns()[-1].blocks} <= {"", "late"}


def test_documents_alone_are_a_prompt(talk: hansard.Talk) -> None:
    talk.user(documents=[PDF])
    assert talk.take([]) == "ready"


def test_a_prompt_and_its_documents_go_as_one(talk: hansard.Talk) -> None:
    talk.user("Read", documents=[PDF])
    talk.take([])
    assert len(talk.turns()[-1].blocks) == 2


@pytest.mark.parametrize("said", ["", " ", "\n"])
def test_a_blank_prompt_is_none(talk: hansard.Talk, said: str) -> None:
    with pytest.raises(hansard.InvalidContent, match="blank"):
        talk.user(said)
    assert talk.take([]) == "nothing"


def test_signals_stand_behind_the_prompt_in_their_order(talk: hansard.Talk) -> None:
    talk.user("Hello")
    assert talk.take([bell("one"), bell({"two": 2})]) == "ready"
    assert last_turn(talk) == ["Hello", "one", '{"two":2}']


@pytest.mark.parametrize("content", [None, "", " ", [], {}])
def test_a_signal_without_content_says_that_the_calls_were_waited_for(
    talk: hansard.Talk, content: object
) -> None:
    talk.user("Hello")
    talk.take([bell(content)])
    assert last_turn(talk) == ["Hello", WAITED]


@pytest.mark.parametrize("content", [None, "", " ", [], {}])
def test_a_signal_without_content_says_that_calls_were_cancelled_where_it_interrupts(
    round_of_two: hansard.Talk, content: object
) -> None:
    round_of_two.take([bell(content)], behaviour="interrupt")
    assert last_turn(round_of_two)[-1] == INTERRUPTED


# Calls are open.


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_all_results_stand_in_the_order_of_the_calls(
    round_of_two: hansard.Talk, order: tuple[str, ...]
) -> None:
    assert round_of_two.take([result(call_id) for call_id in order]) == "ready"
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave"]


@pytest.mark.parametrize("behaviour", BOTH)
@pytest.mark.parametrize("given", [[], ["b"]])
def test_nothing_goes_while_results_are_missing(
    round_of_two: hansard.Talk, behaviour: Behaviour, given: list[str]
) -> None:
    """An interruption without a signal still waits."""
    taken = round_of_two.take([result(call_id) for call_id in given], behaviour=behaviour)
    assert taken == "deferred"
    with pytest.raises(hansard.RoundOpen):
        round_of_two.request("openai-chat", missing="refuse")


@pytest.mark.parametrize("behaviour", [*BOTH, None])
@pytest.mark.parametrize("order", list(permutations("abs")))
def test_signals_stand_behind_all_results_however_they_are_mixed(
    round_of_two: hansard.Talk, order: tuple[str, ...], behaviour: Behaviour | None
) -> None:
    inputs = [bell() if each == "s" else result(each) for each in order]
    version = round_of_two.head().version
    how: dict[str, Any] = {} if behaviour is None else {"behaviour": behaviour}
    assert round_of_two.take(inputs, **how) == "ready"
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave", "a bell rang"]
    [signal] = [
        event
        for recorded in round_of_two.since(version)
        if isinstance(event := recorded.event(), events.SignalReceived)
    ]
    assert signal.interrupts is False


def test_a_signal_waits_while_results_are_missing(round_of_two: hansard.Talk) -> None:
    assert round_of_two.take([bell(), result("b")], behaviour="wait") == "deferred"
    assert round_of_two.take([result("a")]) == "ready"
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave", "a bell rang"]


def test_a_signal_that_interrupts_gives_up_what_is_missing_in_the_order_of_the_calls(
    round_of_two: hansard.Talk,
) -> None:
    assert round_of_two.take([bell(), result("b")], behaviour="interrupt") == "ready"
    assert last_turn(round_of_two) == [f"a: {CANCELLED}", "b: b gave", "a bell rang"]


def test_several_signals_interrupt_once(round_of_two: hansard.Talk) -> None:
    round_of_two.take([bell(), bell(None)], behaviour="interrupt")
    assert last_turn(round_of_two) == [
        f"a: {CANCELLED}",
        f"b: {CANCELLED}",
        "a bell rang",
        INTERRUPTED,
    ]


def test_a_round_and_its_signals_are_one_commit(round_of_two: hansard.Talk) -> None:
    version = round_of_two.head().version
    round_of_two.take([result("b"), bell()], behaviour="interrupt")
    recorded = round_of_two.since(version)
    assert [event.type for event in recorded] == [
        "tool_result.recorded",
        "tool_result.recorded",
        "signal.received",
    ]
    assert len({event.recorded_at for event in recorded}) == 1


@pytest.mark.parametrize("flag", ["interrupted", "properties"])
def test_a_result_that_says_it_was_interrupted_is_a_cancelled_one(
    round_of_two: hansard.Talk, flag: str
) -> None:
    said = True if flag == "interrupted" else {"interrupted": True}
    given = result("a", CANCELLED, **{flag: said})
    assert round_of_two.take([given, result("b")]) == "ready"
    event = round_of_two.since(round_of_two.head().version - 2)[0].event()
    assert isinstance(event, events.ToolResultRecorded)
    assert event.cancelled
    assert CANCELLED not in event.model_dump_json()
    assert last_turn(round_of_two) == [f"a: {CANCELLED}", "b: b gave"]


@pytest.mark.parametrize("flag", ["true", 1, "yes", False, None])
def test_only_true_says_that_a_result_was_interrupted(
    round_of_two: hansard.Talk, flag: object
) -> None:
    round_of_two.take([result("a", interrupted=flag), result("b")])
    assert last_turn(round_of_two)[0] == "a: a gave"


def test_what_an_interrupted_call_gave_so_far_is_kept(round_of_two: hansard.Talk) -> None:
    round_of_two.take([result("a", "half of it", interrupted=True), result("b")])
    assert last_turn(round_of_two)[0] == "a: half of it"
    assert talk_result(round_of_two, "a").cancelled


def talk_result(talk: hansard.Talk, call_id: str) -> events.ToolResultRecorded:
    [found] = [
        event
        for recorded in talk.since(0)
        if isinstance(event := recorded.event(), events.ToolResultRecorded)
        and event.call_id == call_id
    ]
    return found


# Documents.


def test_documents_of_two_calls_are_found_in_each(round_of_two: hansard.Talk) -> None:
    given = [
        result("a", {"files": [PDF]}),
        result("b", [{"deep": [b"%PDF-1.7 another"]}]),
    ]
    assert round_of_two.take(given) == "ready"
    found = [
        event
        for recorded in round_of_two.since(0)
        if isinstance(event := recorded.event(), events.DocumentExtracted)
    ]
    assert [(event.call_id, event.tool_name, event.path) for event in found] == [
        ("a", "tool_a", "/files/0"),
        ("b", "tool_b", "/0/deep/0"),
    ]


def test_documents_of_results_go_before_signals_and_theirs_behind_them(
    round_of_two: hansard.Talk,
) -> None:
    """As sent: results, their documents; then the signal's text, preamble, tag, document."""
    round_of_two.take(
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
    round_of_two: hansard.Talk, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "hansard"):
        round_of_two.take([result("a", {"private": PDF}), result("b")])
    [line] = [record.getMessage() for record in caplog.records]
    assert "1 of application/pdf" in line
    assert "private" not in line


# What comes twice, late, or for nobody.


def test_results_of_no_call_are_recorded_and_leave_the_round_open(
    round_of_two: hansard.Talk,
) -> None:
    assert round_of_two.take([result("a"), result("stranger")]) == "deferred"
    assert talk_result(round_of_two, "stranger")
    assert round_of_two.take([result("b")]) == "ready"
    assert last_turn(round_of_two)[:2] == ["a: a gave", "b: b gave"]


def test_the_same_results_again_change_nothing(round_of_two: hansard.Talk) -> None:
    given = [result("a"), result("b"), bell(message_id="s1")]
    round_of_two.take(given)
    version = round_of_two.head().version
    assert round_of_two.take(given) == "ready"
    assert round_of_two.head().version == version


def test_a_result_that_comes_twice_at_once_counts_once(round_of_two: hansard.Talk) -> None:
    """Where Camunda raises: the other one is kept beside the history."""
    version = round_of_two.head().version
    given = [result("a"), result("a"), result("a", "other"), result("b")]
    assert round_of_two.take(given) == "ready"
    assert types(round_of_two, version) == [
        "tool_result.recorded",
        "tool_result.recorded",
        "tool_result.rejected",
    ]
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave"]


def test_a_result_that_comes_after_its_call_was_given_up_is_kept_and_rejected(
    round_of_two: hansard.Talk,
) -> None:
    round_of_two.take([bell()], behaviour="interrupt")
    version = round_of_two.head().version
    round_of_two.take([result("a")])
    [recorded] = round_of_two.since(version)
    event = recorded.event()
    assert isinstance(event, events.ToolResultRejected)
    assert event.reason == "cancelled"
    assert last_turn(round_of_two)[0] == f"a: {CANCELLED}"


def test_an_id_that_an_earlier_round_used_is_answered_again(round_of_two: hansard.Talk) -> None:
    round_of_two.take([result("a"), result("b")])
    call = ToolCall(id="a", name="tool_a", arguments={})
    round_of_two.append(events.ToolCallRecorded(call_id="a", name="tool_a", content=call))
    assert round_of_two.take([result("a")]) == "ready"
    assert last_turn(round_of_two) == ["a: a gave"]


# What is no entry.


def test_any_object_with_the_members_of_an_entry_is_one(round_of_two: hansard.Talk) -> None:
    given = SimpleNamespace(id="a", name="tool_a", content="seen", properties={})
    cancelled = SimpleNamespace(
        id="b", name="tool_b", content=None, properties={"interrupted": True}
    )
    assert round_of_two.take([given, cancelled]) == "ready"
    assert last_turn(round_of_two) == ["a: seen", f"b: {CANCELLED}"]


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ("text", "inputs are a list"),
        ({"id": "a"}, "inputs are a list"),
        ([4], "entry 0 of the inputs is a mapping"),
        ([{"id": 4}], "the id of entry 0"),
        ([{"id": ""}], "id of its call"),
        ([{"id": None, "name": 4}], "the name of entry 0"),
        ([{"id": "a", "content": object()}], "a tool's result|no JSON"),
    ],
)
def test_what_is_no_entry_is_refused_and_nothing_recorded(
    round_of_two: hansard.Talk, inputs: Any, why: str
) -> None:
    version = round_of_two.head().version
    with pytest.raises(hansard.InvalidContent, match=why):
        round_of_two.take(inputs)
    assert round_of_two.head().version == version


@pytest.mark.parametrize("bad", [result("", "x"), result("b", object()), 4])
def test_nothing_is_stored_of_entries_of_which_one_is_none(
    round_of_two: hansard.Talk, bad: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(chunks: object) -> object:
        raise AssertionError("stored")

    monkeypatch.setattr(round_of_two.stream, "put", put)
    with pytest.raises(hansard.InvalidContent):
        round_of_two.take([result("a", {"file": PDF}), bell([PDF]), bad])


def test_another_behaviour_is_refused(round_of_two: hansard.Talk) -> None:
    with pytest.raises(hansard.InvalidContent, match='"wait" or "interrupt"'):
        round_of_two.take([bell()], behaviour="stop")  # type: ignore[arg-type]  # the test


def test_results_of_an_engine_say_more_than_is_recorded(round_of_two: hansard.Talk) -> None:
    more = {"completedAt": "2026-07-02T11:55:00+02:00[Europe/Berlin]", "elementId": "Tool_A"}
    round_of_two.take([result("a", **more), result("b", properties=more)])
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave"]


# The rule itself.


@pytest.mark.parametrize(
    ("awaited", "unanswered", "wanted"),
    [(1, True, "deferred"), (2, False, "deferred"), (0, True, "ready"), (0, False, "nothing")],
)
def test_calls_that_are_awaited_come_before_all_else(
    awaited: int, unanswered: bool, wanted: NextInput
) -> None:
    assert next_input(awaited=awaited, unanswered=unanswered) == wanted


def test_a_document_of_a_signal_is_its_own(talk: hansard.Talk) -> None:
    talk.take([bell({"report": PDF})])
    event = talk.since(1)[0].event()
    assert isinstance(event, events.SignalReceived)
    assert [type(part) for part in event.content] == [Text, Document]
