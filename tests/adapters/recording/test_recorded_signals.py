"""Signals beside recorded clients: what was sent of them is theirs, and nothing is said twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, cast

import openai
import pytest

import onrecord
from onrecord.adapters.demo.services.scenes import PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.domain.content import ToolCall
from onrecord.domain.events import ToolCallRecorded
from tests.projections.history.test_signals import WAITED


@pytest.fixture
def chat() -> Iterator[onrecord.Conversation]:
    with onrecord.connect("memory://") as store:
        yield store.conversation("support/4711")


@pytest.fixture
def client(chat: onrecord.Conversation) -> Iterator[openai.OpenAI]:
    """A recorded client of a model that numbers its answers."""
    numbers = count(1)
    with (
        DemoServer(
            (), openai=lambda _api, _body: PlainAnswer(f"Answer {next(numbers)}.")
        ) as server,
        openai.OpenAI(base_url=server.openai_url, api_key="not a key") as client,
    ):
        yield chat.record(client)


def ask(client: openai.OpenAI, messages: Any) -> None:
    client.chat.completions.create(model="gpt-5", messages=messages)


def told(chat: onrecord.Conversation) -> list[str]:
    messages = cast("list[dict[str, str]]", chat.request("openai-chat")["messages"])
    return [message["content"] for message in messages]


def test_a_rendered_signal_is_not_said_again(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    chat.user("Hello")
    chat.signal("a bell rang")
    chat.signal()
    ask(client, chat.request("openai-chat")["messages"])
    chat.signal("another bell")
    ask(client, chat.request("openai-chat")["messages"])
    assert told(chat) == ["Hello", "a bell rang", WAITED, "Answer 1.", "another bell", "Answer 2."]
    assert [event.type for event in chat.events(after=0)].count("message.recorded") == 3


def test_a_program_that_keeps_its_own_list_goes_on_from_a_signal(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    chat.user("Hello")
    chat.signal("a bell rang")
    own = [dict(message) for message in chat.request("openai-chat")["messages"]]
    ask(client, own)
    own += [{"role": "assistant", "content": "Answer 1."}, {"role": "user", "content": "And?"}]
    ask(client, own)
    assert told(chat) == ["Hello", "a bell rang", "Answer 1.", "And?", "Answer 2."]


def test_a_signal_that_a_program_knows_nothing_of_stays_in_its_history(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    """The program did not rewrite what was said, and the next model that is asked is told."""
    own: list[dict[str, str]] = []
    for said, signal in (("Hello", "a bell rang"), ("And?", None), ("More?", "another bell")):
        own.append({"role": "user", "content": said})
        ask(client, own)
        own.append({"role": "assistant", "content": f"Answer {len(own) // 2 + 1}."})
        if signal:
            chat.signal(signal)
    ask(client, own)
    assert told(chat) == [
        *("Hello", "Answer 1.", "a bell rang", "And?", "Answer 2.", "More?", "Answer 3."),
        *("another bell", "Answer 4."),
    ]
    assert "line.adopted" not in {event.type for event in chat.events(after=0)}


def test_a_result_of_a_programs_own_list_closes_the_round_amid_which_a_signal_came(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    chat.user("Look")
    call = ToolCall(id="call_1", name="look", arguments={})
    chat.log.append(ToolCallRecorded(call_id="call_1", name="look", content=call))
    chat.signal("a bell rang")
    function = {"name": "look", "arguments": "{}"}
    made = {"id": "call_1", "type": "function", "function": function}
    ask(
        client,
        [
            {"role": "user", "content": "Look"},
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "call_1", "content": "seen"},
        ],
    )
    assert told(chat) == ["Look", None, "seen", "a bell rang", "Answer 1."]
    assert chat.open_calls() == []


def test_a_signal_that_a_request_had_not_seen_comes_after_its_answer(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    chat.user("Hello")
    request = chat.request("openai-chat")
    chat.signal("a bell rang")
    ask(client, request["messages"])
    assert told(chat) == ["Hello", "Answer 1.", "a bell rang"]
    assert chat.next_input() == "ready"


def test_a_prompt_that_a_request_had_not_seen_is_not_over(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    chat.user("Hello")
    request = chat.request("openai-chat")
    chat.user("And?")
    ask(client, request["messages"])
    assert chat.next_input() == "ready"
    with pytest.raises(onrecord.InvalidContent, match="nothing to sum up"):
        chat.compact("They said hello.")


def test_an_answer_to_a_signal_is_given_up_and_asked_for_again(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    chat.signal("a bell rang")
    ask(client, chat.request("openai-chat")["messages"])
    chat.retract_answer()
    ask(client, chat.request("openai-chat")["messages"])
    assert told(chat) == ["a bell rang", "Answer 2."]


def test_exchanges_that_signals_opened_are_summed_up(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    for said in ("one", "two"):
        chat.signal(said)
        ask(client, chat.request("openai-chat")["messages"])
    chat.signal("three")
    chat.compact("Bells rang.")
    assert told(chat) == ["Summary of the conversation so far:\n\nBells rang.", "three"]


def test_no_summary_parts_cancelled_results_from_the_signal_that_interrupted(
    chat: onrecord.Conversation,
) -> None:
    chat.user("Look")
    call = ToolCall(id="toolu_1", name="look", arguments={})
    chat.log.append(ToolCallRecorded(call_id="toolu_1", name="look", content=call))
    chat.signal("a bell rang", interrupts=True)
    with pytest.raises(onrecord.InvalidContent, match="nothing to sum up"):
        chat.compact("They looked.")


def test_a_window_begins_at_a_signal_that_opened_an_exchange(chat: onrecord.Conversation) -> None:
    for number in range(4):
        chat.signal(f"bell {number}")
    request = chat.request("openai-chat", window=onrecord.Window(exchanges=1, step=1))
    assert [message["content"] for message in request["messages"]] == ["bell 2", "bell 3"]
