"""What a program says for the model is history like the model's own words, on every API."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord import AssistantCall
from onrecord.projections.api import names
from tests.adapters.recorded_calls import GREETING, HELLO, Recorded, calling
from tests.named_cases import without_address
from tests.projections.refused import refused

APIS = names()
TRACK = onrecord.ToolDefinition(
    name="track", description="Find it.", input_schema={"type": "object"}
)


@pytest.fixture
def chat() -> onrecord.Conversation:
    chat = onrecord.connect("memory://").conversation("talk")
    chat.tools.declare([TRACK])
    return chat


def types(chat: onrecord.Conversation) -> list[str]:
    return [each.type for each in chat.events(after=2)]


def test_a_greeting_is_the_assistants_turn(chat: onrecord.Conversation) -> None:
    done = chat.assistant("Hello! How can I help?")
    chat.user("Where is my parcel?")
    assert done == onrecord.Recorded(3, 4, 4)
    turns = [(turn.role, turn.text) for turn in chat.history()]
    assert turns == [("assistant", "Hello! How can I help?"), ("user", "Where is my parcel?")]
    assert types(chat) == ["message.recorded", "response.completed", "message.recorded"]


def test_calls_await_results_and_are_answered_under_their_ids(chat: onrecord.Conversation) -> None:
    chat.user("Where is my parcel?")
    chat.assistant(
        "I look.", calls=[AssistantCall("track", {"id": 1}), AssistantCall("track", id="c")]
    )
    first, second = chat.open_calls()
    assert (first.name, first.arguments, second.id) == ("track", {"id": 1}, "c")
    assert chat.next_input() == "deferred"
    for call in (first, second):
        assert isinstance(chat.tool_result(call.id, {"at": "Leith"}), onrecord.Recorded)
    assert chat.open_calls() == []
    assert chat.next_input() == "ready"
    chat.assistant("It is in Leith.")
    assert chat.next_input() == "nothing"


def test_a_call_may_be_one_that_was_read_elsewhere(chat: onrecord.Conversation) -> None:
    call = onrecord.ToolCall(id="call_9", name="track", arguments={"id": 9})
    chat.assistant(calls=[call])
    assert chat.open_calls() == [call]


def test_an_answer_of_a_program_closes_a_request_that_nobody_answered(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with calling(recorded, [GREETING]) as calls:
        calls.ask(HELLO)
    chat = recorded.chat
    chat.user("And now?")
    asked = {"model": "m", "max_tokens": 9, **chat.request("anthropic-messages")}
    chat.record_request(asked, api="anthropic-messages")
    assert chat.next_input() == "ready"
    chat.assistant("I cannot answer right now.")
    assert chat.next_input() == "nothing"
    assert [turn.text for turn in chat.history()][-1] == "I cannot answer right now."


# Whatever a program says, and when: no API refuses it.

TEXTS = st.sampled_from(["Hi.", " ", "Wait\n", "\u00e9"])
CALLS = st.lists(
    st.builds(AssistantCall, st.just("track"), st.just({"id": 4711}), st.none() | st.just("my id")),
    max_size=2,
    unique_by=lambda call: call.id or id(call),
)
Deed = Callable[[onrecord.Conversation], object]


def speak(text: str, calls: list[AssistantCall]) -> Deed:
    def deed(chat: onrecord.Conversation) -> None:
        taken = {call.id for call in chat.open_calls()}
        free = [call for call in calls if call.id not in taken]
        if text.strip() or free:
            chat.assistant(text, calls=free)

    return deed


def answer(chat: onrecord.Conversation) -> None:
    for call in chat.open_calls()[:1]:
        chat.tool_result(call.id, {"at": "Leith"})


def prompt(chat: onrecord.Conversation) -> None:
    chat.user("Where is it?")


def signal(chat: onrecord.Conversation) -> None:
    chat.signal({"timer": 1})


def cancel(chat: onrecord.Conversation) -> None:
    for call in chat.open_calls()[-1:]:
        chat.cancel(call.id)


DEEDS = st.builds(speak, TEXTS, CALLS) | st.sampled_from([answer, prompt, signal, cancel])


@given(st.lists(DEEDS, max_size=7))
def test_no_api_refuses_what_a_program_said_for_the_model(deeds: list[Deed]) -> None:
    chat = onrecord.connect("memory://").conversation("talk")
    chat.tools.declare([TRACK])
    for deed in deeds:
        deed(chat)
    prompt(chat)
    for api in APIS:
        assert refused(api, chat.request(api)) == ()


@pytest.mark.parametrize("api", APIS)
def test_the_words_and_the_calls_reach_each_api(chat: onrecord.Conversation, api: str) -> None:
    chat.user("Where is my parcel?")
    chat.assistant("I look.", calls=[AssistantCall("track", {"id": 4711})])
    chat.tool_result(chat.open_calls()[0].id, "Leith")
    chat.user("Thanks.")
    body = str(dict(chat.request(api).body))
    assert all(text in body for text in ("I look.", "track", "4711", "Leith"))
    assert chat.request(api).body == chat.request(api, at=chat.head().version).body


# The same again, and what another writer did.


def test_a_message_id_makes_it_idempotent_in_any_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    calls = [AssistantCall("track", {"id": 1}), AssistantCall("track", {"id": 2})]
    with onrecord.connect(url) as one, onrecord.connect(url) as other:
        first, second = one.conversation("a"), other.conversation("a")
        assert first.assistant("I look.", calls=calls, message_id="m") == onrecord.Recorded(1, 5, 5)
        for chat in (first, second):
            again = chat.assistant("I look.", calls=calls, message_id="m")
            assert again == onrecord.Duplicate(2, 5)
        ids = [call.id for call in second.open_calls()]
        for call_id in ids:
            second.tool_result(call_id, "yes")
        again = second.assistant("I look.", calls=calls, message_id="m")
        assert again == onrecord.Duplicate(2, 5)
        assert second.open_calls() == []


OTHERS: list[dict[str, Any]] = [
    {"text": "I look"},
    {"text": "I look.", "calls": []},
    {"text": "I look.", "calls": [AssistantCall("track", {"id": 2})]},
    {"text": "I look.", "calls": [AssistantCall("track"), AssistantCall("track")]},
    {"calls": [AssistantCall("track")]},
]


@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_the_same_message_id_with_anything_else_is_refused(
    chat: onrecord.Conversation, other: dict[str, Any]
) -> None:
    chat.assistant("I look.", calls=[AssistantCall("track")], message_id="m")
    with pytest.raises(onrecord.IdempotencyMismatch):
        chat.assistant(**other, message_id="m")
    assert chat.head().version == 5


def test_a_message_id_of_a_prompt_is_no_answers(chat: onrecord.Conversation) -> None:
    chat.user("Hello", message_id="m")
    with pytest.raises(onrecord.IdempotencyMismatch):
        chat.assistant("Hello", message_id="m")


def test_another_version_than_the_expected_one_is_a_conflict(chat: onrecord.Conversation) -> None:
    with pytest.raises(onrecord.VersionConflict):
        chat.assistant("Hello", expected_version=1)
    assert chat.assistant("Hello", expected_version=2) == onrecord.Recorded(3, 4, 4)


WRONG: list[dict[str, Any]] = [
    *({}, {"text": ""}, {"text": " \n"}, {"text": 7}, {"text": "\ud800"}, {"calls": "track"}),
    *({"calls": [7]}, {"calls": [("track", {})]}, {"calls": [{"name": "track"}]}, {"calls": 7}),
    *({"calls": [AssistantCall("")]}, {"calls": [AssistantCall("track", id=" ")]}),
    {"calls": [AssistantCall("track", {"a": object()})]},
    {"calls": [AssistantCall("track", {"a": float("nan")})]},
    {"calls": [AssistantCall("track", id="c"), AssistantCall("track", id="c")]},
    {"calls": [AssistantCall("track", id="open")]},
    {"calls": [AssistantCall("track", id="open")], "message_id": "m"},
    {"calls": [onrecord.ToolCall(id="c", name="track", arguments=[1])]},
    {"text": "Hello", "message_id": 7},
    {"text": "Hello", "expected_version": "1"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=without_address)
def test_what_is_no_answer_is_refused_and_nothing_is_recorded(
    chat: onrecord.Conversation, wrong: dict[str, Any]
) -> None:
    chat.assistant(calls=[AssistantCall("track", id="open")])
    with pytest.raises(onrecord.InvalidInput):
        chat.assistant(**wrong)
    assert chat.head().version == 4


def test_an_ended_conversation_takes_no_answer(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    chat.end()
    with pytest.raises(onrecord.ConversationClosed):
        chat.assistant("Hello")
