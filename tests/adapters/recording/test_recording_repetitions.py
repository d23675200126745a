"""A request that is repeated goes on where the first one ended, and its answer is history."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

import onrecord
from onrecord.adapters.demo.services.scenes import Scene, invalid_request
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.events import ResponseInterrupted
from tests.adapters.recorded_calls import GREETING, KEY, Recorded, calling
from tests.demo_faults import overloaded
from tests.patience import join

REPLY = "Hello! What can I do for you?"


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def last_message(chat: onrecord.Conversation) -> dict[str, Any]:
    message: dict[str, Any] = chat.request("anthropic-messages")["messages"][-1]
    return message


def test_a_retry_belongs_to_the_newest_request_of_its_body(recorded: Recorded) -> None:
    script: list[Scene] = [invalid_request("credit balance too low"), overloaded(), GREETING]
    with calling(recorded, script, retries=2) as calls:
        with pytest.raises(anthropic.BadRequestError):
            calls.ask()
        assert calls.ask().stop_reason == "end_turn"
    first, second = recorded.requests()
    assert (first.line, second.line) == (None, None)
    assert last_message(recorded.chat)["content"][0]["text"] == REPLY


def test_a_request_that_was_recorded_but_never_sent_is_repeated_on_the_main_line(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, store = recorded.chat, recorded.counting
    chat.user("Hello")
    append = store.append

    def append_and_lose_the_reply(appends: Any) -> Any:
        append(appends)
        monkeypatch.undo()
        raise StorageUnavailable("the connection broke after the commit")

    with calling(recorded, [GREETING]) as calls:
        client = chat.record(calls.plain)
        request = chat.request("anthropic-messages")
        monkeypatch.setattr(store, "append", append_and_lose_the_reply)
        with pytest.raises(onrecord.NotRecorded):
            client.messages.create(model="m", max_tokens=9, **request)
        client.messages.create(model="m", max_tokens=9, **request)
        assert len(calls.server.requests) == 1
    assert [sent.line for sent in recorded.requests()] == [None, None]
    assert last_message(chat)["content"][0]["text"] == REPLY


@pytest.mark.parametrize("encoding", ["gzip", "snappy"])
def test_a_key_in_an_answer_that_is_not_packed_as_it_says_is_cut(
    recorded: Recorded, encoding: str
) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "application/json", "content-encoding": encoding}
        return httpx2.Response(200, headers=headers, content=iter([f"you sent {KEY}".encode()]))

    recorded.chat.user("Hello")
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with anthropic.Anthropic(api_key=KEY, http_client=http, max_retries=0) as plain:
        client = recorded.chat.record(plain)
        with pytest.raises((anthropic.AnthropicError, ValueError, AttributeError)):
            create: Any = client.messages.create
            asked = create(model="m", max_tokens=9, **recorded.chat.request("anthropic-messages"))
            assert asked.content[0]
    assert recorded.types()[-1] == "response.interrupted"
    event = recorded.chat.events(after=0)[-1].event()
    assert isinstance(event, ResponseInterrupted)
    assert event.raw is not None
    assert KEY.encode() not in recorded.chat.blob(event.raw)


def test_a_request_awaits_its_answer_until_the_log_has_it(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = recorded.counting
    append = store.append

    with calling(recorded, [GREETING] * 2) as calls:

        def ask_the_same_before_the_answer_is_stored(appends: Any) -> Any:
            if any(event.type == "response.completed" for a in appends for event in a.events):
                monkeypatch.undo()
                second = threading.Thread(target=calls.ask)
                second.start()
                join(second)
            return append(appends)

        monkeypatch.setattr(store, "append", ask_the_same_before_the_answer_is_stored)
        calls.ask()
    assert [request.line is None for request in recorded.requests()] == [True, False]
