"""What the tools of MCP servers give: blocks in order, documents found, nothing told twice."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from mcp import types

import onrecord
from onrecord.domain.content import Document, Text
from tests.adapters.found_results import blob, call, extracted, result, text

PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"
JPEG = b"\xff\xd8\xff\xe0 a picture"


@pytest.fixture
def chat() -> onrecord.Conversation:
    chat = onrecord.connect("memory://").conversation("support/4711")
    call(chat)
    return chat


def told(given: dict[str, Any]) -> types.CallToolResult:
    """A result as a server sends it, read by the SDK."""
    return types.CallToolResult.model_validate(given)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes, mime_type: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "data": encoded(data), "mimeType": mime_type}


def embedded(**resource: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": resource}


def said(chat: onrecord.Conversation) -> list[str | None]:
    """The parts of the result: texts, and documents by name and type."""
    return [
        part.text if isinstance(part, Text) else f"{part.name}: {part.media_type}"
        for part in result(chat).content
    ]


def test_a_single_text_is_a_plain_text(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", told({"content": [{"type": "text", "text": "sunny"}]}))
    assert result(chat).content == (Text(text="sunny"),)


def test_blocks_keep_their_order_and_documents_are_found(chat: onrecord.Conversation) -> None:
    content = [
        {"type": "text", "text": "before"},
        image(PNG),
        embedded(uri="file:///srv/report.pdf", mimeType="application/pdf", blob=encoded(PDF)),
        {"type": "text", "text": "after"},
        {"type": "audio", "data": encoded(b"RIFF"), "mimeType": "audio/wav"},
    ]
    chat.tool_result("call_1", told({"content": content}))
    assert said(chat) == [
        *("before", "None: image/png", "report.pdf: application/pdf", "after", "None: audio/wav")
    ]
    assert [each.path for each in extracted(chat)] == ["/content/1", "/content/2", "/content/4"]
    assert [blob(chat, each.document) for each in extracted(chat)] == [[PNG], [PDF], [b"RIFF"]]


def test_an_embedded_text_is_a_document_of_its_type(chat: onrecord.Conversation) -> None:
    resource = embedded(uri="file:///srv/a%20page.html", mimeType="text/html", text="<p>Grüße")
    chat.tool_result("call_1", told({"content": [resource]}))
    (found,) = extracted(chat)
    assert (found.document.name, found.document.media_type) == ("a page.html", "text/html")
    assert blob(chat, found.document) == ["<p>Grüße".encode()]


def test_a_link_to_the_web_is_a_document_that_the_provider_reads(
    chat: onrecord.Conversation,
) -> None:
    link = {
        "type": "resource_link",
        "uri": "https://example.com/x?id=1",
        "name": "report.pdf",
        "mimeType": "application/pdf",
    }
    chat.tool_result("call_1", told({"content": [link]}))
    (found,) = extracted(chat)
    assert found.document == Document(
        media_type="application/pdf", name="report.pdf", url="https://example.com/x?id=1"
    )


def test_a_link_without_a_type_has_that_of_its_name(chat: onrecord.Conversation) -> None:
    link = {"type": "resource_link", "uri": "https://example.com/a/map.png", "name": "Map"}
    chat.tool_result("call_1", told({"content": [link]}))
    (found,) = extracted(chat)
    assert (found.document.name, found.document.media_type) == ("Map", "image/png")


def test_a_link_that_no_provider_can_read_is_told_as_it_came(chat: onrecord.Conversation) -> None:
    link = {"type": "resource_link", "uri": "note://7", "name": "n", "description": "a note"}
    chat.tool_result("call_1", told({"content": [link]}))
    assert text(chat) == link
    assert extracted(chat) == []


def test_a_failed_result_is_a_failed_result(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", told({"content": [], "isError": True}))
    assert result(chat).is_error
    assert result(chat).content == ()


def test_structured_content_that_a_text_tells_too_is_told_once(chat: onrecord.Conversation) -> None:
    serialised = '{"b": 2, "a": [1, null]}'
    given = {
        "content": [{"type": "text", "text": serialised}],
        "structuredContent": {"a": [1, None], "b": 2},
    }
    chat.tool_result("call_1", told(given))
    assert said(chat) == [serialised]


def test_structured_content_that_no_text_tells_is_told(chat: onrecord.Conversation) -> None:
    given = {
        "content": [{"type": "text", "text": "Two hits."}],
        "structuredContent": {"hits": [1, None]},
    }
    chat.tool_result("call_1", told(given))
    assert said(chat) == ["Two hits.", '{"hits":[1,null]}']


def test_structured_content_of_another_number_is_not_the_same(chat: onrecord.Conversation) -> None:
    given = {"content": [{"type": "text", "text": '{"a":true}'}], "structuredContent": {"a": 1}}
    chat.tool_result("call_1", told(given))
    assert said(chat) == ['{"a":true}', '{"a":1}']


def test_structured_content_that_is_null_is_not_absent(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", told({"content": [], "structuredContent": None}))
    chat.tool_result("call_2", told({"content": []}))
    null, nothing = (each for each in chat.log.read() if each.type == "tool_result.recorded")
    assert b'"null"' in (null.body or b"")
    assert b'"null"' not in (nothing.body or b"")


def test_a_block_of_a_kind_that_is_not_known_is_told_as_json(chat: onrecord.Conversation) -> None:
    unknown: Any = {"type": "hologram", "beams": [1, 2]}
    known = types.TextContent(type="text", text="before")
    chat.tool_result(
        "call_1", types.CallToolResult.model_construct(content=[known, unknown], is_error=False)
    )
    assert said(chat) == ["before", '{"type":"hologram","beams":[1,2]}']


def test_what_is_no_base64_is_told_as_it_came(chat: onrecord.Conversation) -> None:
    broken = types.ImageContent(type="image", data="not base64!", mime_type="image/png")
    chat.tool_result("call_1", types.CallToolResult(content=[broken]))
    assert text(chat) == {"type": "image", "data": "not base64!", "mimeType": "image/png"}


@pytest.mark.parametrize("spell", [base64.urlsafe_b64encode, base64.encodebytes])
def test_base64_in_lines_or_of_the_kind_for_urls_is_base64(
    chat: onrecord.Conversation, spell: Callable[[bytes], bytes]
) -> None:
    data = PDF + b"\xff\xfe\xfb" * 50
    block = {"type": "image", "data": spell(data).decode(), "mimeType": "application/pdf"}
    chat.tool_result("call_1", told({"content": [block]}))
    (found,) = extracted(chat)
    assert blob(chat, found.document) == [data]


def test_a_link_that_holds_bytes_is_a_document_and_nothing_of_it_stands_in_the_text(
    chat: onrecord.Conversation,
) -> None:
    uri = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"
    chat.tool_result(
        "call_1", told({"content": [{"type": "resource_link", "uri": uri, "name": "a"}]})
    )
    (found,) = extracted(chat)
    assert (found.document.name, found.document.media_type) == ("a", "application/pdf")
    assert blob(chat, found.document) == [PDF]
    assert said(chat) == ["a: application/pdf"]


@pytest.mark.parametrize(
    ("declared", "data", "media_type"),
    [
        ("image/png", JPEG, "image/jpeg"),
        ("image/png", b"???", "image/png"),
        ("Image/PNG", PNG, "image/png"),
        ("application/octet-stream", PDF, "application/pdf"),
        ("nonsense", PDF, "application/pdf"),
        ("nonsense", b"??\x00", "application/octet-stream"),
        ("", b"??\x00", "application/octet-stream"),
        ("", b"???", "text/plain"),
        ("application/pdf; version=1.7", PDF, "application/pdf; version=1.7"),
    ],
)
def test_bytes_that_tell_their_type_win_over_what_the_server_says(
    chat: onrecord.Conversation, declared: str, data: bytes, media_type: str
) -> None:
    chat.tool_result("call_1", told({"content": [image(data, declared)]}))
    (found,) = extracted(chat)
    assert found.document.media_type == media_type


def test_the_log_tells_of_a_type_that_was_wrong(
    chat: onrecord.Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "onrecord"):
        chat.tool_result("call_1", told({"content": [image(JPEG, "image/png")]}))
    assert "a document was said to be image/png: its bytes are image/jpeg" in caplog.messages


def test_annotations_and_meta_change_nothing(chat: onrecord.Conversation) -> None:
    block = {
        "type": "text",
        "text": "sunny",
        "_meta": {"com.example/secret": "Ada"},
        "annotations": {"audience": ["assistant"], "priority": 1},
    }
    chat.tool_result("call_1", told({"content": [block], "_meta": {"token": "Ada"}}))
    assert said(chat) == ["sunny"]


def test_the_content_of_a_result_and_a_resource_that_was_read_are_told_alike(
    chat: onrecord.Conversation,
) -> None:
    given = told({"content": [{"type": "text", "text": "a"}, image(PNG)]})
    chat.tool_result("call_1", given.content)
    assert said(chat) == ["a", "None: image/png"]
    read = types.ReadResourceResult.model_validate(
        {"contents": [{"uri": "file:///a.pdf", "blob": encoded(PDF)}]}
    )
    chat.tool_result("call_2", read)
    assert extracted(chat)[-1].path == "/contents/0"


def test_a_typed_result_within_a_result_is_told_by_its_handler(chat: onrecord.Conversation) -> None:
    given = told({"content": [{"type": "text", "text": "a"}, image(PNG)]})
    chat.tool_result("call_1", {"server": given, "n": 1})
    (found,) = extracted(chat)
    assert found.path == "/server/content/1"
    assert text(chat)["server"][0] == "a"


def test_plain_json_of_the_same_shape_is_data(chat: onrecord.Conversation) -> None:
    given = {"content": [image(PNG)], "structuredContent": None, "isError": True}
    chat.tool_result("call_1", given)
    assert json.dumps(text(chat)) == json.dumps(given)
    assert not result(chat).is_error
    assert extracted(chat) == []


@pytest.mark.parametrize("uri", ["file:///%2e%2e%2f%2e%2e%2fetc%2fpasswd", "file://[bad/x"])
def test_a_name_from_a_uri_leads_nowhere(chat: onrecord.Conversation, uri: str) -> None:
    chat.tool_result("call_1", told({"content": [embedded(uri=uri, blob=encoded(PDF))]}))
    (found,) = extracted(chat)
    assert found.document.name in ("passwd", None)
