"""Results and signals handed over at once: what is recorded, and what the model is asked next.

The cases are those of Camunda's composer of turn inputs, whose rules these are.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, Literal

import pytest

import onrecord
from onrecord.domain import events
from onrecord.domain.content import Document, Text
from onrecord.domain.conversation import CANCELLED
from onrecord.projections.history.history import NextInput, next_input
from tests.adapters.recording.handed_over import (
    PDF,
    bell,
    last_turn,
    result,
    result_of,
    types,
    with_open_calls,
)
from tests.projections.history.test_signals import INTERRUPTED, WAITED

Behaviour = Literal["wait", "interrupt"]
BOTH: list[Behaviour] = ["wait", "interrupt"]


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("process/4711")


@pytest.fixture
def round_of_two(chat: onrecord.Conversation) -> onrecord.Conversation:
    return with_open_calls(chat)


def answered(chat: onrecord.Conversation) -> onrecord.Conversation:
    chat.user("Hello")
    chat.log.append(events.MessageRecorded(role="assistant", content=(Text(text="Hi."),)))
    return chat


# Nothing was said before.


def test_results_on_an_empty_conversation_are_an_error_with_its_code(
    chat: onrecord.Conversation,
) -> None:
    with pytest.raises(onrecord.ResultsWithoutConversation) as caught:
        chat.ingest([bell(), result("a")])
    assert caught.value.code == "TOOL_CALL_RESULTS_ON_EMPTY_CONTEXT"
    assert str(caught.value) == (
        "Agent received tool call results, but the agent context was empty (no previous "
        "conversation). Is the context configured correctly?"
    )
    assert chat.head().version == 0


def test_results_where_only_tools_and_instructions_are_in_force_are_that_error(
    chat: onrecord.Conversation,
) -> None:
    chat.instruct("Be brief.")
    chat.tools.declare([{"name": "look", "input_schema": {"type": "object"}}])
    version = chat.head().version
    with pytest.raises(onrecord.ResultsWithoutConversation):
        chat.ingest([bell(), result("a")])
    assert chat.head().version == version


def test_a_fork_of_what_was_said_takes_results(chat: onrecord.Conversation) -> None:
    fork = answered(chat).fork("process/4711/again")
    assert fork.ingest([result("a")]) == "ready"


def test_signals_may_begin_a_conversation(chat: onrecord.Conversation) -> None:
    assert chat.ingest([bell()]) == "ready"
    assert last_turn(chat) == ["a bell rang"]


def test_nothing_at_all_is_no_input(chat: onrecord.Conversation) -> None:
    assert chat.ingest([]) == "nothing"
    assert chat.head().version == 0


# No call is open: a prompt, and what stands beside it.


def test_a_prompt_after_nothing_goes_alone(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    assert chat.ingest([]) == "ready"
    assert last_turn(chat) == ["Hello"]


def test_a_prompt_after_the_instructions_goes_alone(chat: onrecord.Conversation) -> None:
    chat.instruct("Be kind.")
    chat.user("Hello")
    assert chat.ingest([]) == "ready"


def test_a_prompt_after_an_answer_goes(chat: onrecord.Conversation) -> None:
    answered(chat).user("And?")
    assert chat.ingest([]) == "ready"
    assert last_turn(chat) == ["And?"]


def test_an_answer_alone_is_no_input(chat: onrecord.Conversation) -> None:
    assert answered(chat).ingest([]) == "nothing"


@pytest.mark.parametrize("before", ["prompt", "answer"])
def test_stray_results_beside_a_prompt_are_recorded_and_are_no_results_of_a_round(
    chat: onrecord.Conversation, before: str
) -> None:
    """Where Camunda drops them silently: they are told as the words they are."""
    chat.user("Hello") if before == "prompt" else answered(chat)
    version = chat.head().version
    assert chat.ingest([result("a"), result("b")]) == "ready"
    assert types(chat, version) == ["tool_result.recorded", "tool_result.recorded"]
    assert {block.mark for block in chat.history()[-1].blocks} <= {"", "late"}


def test_documents_alone_are_a_prompt(chat: onrecord.Conversation) -> None:
    chat.user(documents=[PDF])
    assert chat.ingest([]) == "ready"


def test_a_prompt_and_its_documents_go_as_one(chat: onrecord.Conversation) -> None:
    chat.user("Read", documents=[PDF])
    chat.ingest([])
    assert [type(block.content) for block in chat.history()[-1].blocks] == [Text, Document]


@pytest.mark.parametrize("said", [None, "", " ", "\n", [], ["", " "], Text(text=" ")])
def test_a_blank_prompt_of_an_engine_is_none(chat: onrecord.Conversation, said: Any) -> None:
    assert chat.ingest([], prompt=said) == "nothing"
    assert chat.head().version == 0
    assert chat.ingest([bell()], prompt=said) == "ready"
    assert last_turn(chat) == ["a bell rang"]


def test_a_blank_prompt_that_a_program_gives_is_refused(chat: onrecord.Conversation) -> None:
    with pytest.raises(onrecord.InvalidContent, match="blank"):
        chat.user(" ")
    assert chat.ingest([]) == "nothing"


def test_a_prompt_stands_before_its_documents_and_the_signals_in_one_commit(
    chat: onrecord.Conversation,
) -> None:
    assert chat.ingest([bell()], prompt="Read", documents=[PDF]) == "ready"
    assert types(chat, 1) == ["message.recorded", "signal.received"]
    said = list(chat.events())[1]
    event = said.event()
    assert isinstance(event, events.MessageRecorded)
    assert [type(block) for block in event.content] == [Text, Document]


def test_texts_of_a_prompt_are_kept_as_a_program_would_give_them(
    chat: onrecord.Conversation,
) -> None:
    other = onrecord.connect("memory://").conversation("process/4712")
    texts = ["one", "\n", "two"]
    chat.ingest([], prompt=texts)
    other.user(texts)
    blocks, others = (talk.history()[-1].blocks for talk in (chat, other))
    assert [block.plain for block in blocks] == [block.plain for block in others]
    assert [block.plain["text"] for block in blocks] == texts


def test_a_blank_text_beside_documents_is_none(chat: onrecord.Conversation) -> None:
    assert chat.ingest([], prompt=" ", documents=[PDF]) == "ready"
    assert [type(block.content) for block in chat.history()[-1].blocks] == [Document]


def test_a_prompt_is_no_input_while_calls_are_open(round_of_two: onrecord.Conversation) -> None:
    version = round_of_two.head().version
    assert round_of_two.ingest([result("a")], prompt="And?") == "deferred"
    assert types(round_of_two, version) == ["tool_result.recorded"]
    assert round_of_two.ingest([result("b")], prompt="And?") == "ready"
    assert "message.recorded" not in types(round_of_two, version)


def test_a_hand_over_that_closed_a_round_records_nothing_when_it_is_tried_again(
    round_of_two: onrecord.Conversation,
) -> None:
    given = [result("a"), result("b")]
    assert round_of_two.ingest(given, prompt="And?") == "ready"
    version = round_of_two.head().version
    assert round_of_two.ingest(given, prompt="And?") == "ready"
    assert round_of_two.head().version == version
    round_of_two.log.append(events.MessageRecorded(role="assistant", content=(Text(text="Hi."),)))
    assert round_of_two.ingest(given, prompt="And?") == "nothing"
    assert types(round_of_two, version) == ["message.recorded"]


@pytest.mark.parametrize("given", [[], ["stranger"]])
def test_a_prompt_after_a_round_goes_without_results_of_its_calls(
    round_of_two: onrecord.Conversation, given: list[str]
) -> None:
    round_of_two.ingest([result("a"), result("b")])
    version = round_of_two.head().version
    round_of_two.ingest([result(call_id) for call_id in given], prompt="And?")
    assert types(round_of_two, version)[0] == "message.recorded"


def test_a_prompt_is_no_input_where_a_signal_gives_up_the_calls(
    round_of_two: onrecord.Conversation,
) -> None:
    version = round_of_two.head().version
    assert round_of_two.ingest([bell()], prompt="And?", behaviour="interrupt") == "ready"
    assert "message.recorded" not in types(round_of_two, version)


def test_a_prompt_of_one_message_id_is_recorded_once(chat: onrecord.Conversation) -> None:
    for _ in range(2):
        assert chat.ingest([], prompt="Hello", message_id="job-1") == "ready"
    assert types(chat, 1) == ["message.recorded"]
    assert chat.ingest([bell()], prompt="Hello", message_id="job-1") == "ready"
    assert types(chat, 1) == ["message.recorded", "signal.received"]
    with pytest.raises(onrecord.IdempotencyMismatch, match="prompt"):
        chat.ingest([bell()], prompt="Other", message_id="job-1")
    assert len(types(chat, 1)) == 2


def test_a_prompt_beside_results_of_an_empty_conversation_is_not_recorded(
    chat: onrecord.Conversation,
) -> None:
    with pytest.raises(onrecord.ResultsWithoutConversation):
        chat.ingest([result("a")], prompt="Hello")
    assert chat.head().version == 0


def test_signals_stand_behind_the_prompt_in_their_order(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    assert chat.ingest([bell("one"), bell({"two": 2})]) == "ready"
    assert last_turn(chat) == ["Hello", "one", '{"two":2}']


@pytest.mark.parametrize("content", [None, "", " ", [], {}])
def test_a_signal_without_content_says_that_the_calls_were_waited_for(
    chat: onrecord.Conversation, content: object
) -> None:
    chat.user("Hello")
    chat.ingest([bell(content)])
    assert last_turn(chat) == ["Hello", WAITED]


@pytest.mark.parametrize("content", [None, "", " ", [], {}])
def test_a_signal_without_content_says_that_calls_were_cancelled_where_it_interrupts(
    round_of_two: onrecord.Conversation, content: object
) -> None:
    round_of_two.ingest([bell(content)], behaviour="interrupt")
    assert last_turn(round_of_two)[-1] == INTERRUPTED


# Calls are open.


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_all_results_stand_in_the_order_of_the_calls(
    round_of_two: onrecord.Conversation, order: tuple[str, ...]
) -> None:
    assert round_of_two.ingest([result(call_id) for call_id in order]) == "ready"
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave"]


@pytest.mark.parametrize("behaviour", BOTH)
@pytest.mark.parametrize("given", [[], ["b"]])
def test_nothing_goes_while_results_are_missing(
    round_of_two: onrecord.Conversation, behaviour: Behaviour, given: list[str]
) -> None:
    """An interruption without a signal still waits."""
    taken = round_of_two.ingest([result(call_id) for call_id in given], behaviour=behaviour)
    assert taken == "deferred"
    with pytest.raises(onrecord.RoundOpen):
        round_of_two.request("openai-chat", missing="refuse")


@pytest.mark.parametrize("behaviour", [*BOTH, None])
@pytest.mark.parametrize("order", list(permutations("abs")))
def test_signals_stand_behind_all_results_however_they_are_mixed(
    round_of_two: onrecord.Conversation, order: tuple[str, ...], behaviour: Behaviour | None
) -> None:
    inputs = [bell() if each == "s" else result(each) for each in order]
    version = round_of_two.head().version
    how: dict[str, Any] = {} if behaviour is None else {"behaviour": behaviour}
    assert round_of_two.ingest(inputs, **how) == "ready"
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave", "a bell rang"]
    [signal] = [
        event
        for recorded in round_of_two.events(after=version)
        if isinstance(event := recorded.event(), events.SignalReceived)
    ]
    assert signal.interrupts is False


def test_a_signal_waits_while_results_are_missing(round_of_two: onrecord.Conversation) -> None:
    assert round_of_two.ingest([bell(), result("b")], behaviour="wait") == "deferred"
    assert round_of_two.ingest([result("a")]) == "ready"
    assert last_turn(round_of_two) == ["a: a gave", "b: b gave", "a bell rang"]


def test_a_signal_that_interrupts_gives_up_what_is_missing_in_the_order_of_the_calls(
    round_of_two: onrecord.Conversation,
) -> None:
    assert round_of_two.ingest([bell(), result("b")], behaviour="interrupt") == "ready"
    assert last_turn(round_of_two) == [f"a: {CANCELLED}", "b: b gave", "a bell rang"]


def test_several_signals_interrupt_once(round_of_two: onrecord.Conversation) -> None:
    round_of_two.ingest([bell(), bell(None)], behaviour="interrupt")
    assert last_turn(round_of_two) == [
        f"a: {CANCELLED}",
        f"b: {CANCELLED}",
        "a bell rang",
        INTERRUPTED,
    ]


def test_a_round_and_its_signals_are_one_commit(round_of_two: onrecord.Conversation) -> None:
    version = round_of_two.head().version
    round_of_two.ingest([result("b"), bell()], behaviour="interrupt")
    recorded = round_of_two.events(after=version)
    assert [event.type for event in recorded] == [
        "tool_result.recorded",
        "tool_result.recorded",
        "signal.received",
    ]
    assert len({event.recorded_at for event in recorded}) == 1


@pytest.mark.parametrize("flag", ["interrupted", "properties"])
def test_a_result_that_says_it_was_interrupted_is_a_cancelled_one(
    round_of_two: onrecord.Conversation, flag: str
) -> None:
    said = True if flag == "interrupted" else {"interrupted": True}
    given = result("a", CANCELLED, **{flag: said})
    assert round_of_two.ingest([given, result("b")]) == "ready"
    event = round_of_two.events(after=round_of_two.head().version - 2)[0].event()
    assert isinstance(event, events.ToolResultRecorded)
    assert event.cancelled
    assert CANCELLED not in event.model_dump_json()
    assert last_turn(round_of_two) == [f"a: {CANCELLED}", "b: b gave"]


@pytest.mark.parametrize("flag", ["true", 1, "yes", False, None])
def test_only_true_says_that_a_result_was_interrupted(
    round_of_two: onrecord.Conversation, flag: object
) -> None:
    round_of_two.ingest([result("a", interrupted=flag), result("b")])
    assert last_turn(round_of_two)[0] == "a: a gave"


def test_what_an_interrupted_call_gave_so_far_is_kept(round_of_two: onrecord.Conversation) -> None:
    round_of_two.ingest([result("a", "half of it", interrupted=True), result("b")])
    assert last_turn(round_of_two)[0] == "a: half of it"
    assert result_of(round_of_two, "a").cancelled


# The rule itself.


@pytest.mark.parametrize(
    ("awaited", "unanswered", "wanted"),
    [(1, True, "deferred"), (2, False, "deferred"), (0, True, "ready"), (0, False, "nothing")],
)
def test_calls_that_are_awaited_come_before_all_else(
    awaited: int, unanswered: bool, wanted: NextInput
) -> None:
    assert next_input(awaited=awaited, unanswered=unanswered) == wanted
