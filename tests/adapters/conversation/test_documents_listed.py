"""All documents of a conversation: whose each is, and which event holds it."""

from __future__ import annotations

import base64
from itertools import permutations
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.documents import short_id
from onrecord.domain.events import (
    DocumentExtracted,
    MessageRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    SignalReceived,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.projections.history.held_documents import HeldDocument
from tests.adapters.found_results import call

PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"
URL = Document(media_type="image/png", name="map.png", url="https://example.com/map.png")
RESPONSE = UUID(int=7)


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


def told(held: HeldDocument) -> tuple[Any, ...]:
    return (held.version, held.origin, held.tool_name, held.call_id, held.path)


def test_a_document_of_the_user_stands_at_its_prompt(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    (tmp_path / "a.pdf").write_bytes(PDF)
    chat.user("Look:", documents=[tmp_path / "a.pdf", URL])
    file, link = chat.documents()
    assert told(file) == (2, "user", None, None, None)
    assert (file.document.name, file.blob) == ("a.pdf", file.document.blob)
    assert file.blob is not None
    assert (file.blob.size, file.short_id) == (len(PDF), file.blob.sha256[:8])
    assert (link.document, link.blob, link.short_id) == (URL, None, None)


def test_a_document_of_a_result_stands_at_its_own_event_with_call_tool_and_place(
    chat: onrecord.Conversation,
) -> None:
    call(chat)
    chat.tool_result("call_1", {"a": PDF, "b": [PNG]})
    first, second = chat.documents()
    assert told(first) == (5, "tool", "look", "call_1", "/a")
    assert told(second) == (6, "tool", "look", "call_1", "/b/0")


def test_each_result_tells_of_its_own_documents(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", {"a": PDF})
    chat.tool_result("call_2", {"b": PDF})
    assert [(held.call_id, held.path) for held in chat.documents()] == [
        *(("call_1", "/a"), ("call_2", "/b"))
    ]


def test_a_result_of_which_no_document_has_its_event_tells_of_them_itself(
    chat: onrecord.Conversation,
) -> None:
    call(chat)
    result = ToolResult(call_id="call_1", content=(Text(text="see"), URL))
    chat.log.append(ToolResultRecorded(call_id="call_1", content=result))
    (held,) = chat.documents()
    assert told(held) == (4, "tool", "look", "call_1", None)


@pytest.mark.parametrize("order", list(permutations(range(4))))
@pytest.mark.parametrize("redacted", range(5))
def test_each_event_places_its_document_in_whatever_order_they_come(
    chat: onrecord.Conversation, order: tuple[int, ...], redacted: int
) -> None:
    held = [URL.model_copy(update={"name": f"{number}.png"}) for number in range(4)]
    result = ToolResult(call_id="call_1", content=tuple(held))
    found = [DocumentExtracted(document=held[at], call_id="call_1", path=f"/{at}") for at in order]
    chat.log.append(ToolResultRecorded(call_id="call_1", content=result), *found)
    expected = {f"{at}.png": (version, f"/{at}") for version, at in enumerate(order, 3)}
    if redacted < len(order):
        chat.redact(expected.pop(f"{redacted}.png")[0])
    told = chat.documents()
    assert [each.document.name for each in told] == sorted(expected)
    assert {each.document.name: (each.version, each.path) for each in told} == expected


def test_a_rejected_result_tells_of_its_documents_too(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", "sunny")
    chat.tool_result("call_1", {"a": PDF})
    (held,) = chat.documents()
    assert told(held) == (5, "rejected", "look", "call_1", None)


def test_documents_of_signals_and_operators_are_theirs(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    chat.log.append(SignalReceived(content=(URL,)))
    chat.log.append(MessageRecorded(role="system", content=(URL,)))
    assert [held.origin for held in chat.documents()] == ["signal", "operator"]


@pytest.mark.parametrize(
    "native",
    [
        Native(
            api="anthropic-messages",
            value={
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": base64.b64encode(PNG).decode(),
                },
            },
        ),
        Native(
            api="openai-chat",
            value={
                "type": "image_url",
                "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"},
            },
        ),
    ],
    ids=["anthropic", "openai"],
)
def test_a_document_in_an_apis_own_json_is_read_from_it(
    chat: onrecord.Conversation, native: Native
) -> None:
    chat.log.append(MessageRecorded(role="user", content=(native,)))
    (held,) = chat.documents()
    assert (held.origin, held.document.media_type) == ("user", "image/png")
    assert held.blob is not None
    assert held.blob.size == len(PNG)


def test_a_result_in_an_apis_own_json_is_read_from_it(chat: onrecord.Conversation) -> None:
    call(chat)
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    value = {
        "type": "tool_result",
        "tool_use_id": "call_1",
        "content": [{"type": "image", "source": source}],
    }
    content = Native(api="anthropic-messages", value=value)
    chat.log.append(ToolResultRecorded(call_id="call_1", content=content))
    (held,) = chat.documents()
    assert told(held) == (4, "tool", "look", "call_1", None)


def test_a_document_that_a_providers_tool_gave_is_listed(chat: onrecord.Conversation) -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    page = {"type": "web_fetch_result", "content": {"type": "document", "source": source}}
    value = {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_1", "content": page}
    chat.log.append(
        ServerToolResultRecorded(
            response=RESPONSE,
            index=0,
            call_id="srvtoolu_1",
            content=Native(api="anthropic-messages", value=value),
        )
    )
    (document,) = chat.documents()
    assert (document.origin, document.call_id) == ("provider", "srvtoolu_1")
    assert document.document.media_type == "application/pdf"


def test_a_picture_that_a_providers_tool_made_is_told_once(chat: onrecord.Conversation) -> None:
    value = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": base64.b64encode(PNG).decode(),
        "output_format": "png",
    }
    chat.user("Draw.")
    blob = stream_of(chat).put((PNG,))
    picture = Document(media_type="image/png", name="image_0.png", blob=blob)
    content = Native(api="openai-responses", value=value)
    made = ServerToolCallRecorded(
        response=RESPONSE, index=0, call_id="ig_1", name="image_generation", content=content
    )
    found = DocumentExtracted(
        document=picture, call_id="ig_1", tool_name="image_generation", api="openai-responses"
    )
    chat.log.append(made, found)
    (held,) = chat.documents()
    assert told(held) == (4, "provider", "image_generation", "ig_1", None)


def test_a_redacted_document_is_not_told_and_neither_are_those_of_a_redacted_result(
    chat: onrecord.Conversation,
) -> None:
    call(chat)
    chat.tool_result("call_1", {"a": PDF, "b": PNG})
    chat.redact(5)
    assert [held.path for held in chat.documents()] == ["/b"]
    chat.redact(4)
    assert chat.documents() == ()


def test_a_fork_has_the_documents_of_its_origin(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", {"a": PDF})
    fork = chat.fork("support/4711/otherwise")
    chat.tool_result("call_2", {"b": PNG})
    fork.user("And this?", documents=[PNG])
    assert [held.origin for held in fork.documents()] == ["tool", "user"]
    owners = [held.conversation_id for held in fork.documents()]
    assert owners == [chat.conversation_id, fork.conversation_id]


def test_documents_are_told_at_a_version(chat: onrecord.Conversation) -> None:
    chat.user(documents=[PDF])
    chat.user(documents=[PNG])
    assert len(chat.documents(at=2)) == 1
    assert len(chat.documents()) == 2


def test_a_conversation_that_has_not_begun_has_none(chat: onrecord.Conversation) -> None:
    assert chat.documents() == ()


def test_a_tool_is_named_as_its_caller_knows_it(chat: onrecord.Conversation) -> None:
    chat.tools.declare([{"name": "find/files", "input_schema": {"type": "object"}}])
    chat.user("Look it up.")
    name = chat.request("anthropic-messages")["tools"][0]["name"]
    made = ToolCall(id="call_1", name=name, arguments={})
    chat.log.append(ToolCallRecorded(call_id="call_1", name=name, content=made))
    result = ToolResult(call_id="call_1", content=(URL,))
    chat.log.append(ToolResultRecorded(call_id="call_1", content=result))
    (held,) = chat.documents()
    assert held.tool_name == "find/files"


def test_the_short_id_is_what_stands_before_the_first_dash() -> None:
    assert short_id("1aedc46e-77") == "1aedc46e"
    assert short_id("1aedc46e") == "1aedc46e"
    assert short_id("-1aedc46e") == "-1aedc46e"
