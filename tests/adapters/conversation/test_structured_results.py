"""Results that are no text: an object, a list, a number reach each API as what they are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.domain.content import Text, ToolCall, ToolResult
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded
from onrecord.domain.log import Duplicate

OBJECTS = [{"k": 1}, {}, {"result": "x"}, {"error": None}, {"nested": {"list": [1, {"k": "ü"}]}}]
OTHER_VALUES = [42, 1.5, True, [1, 2, 3], [], ["a", "b"], ["a", {"k": 1}]]
TEXTS = ["sunny", '{"k":1}', "[1]", "42"]


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[onrecord.Conversation]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'chat.db'}") as store:
        chat = store.conversation("structured")
        chat.user("Look.")
        call = ToolCall(id="call_1", name="look", arguments={})
        chat.log.append(ToolCallRecorded(call_id="call_1", name="look", content=call))
        yield chat


def response_of(chat: onrecord.Conversation) -> Any:
    """Return what Gemini is told of the result."""
    (part,) = chat.request("gemini")["contents"][-1]["parts"]
    return part["functionResponse"]["response"]


@pytest.mark.parametrize("value", OBJECTS, ids=json.dumps)
def test_gemini_gets_an_object_as_it_is(chat: onrecord.Conversation, value: object) -> None:
    chat.tool_result("call_1", value)
    assert response_of(chat) == value


@pytest.mark.parametrize("value", OTHER_VALUES, ids=json.dumps)
def test_gemini_gets_what_is_no_object_under_result(
    chat: onrecord.Conversation, value: object
) -> None:
    chat.tool_result("call_1", value)
    assert response_of(chat) == {"result": value}
    assert type(response_of(chat)["result"]) is type(value)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_stays_a_text_though_it_is_json(chat: onrecord.Conversation, text: str) -> None:
    chat.tool_result("call_1", text)
    assert response_of(chat) == {"result": text}
    (message,) = chat.request("bedrock-converse")["messages"][-1:]
    assert message["content"][0]["toolResult"]["content"] == [{"text": text}]


@pytest.mark.parametrize("value", [{"code": 7}, [7], 7])
def test_gemini_gets_what_failed_under_error(chat: onrecord.Conversation, value: object) -> None:
    chat.tool_result("call_1", value, is_error=True)
    assert response_of(chat) == {"error": value}


@pytest.mark.parametrize("value", OBJECTS, ids=json.dumps)
def test_bedrock_gets_an_object_as_json(chat: onrecord.Conversation, value: object) -> None:
    chat.tool_result("call_1", value)
    result = chat.request("bedrock-converse")["messages"][-1]["content"][0]["toolResult"]
    assert result["content"] == [{"json": value}]


@pytest.mark.parametrize("value", OTHER_VALUES, ids=json.dumps)
def test_bedrock_gets_what_is_no_object_as_text(chat: onrecord.Conversation, value: object) -> None:
    chat.tool_result("call_1", value)
    result = chat.request("bedrock-converse")["messages"][-1]["content"][0]["toolResult"]
    assert [json.loads(part["text"]) for part in result["content"]] == [value]


@pytest.mark.parametrize("value", [*OBJECTS, *OTHER_VALUES], ids=json.dumps)
def test_apis_whose_results_are_texts_get_json(chat: onrecord.Conversation, value: object) -> None:
    chat.tool_result("call_1", value)
    (block,) = chat.request("anthropic-messages")["messages"][-1]["content"]
    (text,) = block["content"]
    assert json.loads(text["text"]) == value
    assert json.loads(chat.request("openai-chat")["messages"][-1]["content"]) == value
    assert json.loads(chat.request("openai-responses")["input"][-1]["output"]) == value
    assert json.loads(chat.request("ollama")["messages"][-1]["content"]) == value


def test_a_document_in_an_object_leaves_it_an_object(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    picture = tmp_path / "chart.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(32))
    chat.tool_result("call_1", {"title": "sales", "chart": picture})
    request = chat.request("gemini", model="gemini-3-pro-preview")
    answer = request["contents"][-1]["parts"][0]["functionResponse"]
    assert answer["response"]["title"] == "sales"
    assert len(answer["parts"]) == 1


def test_an_object_given_again_changes_nothing(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", {"k": 1})
    assert isinstance(chat.tool_result("call_1", {"k": 1}), Duplicate)


def test_a_text_after_its_object_is_another_result(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", {"k": 1})
    assert isinstance(chat.tool_result("call_1", '{"k":1}'), onrecord.Rejected)


def test_an_event_that_calls_words_json_is_told_as_words(chat: onrecord.Conversation) -> None:
    words = ToolResult(call_id="call_1", content=(Text(text="no JSON"),), is_json=True)
    chat.log.append(ToolResultRecorded(call_id="call_1", content=words))
    assert response_of(chat) == {"result": "no JSON"}


@pytest.mark.parametrize(
    ("value", "member"), [({"title": "sales"}, {"title": "sales"}), ([1, 2], {"result": [1, 2]})]
)
def test_the_tags_of_documents_that_follow_stand_in_what_a_tool_gave(
    chat: onrecord.Conversation, value: Any, member: dict[str, Any]
) -> None:
    document = b"%PDF-1.7 sales"
    chat.tool_result(
        "call_1", {**value, "pdf": document} if isinstance(value, dict) else [*value, document]
    )
    answer = chat.request("gemini", model="gemini-2.5-pro")["contents"][-2]["parts"][0]
    response = answer["functionResponse"]["response"]
    (tag,) = response.pop("documents")
    assert tag.startswith("<document ")
    (name,) = member
    told = response[name]
    assert told[:2] == member[name] if isinstance(told, list) else told == member[name]


def test_a_value_with_a_member_of_that_name_goes_as_text(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", {"documents": [b"%PDF-1.7 sales"]})
    answer = chat.request("gemini", model="gemini-2.5-pro")["contents"][-2]["parts"][0]
    assert "<document " in answer["functionResponse"]["response"]["result"]
