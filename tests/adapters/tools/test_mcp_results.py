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
def talk() -> onrecord.Talk:
    talk = onrecord.connect("memory://").conversation("support/4711")
    call(talk)
    return talk


def told(given: dict[str, Any]) -> types.CallToolResult:
    """A result as a server sends it, read by the SDK."""
    return types.CallToolResult.model_validate(given)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes, mime_type: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "data": encoded(data), "mimeType": mime_type}


def embedded(**resource: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": resource}


def said(talk: onrecord.Talk) -> list[str | None]:
    """The parts of the result: texts, and documents by name and type."""
    return [
        part.text if isinstance(part, Text) else f"{part.name}: {part.media_type}"
        for part in result(talk).content
    ]


def test_a_single_text_is_a_plain_text(talk: onrecord.Talk) -> None:
    talk.tool_result("call_1", told({"content": [{"type": "text", "text": "sunny"}]}))
    assert result(talk).content == (Text(text="sunny"),)


def test_blocks_keep_their_order_and_documents_are_found(talk: onrecord.Talk) -> None:
    content = [
        {"type": "text", "text": "before"},
        image(PNG),
        embedded(uri="file:///srv/report.pdf", mimeType="application/pdf", blob=encoded(PDF)),
        {"type": "text", "text": "after"},
        {"type": "audio", "data": encoded(b"RIFF"), "mimeType": "audio/wav"},
    ]
    talk.tool_result("call_1", told({"content": content}))
    assert said(talk) == [
        *("before", "None: image/png", "report.pdf: application/pdf", "after", "None: audio/wav")
    ]
    assert [each.path for each in extracted(talk)] == ["/content/1", "/content/2", "/content/4"]
    assert [blob(talk, each.document) for each in extracted(talk)] == [[PNG], [PDF], [b"RIFF"]]


def test_an_embedded_text_is_a_document_of_its_type(talk: onrecord.Talk) -> None:
    resource = embedded(uri="file:///srv/a%20page.html", mimeType="text/html", text="<p>Grüße")
    talk.tool_result("call_1", told({"content": [resource]}))
    (found,) = extracted(talk)
    assert (found.document.name, found.document.media_type) == ("a page.html", "text/html")
    assert blob(talk, found.document) == ["<p>Grüße".encode()]


def test_a_link_to_the_web_is_a_document_that_the_provider_reads(talk: onrecord.Talk) -> None:
    link = {
        "type": "resource_link",
        "uri": "https://example.com/x?id=1",
        "name": "report.pdf",
        "mimeType": "application/pdf",
    }
    talk.tool_result("call_1", told({"content": [link]}))
    (found,) = extracted(talk)
    assert found.document == Document(
        media_type="application/pdf", name="report.pdf", url="https://example.com/x?id=1"
    )


def test_a_link_without_a_type_has_that_of_its_name(talk: onrecord.Talk) -> None:
    link = {"type": "resource_link", "uri": "https://example.com/a/map.png", "name": "Map"}
    talk.tool_result("call_1", told({"content": [link]}))
    (found,) = extracted(talk)
    assert (found.document.name, found.document.media_type) == ("Map", "image/png")


def test_a_link_that_no_provider_can_read_is_told_as_it_came(talk: onrecord.Talk) -> None:
    link = {"type": "resource_link", "uri": "note://7", "name": "n", "description": "a note"}
    talk.tool_result("call_1", told({"content": [link]}))
    assert text(talk) == link
    assert extracted(talk) == []


def test_a_failed_result_is_a_failed_result(talk: onrecord.Talk) -> None:
    talk.tool_result("call_1", told({"content": [], "isError": True}))
    assert result(talk).is_error
    assert result(talk).content == ()


def test_structured_content_that_a_text_tells_too_is_told_once(talk: onrecord.Talk) -> None:
    serialised = '{"b": 2, "a": [1, null]}'
    given = {
        "content": [{"type": "text", "text": serialised}],
        "structuredContent": {"a": [1, None], "b": 2},
    }
    talk.tool_result("call_1", told(given))
    assert said(talk) == [serialised]


def test_structured_content_that_no_text_tells_is_told(talk: onrecord.Talk) -> None:
    given = {
        "content": [{"type": "text", "text": "Two hits."}],
        "structuredContent": {"hits": [1, None]},
    }
    talk.tool_result("call_1", told(given))
    assert said(talk) == ["Two hits.", '{"hits":[1,null]}']


def test_structured_content_of_another_number_is_not_the_same(talk: onrecord.Talk) -> None:
    given = {"content": [{"type": "text", "text": '{"a":true}'}], "structuredContent": {"a": 1}}
    talk.tool_result("call_1", told(given))
    assert said(talk) == ['{"a":true}', '{"a":1}']


def test_structured_content_that_is_null_is_not_absent(talk: onrecord.Talk) -> None:
    talk.tool_result("call_1", told({"content": [], "structuredContent": None}))
    talk.tool_result("call_2", told({"content": []}))
    null, nothing = (each for each in talk.log.read() if each.type == "tool_result.recorded")
    assert b'"null"' in (null.body or b"")
    assert b'"null"' not in (nothing.body or b"")


def test_a_block_of_a_kind_that_is_not_known_is_told_as_json(talk: onrecord.Talk) -> None:
    unknown: Any = {"type": "hologram", "beams": [1, 2]}
    known = types.TextContent(type="text", text="before")
    talk.tool_result(
        "call_1", types.CallToolResult.model_construct(content=[known, unknown], is_error=False)
    )
    assert said(talk) == ["before", '{"type":"hologram","beams":[1,2]}']


def test_what_is_no_base64_is_told_as_it_came(talk: onrecord.Talk) -> None:
    broken = types.ImageContent(type="image", data="not base64!", mime_type="image/png")
    talk.tool_result("call_1", types.CallToolResult(content=[broken]))
    assert text(talk) == {"type": "image", "data": "not base64!", "mimeType": "image/png"}


@pytest.mark.parametrize("spell", [base64.urlsafe_b64encode, base64.encodebytes])
def test_base64_in_lines_or_of_the_kind_for_urls_is_base64(
    talk: onrecord.Talk, spell: Callable[[bytes], bytes]
) -> None:
    data = PDF + b"\xff\xfe\xfb" * 50
    block = {"type": "image", "data": spell(data).decode(), "mimeType": "application/pdf"}
    talk.tool_result("call_1", told({"content": [block]}))
    (found,) = extracted(talk)
    assert blob(talk, found.document) == [data]


def test_a_link_that_holds_bytes_is_a_document_and_nothing_of_it_stands_in_the_text(
    talk: onrecord.Talk,
) -> None:
    uri = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"
    talk.tool_result(
        "call_1", told({"content": [{"type": "resource_link", "uri": uri, "name": "a"}]})
    )
    (found,) = extracted(talk)
    assert (found.document.name, found.document.media_type) == ("a", "application/pdf")
    assert blob(talk, found.document) == [PDF]
    assert said(talk) == ["a: application/pdf"]


@pytest.mark.parametrize(
    ("declared", "data", "media_type"),
    [
        ("image/png", JPEG, "image/jpeg"),
        ("image/png", b"???", "image/png"),
        ("Image/PNG", PNG, "image/png"),
        ("application/octet-stream", PDF, "application/pdf"),
        ("nonsense", PDF, "application/pdf"),
        ("nonsense", b"???", "application/octet-stream"),
        ("", b"???", "application/octet-stream"),
        ("application/pdf; version=1.7", PDF, "application/pdf; version=1.7"),
    ],
)
def test_bytes_that_tell_their_type_win_over_what_the_server_says(
    talk: onrecord.Talk, declared: str, data: bytes, media_type: str
) -> None:
    talk.tool_result("call_1", told({"content": [image(data, declared)]}))
    (found,) = extracted(talk)
    assert found.document.media_type == media_type


def test_the_log_tells_of_a_type_that_was_wrong(
    talk: onrecord.Talk, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "onrecord"):
        talk.tool_result("call_1", told({"content": [image(JPEG, "image/png")]}))
    assert "a document was said to be image/png: its bytes are image/jpeg" in caplog.messages


def test_annotations_and_meta_change_nothing(talk: onrecord.Talk) -> None:
    block = {
        "type": "text",
        "text": "sunny",
        "_meta": {"com.example/secret": "Ada"},
        "annotations": {"audience": ["assistant"], "priority": 1},
    }
    talk.tool_result("call_1", told({"content": [block], "_meta": {"token": "Ada"}}))
    assert said(talk) == ["sunny"]


def test_the_content_of_a_result_and_a_resource_that_was_read_are_told_alike(
    talk: onrecord.Talk,
) -> None:
    given = told({"content": [{"type": "text", "text": "a"}, image(PNG)]})
    talk.tool_result("call_1", given.content)
    assert said(talk) == ["a", "None: image/png"]
    read = types.ReadResourceResult.model_validate(
        {"contents": [{"uri": "file:///a.pdf", "blob": encoded(PDF)}]}
    )
    talk.tool_result("call_2", read)
    assert extracted(talk)[-1].path == "/contents/0"


def test_a_typed_result_within_a_result_is_told_by_its_handler(talk: onrecord.Talk) -> None:
    given = told({"content": [{"type": "text", "text": "a"}, image(PNG)]})
    talk.tool_result("call_1", {"server": given, "n": 1})
    (found,) = extracted(talk)
    assert found.path == "/server/content/1"
    assert text(talk)["server"][0] == "a"


def test_plain_json_of_the_same_shape_is_data(talk: onrecord.Talk) -> None:
    given = {"content": [image(PNG)], "structuredContent": None, "isError": True}
    talk.tool_result("call_1", given)
    assert json.dumps(text(talk)) == json.dumps(given)
    assert not result(talk).is_error
    assert extracted(talk) == []


@pytest.mark.parametrize("uri", ["file:///%2e%2e%2f%2e%2e%2fetc%2fpasswd", "file://[bad/x"])
def test_a_name_from_a_uri_leads_nowhere(talk: onrecord.Talk, uri: str) -> None:
    talk.tool_result("call_1", told({"content": [embedded(uri=uri, blob=encoded(PDF))]}))
    (found,) = extracted(talk)
    assert found.document.name in ("passwd", None)
