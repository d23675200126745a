"""What tools of providers did, over a whole conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.blocks import AnswerBlock
from onrecord.domain.content import Document, Text, Url
from onrecord.domain.jsontext import JsonObject
from tests.sent import events_of

ANTHROPIC = "anthropic-messages"
RESPONSES = "openai-responses"
HITS = [{"type": "web_search_result", "title": "A", "url": "https://a", "page_age": None}]


@pytest.fixture
def chat() -> Iterator[onrecord.Conversation]:
    store = onrecord.connect("memory://")
    yield store.conversation("talk")


def answer(chat: onrecord.Conversation, *blocks: JsonObject, api: str = ANTHROPIC) -> UUID:
    """Record an answer as the wire's capture does."""
    response = uuid7()
    told = Answer(
        api=api,
        envelope={},
        blocks=tuple(AnswerBlock(index, value) for index, value in enumerate(blocks)),
    )
    events, spilled = events_of(told, response=response)
    for data in spilled.values():
        stream_of(chat).backend.put_blob(stream_of(chat).tenant, chat.conversation_id, (data,))
    chat.log.append(*events)
    return response


def search(call: str = "srvtoolu_1") -> JsonObject:
    return {"type": "server_tool_use", "id": call, "name": "web_search", "input": {"query": "q"}}


def found(call: str = "srvtoolu_1", content: Any = HITS) -> JsonObject:
    return {"type": "web_search_tool_result", "tool_use_id": call, "content": content}


def test_a_call_has_its_result_with_it(chat: onrecord.Conversation) -> None:
    chat.user("Look.")
    answer(chat, search(), found(), {"type": "text", "text": "There."})
    (did,) = chat.tools.server_calls()
    assert (did.call_id, did.tool, did.arguments) == ("srvtoolu_1", "web_search", {"query": "q"})
    assert did.parts == (Url(url="https://a", title="A"),)
    assert did.metadata == {"count": 1}
    assert (did.is_done, did.is_error) == (True, False)
    assert [native.value for native in did.native] == [search(), found()]


def test_a_page_that_was_fetched_has_its_text_and_its_title_apart(
    chat: onrecord.Conversation,
) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "Said."}
    page = {"type": "document", "title": "X", "source": source}
    fetched = {"type": "web_fetch_result", "url": "https://x", "content": page}
    call: JsonObject = {"type": "server_tool_use", "id": "f", "name": "web_fetch", "input": {}}
    chat.user("Look.")
    answer(chat, call, {"type": "web_fetch_tool_result", "tool_use_id": "f", "content": fetched})
    (did,) = chat.tools.server_calls()
    assert did.parts == (Url(url="https://x", title="X"), Text(text="Said."))
    assert did.metadata == {"title": "X"}


def test_a_result_with_nothing_in_it_is_a_result(chat: onrecord.Conversation) -> None:
    chat.user("Look.")
    answer(chat, search(), found(content=[]))
    (did,) = chat.tools.server_calls()
    assert (did.is_done, did.parts, did.metadata) == (True, (), {"count": 0})


def test_a_result_in_a_later_answer_belongs_to_its_call(chat: onrecord.Conversation) -> None:
    chat.user("Look.")
    tool: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "ask", "input": {}}
    answer(chat, search("srvtoolu_1"), search("srvtoolu_2"), tool)
    assert [did.is_done for did in chat.tools.server_calls()] == [False, False]
    answer(chat, found("srvtoolu_2", []), found("srvtoolu_1"))
    first, second = chat.tools.server_calls()
    assert (first.call_id, len(first.parts)) == ("srvtoolu_1", 1)
    assert (second.call_id, len(second.parts)) == ("srvtoolu_2", 0)


def test_a_result_without_its_call_is_told_alone(chat: onrecord.Conversation) -> None:
    chat.user("Look.")
    answer(chat, found())
    (did,) = chat.tools.server_calls()
    assert (did.tool, did.call_id, did.is_done, did.arguments) == (
        "web_search",
        "srvtoolu_1",
        True,
        {},
    )


def test_a_fork_tells_of_what_was_done_before_it(chat: onrecord.Conversation) -> None:
    chat.user("Look.")
    answer(chat, search())
    fork = chat.fork("other")
    answer(fork, found())
    (did,) = fork.tools.server_calls()
    assert did.is_done
    (before,) = chat.tools.server_calls()
    assert not before.is_done


def test_what_was_redacted_is_not_told(chat: onrecord.Conversation) -> None:
    chat.user("Look.")
    answer(chat, search(), found())
    chat.redact(chat.tools.server_calls()[0].version)
    (did,) = chat.tools.server_calls()
    assert did.arguments == {}


def test_one_item_may_hold_a_call_and_its_result(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    item = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "AAAA"}
    answer(chat, item, api=RESPONSES)
    (did,) = chat.tools.server_calls()
    assert did.tool == "image_generation"
    assert did.parts == (Document(media_type="image/png", url="data:image/png;base64,AAAA"),)
    assert len(did.native) == 1


def test_long_results_are_whole(chat: onrecord.Conversation) -> None:
    chat.user("Run.")
    long = "x" * 200_000
    run = {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "code": "f()",
        "outputs": [{"type": "logs", "logs": long}],
    }
    answer(chat, run, api=RESPONSES)
    (did,) = chat.tools.server_calls()
    assert did.parts == (Text(text=long),)


def test_an_item_whose_id_differs_from_its_calls_is_its_result(chat: onrecord.Conversation) -> None:
    chat.user("Find a tool.")
    answer(
        chat,
        {"type": "tool_search_call", "id": "tsc_1", "call_id": None, "execution": "server"},
        {
            "type": "tool_search_output",
            "id": "tso_1",
            "call_id": None,
            "execution": "server",
            "tools": [{"type": "function", "name": "f"}],
        },
        api=RESPONSES,
    )
    (did,) = chat.tools.server_calls()
    assert (did.tool, did.parts, did.is_done) == ("tool_search", (Text(text="f"),), True)


def test_a_conversation_that_did_not_begin_did_nothing(chat: onrecord.Conversation) -> None:
    assert chat.tools.server_calls() == ()
