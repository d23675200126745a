"""Documents, instructions and tools in a request to Anthropic."""

from __future__ import annotations

import base64
import hashlib

import pytest

from onrecord.domain.content import Document, Native, Text, ToolResult
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import (
    DocumentExtracted,
    InstructionsSet,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.documents import needed_blobs
from onrecord.projections.apis.request import Options
from onrecord.projections.history.turns import history
from tests.projections.happenings import (
    API,
    Story,
    document,
    flat,
    result_of,
    rules,
    text,
    tool_use,
)

PDF = b"%PDF-1.7"
DIGEST = hashlib.sha256(PDF).hexdigest()


def test_documents_are_spelled_by_their_kind() -> None:
    story = Story()
    words = b"plain words"
    csv = hashlib.sha256(words).hexdigest()
    story.user(
        document("report.pdf", "application/pdf", DIGEST),
        document("photo.png", "image/png", DIGEST),
        document("table.csv", "text/csv; charset=utf-8", csv),
        Document(media_type="image/jpeg", url="https://example.com/x.jpg"),
        document("song.mp3", "audio/mpeg", DIGEST),
    )
    story.answer("I see.")
    story.user("thanks")
    needed = needed_blobs(history(story.events), Options())
    assert [blob.sha256 for blob in needed] == [DIGEST, csv]
    request = story.request(blobs={DIGEST: PDF, csv: words})
    encoded = base64.b64encode(PDF).decode()
    assert [block for _, block in flat(request)[:5]] == [
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": encoded},
            "title": "report.pdf",
        },
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": encoded},
        },
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "plain words"},
            "title": "table.csv",
        },
        {"type": "image", "source": {"type": "url", "url": "https://example.com/x.jpg"}},
        text("[The document song.mp3 (audio/mpeg) cannot be shown here.]"),
    ]
    assert rules(request) == {"document"}


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("application/pdf", "document"),
        ("image/png", "image"),
        ("image/*", "image"),
        ("image/tiff", "text"),
        ("text/html", "text"),
        ("application/octet-stream", "text"),
    ],
)
def test_at_an_address_the_service_reads_pictures_and_pdfs_alone(
    media_type: str, kind: str
) -> None:
    """A document there is a PDF to it: `URLPDFSource` in its SDK."""
    story = Story()
    story.user(Document(media_type=media_type, url="https://example.com/x"))
    story.answer("I see.")
    assert flat(story.request())[0][1]["type"] == kind


def test_a_document_in_a_result_travels_in_the_result() -> None:
    story = Story()
    story.answer(tool_use("toolu_1"), stop="tool_use")
    found = document("report.pdf", "application/pdf", DIGEST)
    result = ToolResult(call_id="toolu_1", content=(Text(text="here"), found))
    story.happen(ToolResultRecorded(call_id="toolu_1", content=result))
    [block] = story.request(blobs={DIGEST: PDF})["messages"][-1]["content"]
    assert [part["type"] for part in block["content"]] == ["text", "document"]


def test_an_extracted_document_travels_behind_a_tag() -> None:
    story = Story()
    story.answer(tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "see report.pdf")
    found = document('re"port.pdf', "application/pdf", DIGEST)
    story.happen(DocumentExtracted(document=found, call_id="toolu_1", tool_name="look_up"))
    result, preamble, tag, shown = story.request(blobs={DIGEST: PDF})["messages"][-1]["content"]
    assert result == result_of("toolu_1", "see report.pdf")
    assert preamble == text("Documents extracted from tool call results:")
    assert tag == text(
        '<document tool-name="look_up" tool-call-id="toolu_1" '
        f'document-short-id="{DIGEST[:8]}" filename="re&quot;port.pdf" />'
    )
    assert shown["type"] == "document"


def test_a_missing_blob_is_an_error() -> None:
    story = Story()
    story.user(document("report.pdf", "application/pdf", DIGEST))
    with pytest.raises(CorruptRecord):
        story.request()


def test_a_native_blob_is_put_back_in_its_place() -> None:
    story = Story()
    story.user({"type": "document", "source": {"data": {"$onrecord.blob": DIGEST, "size": 8}}})
    assert [blob.size for blob in needed_blobs(history(story.events), Options())] == [8]
    request = story.request(blobs={DIGEST: PDF})
    assert flat(request)[0][1]["source"]["data"] == PDF.decode()


def test_instructions_and_tools_are_spelled_as_they_were_given() -> None:
    story = Story()
    story.instruct("Be brief.")
    custom = {"type": "web_search_20250305", "name": "web_search"}
    neutral = ToolDefinition(name="f", description="does", input_schema={"type": "object"})
    story.happen(ToolsDeclared(tools=(neutral, Native(api=API, value=custom))))
    story.user("hi")
    request = story.request()
    assert list(request) == ["system", "tools", "messages"]
    assert request["system"] == "Be brief."
    assert request["tools"] == [
        {"name": "f", "description": "does", "input_schema": {"type": "object"}},
        custom,
    ]


def test_recorded_instructions_come_back_as_the_blocks_they_were() -> None:
    blocks = [text("one"), {**text("two"), "cache_control": {"type": "ephemeral"}}]
    story = Story()
    story.happen(InstructionsSet(content=Native(api=API, value={"system": blocks})))
    story.user("hi")
    request = story.request()
    assert request["system"] == [text("one"), text("two")]
    assert rules(request) == {"R16"}


def test_blank_instructions_are_none() -> None:
    story = Story()
    story.instruct(" ")
    story.user("hi")
    assert list(story.request()) == ["messages"]
