"""Servers that number the calls of each answer from 0: an id names one call after the other."""

import json
from collections.abc import Iterator, Mapping

import httpx2
import openai
import pytest

import onrecord
from onrecord.domain.events import ToolResultRecorded
from onrecord.domain.log import Duplicate, Recorded

CALL = {"id": "call_0", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[onrecord.Store]:
    path = tmp_path_factory.mktemp("store") / "chat.db"
    with onrecord.connect(f"sqlite:///{path}") as store:
        yield store


def always_calls(call: dict[str, object]) -> httpx2.MockTransport:
    """A server that calls the same tool each time, under the same id."""
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return httpx2.MockTransport(lambda _: httpx2.Response(200, json=body))


def client(chat: onrecord.Conversation, members: Mapping[str, object] = CALL) -> openai.OpenAI:
    http = httpx2.Client(transport=always_calls({**CALL, **members}))
    return chat.record(openai.OpenAI(api_key="k" * 20, http_client=http))


def results(chat: onrecord.Conversation) -> list[ToolResultRecorded]:
    events = [recorded.event() for recorded in chat.log.read()]
    return [event for event in events if isinstance(event, ToolResultRecorded)]


@pytest.mark.parametrize("given", [("one", "two"), ("same", "same")], ids=["other", "same"])
def test_each_call_of_a_reused_id_has_a_result_of_its_own(
    store: onrecord.Store, given: tuple[str, str]
) -> None:
    chat = store.conversation("reused")
    calling = client(chat)
    chat.user("Look twice.")
    for text in given:
        calling.chat.completions.create(model="m", **chat.request("openai-chat"))
        (call,) = chat.open_calls()
        assert isinstance(chat.tool_result(call.id, text), Recorded)
        assert chat.open_calls() == []
    messages = chat.request("openai-chat")["messages"]
    assert [told["content"] for told in messages if told["role"] == "tool"] == list(given)


def test_a_result_of_a_reused_id_given_twice_changes_nothing(store: onrecord.Store) -> None:
    chat = store.conversation("reused")
    calling = client(chat)
    chat.user("Look twice.")
    for text in ("one", "two"):
        calling.chat.completions.create(model="m", **chat.request("openai-chat"))
        chat.tool_result("call_0", text)
        assert isinstance(chat.tool_result("call_0", text), Duplicate)
    assert isinstance(chat.tool_result("call_0", "three"), onrecord.Rejected)
    assert len(results(chat)) == 2


@pytest.mark.parametrize("given", [("one", "two"), ("same", "same")], ids=["other", "same"])
def test_a_programs_own_list_may_reuse_ids_and_stays_on_the_main_line(
    store: onrecord.Store, given: tuple[str, str]
) -> None:
    chat = store.conversation("reused")
    calling = client(chat)
    messages: list[object] = [{"role": "user", "content": "Look twice."}]
    for text in given:
        calling.chat.completions.create(model="m", messages=json.loads(json.dumps(messages)))
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_0", "content": text},
        ]
    calling.chat.completions.create(model="m", messages=json.loads(json.dumps(messages)))
    bodies = [recorded.body or b"" for recorded in chat.log.read()]
    assert not any(body.startswith(b'{"line"') for body in bodies)
    assert len(results(chat)) == 2


def test_only_a_result_of_an_id_used_again_says_which_call_it_is_of(store: onrecord.Store) -> None:
    chat = store.conversation("reused")
    calling = client(chat)
    chat.user("Look twice.")
    for text in ("one", "two"):
        calling.chat.completions.create(model="m", **chat.request("openai-chat"))
        chat.tool_result("call_0", text)
    first, second = results(chat)
    call = next(
        recorded.version
        for recorded in chat.log.read()
        if recorded.version > 5 and recorded.type == "tool_call.recorded"
    )
    assert (first.call, second.call) == (None, call)


@pytest.mark.parametrize("given_id", [None, "call_0"], ids=["made", "reused"])
def test_a_late_result_is_of_the_open_call_of_its_id(
    store: onrecord.Store, given_id: str | None
) -> None:
    """Equal calls that a server gives no id share the one that is made of them.

    A later request must give a call the same id though it may begin behind the first round, so no
    id counts rounds; and a caller names a call by its id alone.
    """
    chat = store.conversation("given up")
    calling = client(chat, {"id": given_id})
    chat.user("Look twice.")
    calls: list[onrecord.ToolCall] = []
    for _ in range(2):
        calling.chat.completions.create(model="m", **chat.request("openai-chat"))
        calls += chat.open_calls()
        if len(calls) == 1:
            chat.cancel(calls[0].id)
    assert calls[0].id == calls[1].id
    assert isinstance(chat.tool_result(calls[0].id, "late"), Recorded)
    assert chat.open_calls() == []
    messages = chat.request("openai-chat")["messages"]
    assert [message["content"] for message in messages if message["role"] == "tool"][1:] == ["late"]
