from __future__ import annotations

from uuid import UUID

import pytest

from onrecord.domain import events
from onrecord.domain.content import Text, ToolCall, ToolResult
from onrecord.domain.encoding import Unrecognised
from onrecord.domain.events import Event
from onrecord.domain.head import MOST_TOKENS, NOTHING, Head, effect_of
from onrecord.domain.request_template import Template
from tests.scenario import folded

RESPONSE = UUID(int=1)
SIDE = UUID(int=9)
TEMPLATE = Template(spans=(), sha256="", size=0)
SENT = events.RequestSent(api="anthropic-messages", endpoint="/v1/messages", template=TEMPLATE)


def prompt(line: UUID | None = None) -> Event:
    return events.MessageRecorded(role="user", content=(Text(text="Hello"),), line=line)


def call(call_id: str, *, awaited: bool = True) -> Event:
    content = ToolCall(id=call_id, name="look", arguments={})
    return events.ToolCallRecorded(
        response=RESPONSE, index=0, call_id=call_id, name="look", content=content, awaited=awaited
    )


def result(call_id: str) -> Event:
    content = ToolResult(call_id=call_id, content=())
    return events.ToolResultRecorded(call_id=call_id, content=content)


def completed(input_tokens: int | None = None, output_tokens: int | None = None) -> Event:
    return events.ResponseCompleted(
        response=RESPONSE,
        api="anthropic-messages",
        envelope={},
        input_tokens=input_tokens,
        output_tokens=output_tokens,
    )


def test_a_conversation_begins_with_nothing_in_force_adopted_or_amended() -> None:
    head = Head()
    pointers = head.instructions, head.tools, head.request, head.adopted, head.amended
    assert (head.version, head.exchange, *pointers) == (0,) * 7


def test_each_event_moves_the_version() -> None:
    assert folded(Head(), prompt(), completed()).version == 2


def test_each_prompt_opens_an_exchange() -> None:
    assert folded(Head(), prompt(), completed(), prompt()).exchange == 2


def test_what_the_assistant_or_the_operator_says_opens_none() -> None:
    said = (
        events.MessageRecorded(role="assistant", content=(Text(text="Hi"),)),
        events.MessageRecorded(role="system", content=(Text(text="Mind the time."),)),
    )
    assert folded(Head(), prompt(), *said).exchange == 1


def test_a_prompt_amid_a_tool_round_belongs_to_the_round() -> None:
    assert folded(Head(), prompt(), call("a"), prompt(), result("a")).exchange == 1


def test_a_call_is_open_until_its_result() -> None:
    head = folded(Head(), prompt(), call("a"), call("b"), result("a"))
    assert head.open_calls == {"b": 3}
    assert folded(head, result("b")).open_calls == {}


def test_a_call_that_awaits_no_result_is_not_open() -> None:
    assert folded(Head(), prompt(), call("a", awaited=False)).open_calls == {}


def test_calls_left_open_are_given_up_by_the_next_request() -> None:
    head = folded(Head(), prompt(), call("a"), prompt(), SENT)
    assert head.open_calls == {}
    assert folded(head, prompt()).exchange == 2


def test_a_result_of_an_unknown_call_closes_nothing() -> None:
    assert folded(Head(), call("a"), result("b")).open_calls == {"a": 1}


def test_instructions_tools_and_requests_are_pointed_at() -> None:
    head = folded(
        Head(),
        events.InstructionsSet(content="Be brief."),
        events.ToolsDeclared(tools=()),
        events.InstructionsSet(content="Be kind."),
        SENT,
    )
    assert (head.instructions, head.tools, head.request) == (3, 2, 4)


def test_tokens_are_summed_over_responses() -> None:
    head = folded(
        Head(),
        completed(input_tokens=10, output_tokens=3),
        completed(input_tokens=20, output_tokens=4),
    )
    assert (head.input_tokens, head.output_tokens) == (30, 7)


@pytest.mark.parametrize("odd", [10**30, MOST_TOKENS + 1, -1, -(10**30)])
def test_what_can_be_no_count_of_tokens_counts_for_nothing(odd: int) -> None:
    assert effect_of(completed(input_tokens=odd, output_tokens=odd)) == NOTHING


def test_sums_of_tokens_stop_at_the_most_that_can_be_counted() -> None:
    most = completed(input_tokens=MOST_TOKENS, output_tokens=MOST_TOKENS)
    head = folded(Head(), most, most, completed(input_tokens=1))
    assert (head.input_tokens, head.output_tokens) == (MOST_TOKENS, MOST_TOKENS)


def test_tokens_that_nobody_told_add_nothing() -> None:
    head = folded(Head(), completed(input_tokens=10), completed(output_tokens=3), completed())
    assert (head.input_tokens, head.output_tokens) == (10, 3)


def test_events_on_a_side_line_only_move_the_version() -> None:
    assert folded(Head(), prompt(line=SIDE), prompt()) == Head(version=2, exchange=1)


def test_an_event_of_a_newer_release_only_moves_the_version() -> None:
    assert effect_of(Unrecognised("future.thing", 1, b"{}")) == NOTHING


def test_a_redaction_and_a_compaction_say_how_earlier_events_are_told() -> None:
    head = folded(Head(), prompt(), call("a"), events.ContentRedacted(version=1))
    assert (head.amended, set(head.open_calls)) == (3, {"a"})
    assert folded(head, events.HistoryCompacted(summary="In short", until=1)).amended == 4
    aside = events.HistoryCompacted(summary="In short", until=1, line=SIDE)
    assert folded(head, aside).amended == 3


def test_an_adopted_line_gives_up_the_calls_that_are_open() -> None:
    adopted = events.LineAdopted(adopted=SIDE, begun=2, after=1)
    head = folded(Head(), prompt(), call("a"), adopted)
    assert (head.adopted, head.open_calls) == (3, {})


def test_the_next_prompt_after_an_adoption_opens_an_exchange() -> None:
    head = folded(Head(), prompt(), call("a"), events.LineAdopted(after=1), prompt())
    assert head.exchange == 2
