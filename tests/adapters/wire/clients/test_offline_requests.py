"""Which request an answer in hand is recorded for, and which requests are taken."""

import json
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.recording.state import OpenRequest
from tests.adapters.wire.clients.offline_exchanges import (
    ANSWERED,
    API,
    MODEL,
    asked,
    body_of,
    message,
    prompted,
    recorder_of,
    texts,
    types,
)

UNASKED: dict[str, Any] = {"candidates": [{"content": {}, "finishReason": "STOP"}]}


@pytest.fixture
def chat() -> onrecord.Conversation:
    return prompted()


def test_an_answer_is_of_the_request_that_was_rendered_last(chat: onrecord.Conversation) -> None:
    chat.request(API)
    done = chat.record_response(message("msg_1", "It is good."), api=API)
    assert done == onrecord.Recorded(4, 6, 6)
    assert types(chat) == ANSWERED
    sent = chat.events()[3].event()
    assert isinstance(sent, onrecord.RequestSent)
    assert sent.model == "model-1-20260101"
    assert sent.recipe is not None
    assert [outcome.is_rendered for outcome in replays(chat)] == [True]


def test_the_model_that_was_named_is_the_one_that_was_asked(chat: onrecord.Conversation) -> None:
    chat.request(API, model=MODEL)
    chat.record_response(message("msg_1"), api=API)
    sent = chat.events()[3].event()
    assert isinstance(sent, onrecord.RequestSent)
    assert sent.model == MODEL


def test_a_tool_that_takes_a_model_names_none(chat: onrecord.Conversation) -> None:
    schema = {"type": "object", "properties": {"model": {"type": "string"}}}
    body = {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "look_up", "input_schema": schema}],
    }
    chat.record_response(message("msg_1"), api=API, request=body, model=MODEL)
    sent = next(each.event() for each in chat.events() if each.type == "request.sent")
    assert isinstance(sent, onrecord.RequestSent)
    assert sent.model == MODEL


def test_an_answer_is_of_the_request_that_was_recorded_last(chat: onrecord.Conversation) -> None:
    done = chat.record_request(asked(chat), api=API)
    assert done == onrecord.Recorded(4, 4, 4)
    chat.request(API)  # A look at it asks nothing.
    assert chat.record_response(message("msg_1"), api=API) == onrecord.Recorded(5, 6, 6)


def test_what_was_rendered_on_what_was_said_since_is_answered_first(
    chat: onrecord.Conversation,
) -> None:
    chat.record_request(asked(chat), api=API)
    chat.user("And the other one?")
    chat.request(API)
    assert chat.record_response(message("msg_1"), api=API) == onrecord.Recorded(6, 8, 8)


def test_a_request_is_named_by_its_body_its_version_or_what_recording_it_returned(
    chat: onrecord.Conversation,
) -> None:
    first = chat.record_request(asked(chat), api=API)
    second = chat.record_request(asked(chat), api=API)
    chat.record_response(message("msg_1", "One"), api=API, request=first)
    chat.record_response(message("msg_2", "Two"), api=API, request=second.last)
    assert texts(chat) == ["What does the report say?", "Two"]
    chat.user("More.")
    chat.record_response(message("msg_3", "Three"), api=API, request=asked(chat))
    chat.user("Even more.")
    in_json = json.dumps(asked(chat))
    chat.record_response(message("msg_4", "Four"), api=API, request=in_json)
    assert texts(chat)[1::2] == ["Two", "Three", "Four"]


def test_an_answer_to_a_request_that_another_one_came_after_is_on_a_side_branch(
    chat: onrecord.Conversation,
) -> None:
    first = chat.record_request(asked(chat), api=API)
    chat.record_response(message("msg_2", "Two"), api=API, request=asked(chat))
    chat.record_response(message("msg_1", "One"), api=API, request=first)
    assert texts(chat) == ["What does the report say?", "Two"]
    lines = [getattr(each.event(), "line", None) is None for each in chat.events(after=7)]
    assert lines == [False, False]


def test_a_second_answer_to_one_request_is_on_a_side_branch(chat: onrecord.Conversation) -> None:
    sent = chat.record_request(asked(chat), api=API)
    for name in ("One", "Two", "Three"):
        chat.record_response(message(f"msg_{name}", name), api=API, request=sent)
    again = chat.record_response(message("msg_Two", "Two"), api=API, request=sent)
    assert again == onrecord.Duplicate(7, 8)
    assert texts(chat) == ["What does the report say?", "One"]
    assert len({getattr(each.event(), "line", None) for each in chat.events(after=6)}) == 2
    chat.user("Two is better.")
    assert texts(chat)[-1] == "Two is better."


def test_another_process_answers_the_request_that_the_log_has_open(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(url) as store:
        chat = store.conversation("a")
        chat.user("Hello")
        chat.record_request(asked(chat), api=API)
    with onrecord.connect(url) as store:
        chat = store.conversation("a")
        chat.record_response(message("msg_1"), api=API)
        assert texts(chat) == ["Hello", "Hello."]


def test_without_a_request_that_waits_nothing_is_recorded_and_the_error_says_what_to_do(
    chat: onrecord.Conversation,
) -> None:
    with pytest.raises(onrecord.InvalidInput, match="say which request"):
        chat.record_response(message("msg_1"), api=API)
    chat.request(API)
    chat.record_response(message("msg_1"), api=API)
    with pytest.raises(onrecord.InvalidInput, match="since this request was rendered"):
        chat.record_response(message("msg_2"), api=API)
    with pytest.raises(onrecord.InvalidInput, match="no request waits for an answer of gemini"):
        chat.record_response(UNASKED, api="gemini")
    assert types(chat) == ANSWERED


def test_a_request_that_is_being_answered_right_now_is_not_taken(
    chat: onrecord.Conversation,
) -> None:
    recorder = recorder_of(chat)
    body = asked(chat)
    chat.record_request(body, api=API)
    waiting = chat.events()[-1].event_id
    flying = OpenRequest(waiting, None)
    recorder.offline.answered(flying)
    recorder.resume(flying)
    with pytest.raises(onrecord.InvalidInput, match="right now"):
        chat.record_response(message("msg_1"), api=API)


@pytest.mark.parametrize("request_", [0, 2, 99, -1, True, 2**64, 1.5, [], "", b"", {}, "{}", "[]"])
def test_what_is_no_request_is_refused_and_nothing_is_recorded(
    chat: onrecord.Conversation, request_: Any
) -> None:
    with pytest.raises(onrecord.InvalidInput):
        chat.record_response(message("msg_1"), api=API, request=request_)
    assert chat.head().version == 3


@pytest.mark.parametrize("given", [7, None, [], b"", "{", {}, {"messages": 1}, {"a": object()}])
def test_a_request_that_is_none_of_its_api_is_refused(
    chat: onrecord.Conversation, given: Any
) -> None:
    with pytest.raises(onrecord.InvalidInput):
        chat.record_request(given, api=API)
    assert chat.head().version == 3


def test_an_api_is_one_that_is_known(chat: onrecord.Conversation) -> None:
    with pytest.raises(onrecord.UnknownApi):
        chat.record_request({}, api="anthropic")
    with pytest.raises(onrecord.UnknownApi):
        chat.record_response({}, api="anthropic")


@pytest.mark.parametrize("api", ["gemini", "bedrock-converse"])
def test_a_request_whose_path_names_the_model_wants_it(
    chat: onrecord.Conversation, api: str
) -> None:
    body = body_of(chat, api)
    with pytest.raises(onrecord.InvalidInput, match="give model="):
        chat.record_request(body, api=api)
    model: str = {
        "gemini": "publishers/google/models/gemini-3",
        "bedrock-converse": "arn:a:1:x/b c",
    }[api]
    chat.record_request(body, api=api, model=model)
    sent = chat.events()[-1].event()
    assert isinstance(sent, onrecord.RequestSent)
    assert sent.model == model.removeprefix("publishers/google/models/")


def test_a_model_beside_a_body_that_names_another_is_refused(chat: onrecord.Conversation) -> None:
    with pytest.raises(onrecord.InvalidContent, match="another model"):
        chat.record_request(asked(chat), api=API, model="other")
    assert chat.head().version == 3


def test_the_arguments_of_googles_sdk_are_no_body(chat: onrecord.Conversation) -> None:
    with pytest.raises(onrecord.InvalidContent, match="config"):
        chat.record_request(dict(chat.request("gemini")), api="gemini", model=MODEL)


def test_secrets_of_a_request_in_hand_are_cut(chat: onrecord.Conversation) -> None:
    server = {"type": "url", "url": "https://x", "name": "x", "authorization_token": "canary-12345"}
    chat.record_request({**asked(chat), "mcp_servers": [server]}, api=API)
    stored = b"".join(each.body or b"" for each in chat.events())
    assert b"canary-12345" not in stored
    assert b"mcp_servers" in stored


def test_an_answer_is_of_whoever_sent_its_request(tmp_path: Path) -> None:
    store = onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}", actor="batch")
    ana = store.conversation("a", actor="ana")
    ana.user("Hello")
    ana.record_request(asked(ana), api=API)
    store.conversation("a").record_response(message("msg_1"), api=API)
    store.conversation("a").user("And then?")
    with ana.recording(actor="bob"):
        ana.request(API)
        ana.record_response(message("msg_2"), api=API)
    actors = [each.client_header().actor for each in ana.events(after=1)]
    named = [actors.index(actor) for actor in actors]
    assert named == [0, 0, 0, 0, 4, 5, 5, 5]
    store.close()


@pytest.mark.parametrize(
    "end", [{"role": 4, "content": "x"}, {"content": "by nobody"}, "no message"]
)
def test_a_longer_list_is_refused_for_its_end_alone(chat: onrecord.Conversation, end: Any) -> None:
    messages = [{"role": "user", "content": "Hello " * 99}]
    asking = {"model": MODEL, "max_tokens": 9}
    chat.record_request({**asking, "messages": messages}, api=API)
    version = chat.head().version
    with pytest.raises(onrecord.InvalidContent):
        chat.record_request({**asking, "messages": [*messages, end]}, api=API)
    assert chat.head().version == version
    more = [*messages, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Bye"}]
    chat.record_request({**asking, "messages": more}, api=API)
    assert [outcome.is_whole for outcome in replays(chat)] == [True, True]
