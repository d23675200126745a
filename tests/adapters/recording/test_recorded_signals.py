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
def talk() -> Iterator[onrecord.Talk]:
    with onrecord.connect("memory://") as store:
        yield store.conversation("support/4711")


@pytest.fixture
def client(talk: onrecord.Talk) -> Iterator[openai.OpenAI]:
    """A recorded client of a model that numbers its answers."""
    numbers = count(1)
    with (
        DemoServer(
            (), openai=lambda _api, _body: PlainAnswer(f"Answer {next(numbers)}.")
        ) as server,
        openai.OpenAI(base_url=server.openai_url, api_key="not a key") as client,
    ):
        yield talk.record(client)


def ask(client: openai.OpenAI, messages: Any) -> None:
    client.chat.completions.create(model="gpt-5", messages=messages)


def told(talk: onrecord.Talk) -> list[str]:
    messages = cast("list[dict[str, str]]", talk.request("openai-chat")["messages"])
    return [message["content"] for message in messages]


def test_a_rendered_signal_is_not_said_again(talk: onrecord.Talk, client: openai.OpenAI) -> None:
    talk.user("Hello")
    talk.signal("a bell rang")
    talk.signal()
    ask(client, talk.request("openai-chat")["messages"])
    talk.signal("another bell")
    ask(client, talk.request("openai-chat")["messages"])
    assert told(talk) == ["Hello", "a bell rang", WAITED, "Answer 1.", "another bell", "Answer 2."]
    assert [event.type for event in talk.events(after=0)].count("message.recorded") == 3


def test_a_program_that_keeps_its_own_list_goes_on_from_a_signal(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    talk.user("Hello")
    talk.signal("a bell rang")
    own = [dict(message) for message in talk.request("openai-chat")["messages"]]
    ask(client, own)
    own += [{"role": "assistant", "content": "Answer 1."}, {"role": "user", "content": "And?"}]
    ask(client, own)
    assert told(talk) == ["Hello", "a bell rang", "Answer 1.", "And?", "Answer 2."]


def test_a_signal_that_a_program_knows_nothing_of_stays_in_its_history(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    """The program did not rewrite what was said, and the next model that is asked is told."""
    own: list[dict[str, str]] = []
    for said, signal in (("Hello", "a bell rang"), ("And?", None), ("More?", "another bell")):
        own.append({"role": "user", "content": said})
        ask(client, own)
        own.append({"role": "assistant", "content": f"Answer {len(own) // 2 + 1}."})
        if signal:
            talk.signal(signal)
    ask(client, own)
    assert told(talk) == [
        *("Hello", "Answer 1.", "a bell rang", "And?", "Answer 2.", "More?", "Answer 3."),
        *("another bell", "Answer 4."),
    ]
    assert "line.adopted" not in {event.type for event in talk.events(after=0)}


def test_a_result_of_a_programs_own_list_closes_the_round_amid_which_a_signal_came(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    talk.user("Look")
    call = ToolCall(id="call_1", name="look", arguments={})
    talk.log.append(ToolCallRecorded(call_id="call_1", name="look", content=call))
    talk.signal("a bell rang")
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
    assert told(talk) == ["Look", None, "seen", "a bell rang", "Answer 1."]
    assert talk.open_calls() == []


def test_a_signal_that_a_request_had_not_seen_comes_after_its_answer(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    talk.user("Hello")
    request = talk.request("openai-chat")
    talk.signal("a bell rang")
    ask(client, request["messages"])
    assert told(talk) == ["Hello", "Answer 1.", "a bell rang"]
    assert talk.next_input() == "ready"


def test_a_prompt_that_a_request_had_not_seen_is_not_over(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    talk.user("Hello")
    request = talk.request("openai-chat")
    talk.user("And?")
    ask(client, request["messages"])
    assert talk.next_input() == "ready"
    with pytest.raises(onrecord.InvalidContent, match="nothing to sum up"):
        talk.compact("They said hello.")


def test_an_answer_to_a_signal_is_given_up_and_asked_for_again(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    talk.signal("a bell rang")
    ask(client, talk.request("openai-chat")["messages"])
    talk.retract_answer()
    ask(client, talk.request("openai-chat")["messages"])
    assert told(talk) == ["a bell rang", "Answer 2."]


def test_exchanges_that_signals_opened_are_summed_up(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    for said in ("one", "two"):
        talk.signal(said)
        ask(client, talk.request("openai-chat")["messages"])
    talk.signal("three")
    talk.compact("Bells rang.")
    assert told(talk) == ["Summary of the conversation so far:\n\nBells rang.", "three"]


def test_no_summary_parts_cancelled_results_from_the_signal_that_interrupted(
    talk: onrecord.Talk,
) -> None:
    talk.user("Look")
    call = ToolCall(id="toolu_1", name="look", arguments={})
    talk.log.append(ToolCallRecorded(call_id="toolu_1", name="look", content=call))
    talk.signal("a bell rang", interrupts=True)
    with pytest.raises(onrecord.InvalidContent, match="nothing to sum up"):
        talk.compact("They looked.")


def test_a_window_begins_at_a_signal_that_opened_an_exchange(talk: onrecord.Talk) -> None:
    for number in range(4):
        talk.signal(f"bell {number}")
    request = talk.request("openai-chat", window=onrecord.Window(exchanges=1, step=1))
    assert [message["content"] for message in request["messages"]] == ["bell 2", "bell 3"]
