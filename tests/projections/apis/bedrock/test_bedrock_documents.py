"""Files in requests to Bedrock: bytes, names, and where which model reads them."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from typing import Any

import pytest

from onrecord.domain.content import Document, Text, ToolResult
from onrecord.domain.errors import UnsupportedDocument
from onrecord.domain.events import DocumentExtracted, MessageRecorded, ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.bedrock.draft import encode_document
from onrecord.projections.apis.bedrock.read import document as document_of
from onrecord.projections.apis.documents import PREAMBLE
from onrecord.projections.apis.request import Request
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.bedrock.bedrock_happenings import CLAUDE, LLAMA, NOVA, WRITER
from tests.projections.happenings import Story, document, rules

PDF, PIXEL, NOTE, FILM = "a" * 64, "b" * 64, "c" * 64, "d" * 64
BLOBS = {PDF: b"%PDF-1.7", PIXEL: b"\x89PNG\r\n\x1a\n", NOTE: b"a note", FILM: b"film"}
REPORT = document("Q3 report_final.pdf", "application/pdf", PDF)
PICTURE = document("a.png", "image/png", PIXEL)
MOVIE = document("a.mp4", "video/mp4", FILM)
MINUTES = document("minutes.md", "text/markdown", NOTE)
OFFICE = "application/vnd.openxmlformats-officedocument."
S3: JsonObject = {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b1/a.png"}}}}


def asked(*content: str | Document) -> Story:
    story = Story()
    story.user(*content)
    return story


def converse(story: Story, model: str | None = None) -> Request:
    return bedrock.converse(story, model, blobs=BLOBS)


def found(model: str, *content: Text | Document) -> Story:
    """A tool gave files."""
    story = asked("hi")
    bedrock.answers(story, bedrock.call("t1"), model=model)
    result = ToolResult(call_id="t1", content=content)
    story.happen(ToolResultRecorded(call_id="t1", content=result))
    return story


def encoded(digest: str) -> str:
    return b64encode(BLOBS[digest]).decode()


def test_files_are_bytes_in_the_arguments_and_base64_in_the_body() -> None:
    request = converse(asked("see", REPORT, PICTURE), CLAUDE)
    for told, data in ((request, BLOBS.__getitem__), (request.body, encoded)):
        held: list[Any] = told["messages"][0]["content"]
        assert held == [
            {"text": "see"},
            {
                "document": {
                    "format": "pdf",
                    "name": "Q3 report final pdf",
                    "source": {"bytes": data(PDF)},
                }
            },
            {"image": {"format": "png", "source": {"bytes": data(PIXEL)}}},
        ]
    assert request.body_parts()["messages"].decode().count(encoded(PDF)) == 1


def test_a_name_that_comes_again_gets_a_number() -> None:
    longest = document("x" * 300, "text/csv", NOTE)
    nameless = document("...", "text/plain", NOTE)
    story = asked("see", REPORT, REPORT, longest, longest, nameless, REPORT)
    told = [
        block for message in converse(story, CLAUDE)["messages"] for block in message["content"]
    ]
    assert [block["document"]["name"] for block in told if "document" in block] == [
        "Q3 report final pdf",
        "Q3 report final pdf (2)",
        "x" * 200,
        "x" * 196 + " (2)",
        "Document",
        "Q3 report final pdf (3)",
    ]


def test_own_documents_keep_their_names_as_long_as_each_has_one() -> None:
    own = {"document": {"name": "Document 1", "format": "txt", "source": {"bytes": "YQ=="}}}
    story = Story()
    content = (Text(text="see"), bedrock.native(own), bedrock.native(own))
    story.happen(MessageRecorded(role="user", content=content))
    request = converse(story, CLAUDE)
    first, second = request.body["messages"][0]["content"][1:]
    assert first == own
    assert second["document"]["name"] == "Document 1 (2)"
    assert "B7" in rules(request)


@pytest.mark.parametrize(("content", "line"), [((REPORT,), True), ((REPORT, "see"), False)])
def test_a_text_stands_with_documents(content: tuple[str | Document, ...], line: bool) -> None:
    """ "A text block must be included when using documents." """
    request = converse(asked(*content), CLAUDE)
    kinds = bedrock.kinds(request)[0]
    assert kinds == (["text", "document"] if line else ["document", "text"])
    assert bool(request.report.of("B6")) == line


def test_what_is_said_later_moves_no_line() -> None:
    story = asked(REPORT)
    first = converse(story, CLAUDE).body["messages"][0]["content"]
    bedrock.asks(story)
    story.user("what is it?")
    later = converse(story, CLAUDE).body["messages"][0]["content"]
    assert later[: len(first)] == first


@pytest.mark.parametrize(
    ("model", "file", "kind"),
    [
        (CLAUDE, PICTURE, "image"),
        (NOVA, MOVIE, "video"),
        (LLAMA, REPORT, "document"),
        (None, PICTURE, "image"),
    ],
)
def test_a_file_goes_to_models_that_read_it(model: str | None, file: Document, kind: str) -> None:
    request = converse(asked("see", file), model)
    assert bedrock.kinds(request) == [["text", kind]]
    assert "document" not in rules(request)


@pytest.mark.parametrize(
    ("model", "file"),
    [(CLAUDE, MOVIE), (WRITER, PICTURE), ("openai.gpt-oss-120b-1:0", REPORT)],
)
def test_a_file_that_the_model_does_not_read_goes_as_words_once_it_was_answered(
    model: str, file: Document
) -> None:
    """ "This model doesn't support the video content block that you provided." """
    story = asked("see", file)
    with pytest.raises(UnsupportedDocument, match=model):
        converse(story, model)
    bedrock.answers(story, "I see.", model=NOVA)
    request = converse(story, model)
    assert bedrock.kinds(request)[0] == ["text", "text"]
    assert request.report.of("document")


def test_a_text_goes_as_text_to_models_that_read_no_documents() -> None:
    request = converse(asked("see", MINUTES), WRITER)
    assert request["messages"][0]["content"][1] == {"text": "minutes.md\na note"}
    assert "document" not in rules(request)


def test_claude_and_nova_read_files_in_results() -> None:
    for model in (CLAUDE, NOVA):
        story = found(model, Text(text="here"), REPORT, PICTURE, MINUTES)
        (result,) = converse(story)["messages"][-1]["content"]
        kinds = [next(iter(part)) for part in result["toolResult"]["content"]]
        assert kinds == ["text", "document", "image", "document"]


def test_files_follow_the_results_where_the_model_reads_them_only_there() -> None:
    request = converse(found(LLAMA, Text(text="here"), PICTURE))
    assert bedrock.kinds(request)[2:] == [["toolResult"], ["text"], ["text", "text", "image"]]
    tag = request["messages"][2]["content"][0]["toolResult"]["content"][1]["text"]
    assert request["messages"][4]["content"][:2] == [{"text": PREAMBLE}, {"text": tag}]
    assert {"B8", "B9"} <= rules(request)


def test_claude_wants_documents_apart_from_results_but_not_texts() -> None:
    story = found(CLAUDE, Text(text="ok"))
    story.user("first")
    story.user("see", REPORT)
    request = converse(story)
    parts = [["toolResult", "text"], ["text"], ["text", "document"]]
    assert bedrock.kinds(request)[2:] == parts
    assert bedrock.roles(request)[2:] == ["user", "assistant", "user"]
    assert bedrock.kinds(converse(story, NOVA))[2:] == [["toolResult", "text", "text", "document"]]


def test_a_file_in_s3_is_read_by_nova_alone_and_not_in_results() -> None:
    story = asked("hi")
    story.happen(MessageRecorded(role="user", content=(bedrock.native(S3),)))
    bedrock.answers(story, bedrock.call("t1"), model=NOVA)
    bedrock.gives(story, "t1", S3)
    request = converse(story)
    assert request["messages"][0]["content"][1] == S3
    assert bedrock.kinds(request)[2] == ["toolResult", "text", "text", "image"]
    assert "s3" not in str(converse(story, CLAUDE)["messages"])


@pytest.mark.parametrize(
    ("kind", "form", "media_type"),
    [
        ("image", "png", "image/png"),
        ("image", "jpeg", "image/jpeg"),
        ("image", "gif", "image/gif"),
        ("image", "webp", "image/webp"),
        ("document", "pdf", "application/pdf"),
        ("document", "csv", "text/csv"),
        ("document", "html", "text/html"),
        ("document", "txt", "text/plain"),
        ("document", "md", "text/markdown"),
        ("document", "doc", "application/msword"),
        ("document", "docx", f"{OFFICE}wordprocessingml.document"),
        ("document", "xls", "application/vnd.ms-excel"),
        ("document", "xlsx", f"{OFFICE}spreadsheetml.sheet"),
        ("video", "mp4", "video/mp4"),
        ("video", "mov", "video/quicktime"),
        ("video", "mkv", "video/x-matroska"),
        ("video", "webm", "video/webm"),
        ("video", "flv", "video/x-flv"),
        ("video", "mpeg", "video/mpeg"),
        ("video", "wmv", "video/x-ms-wmv"),
        ("video", "three_gp", "video/3gpp"),
    ],
)
def test_a_media_type_has_the_format_that_the_service_gives_it(
    kind: str, form: str, media_type: str
) -> None:
    url = f"data:{media_type};base64,YQ=="
    encoded = encode_document(Document(media_type=media_type, url=url, name="a"), {})
    assert encoded is not None
    assert encoded[kind]["format"] == form
    source = {"s3Location": {"uri": "s3://b1/a"}}
    read = document_of({kind: {"format": form, "source": source}})
    assert isinstance(read, Document)
    assert (read.media_type, read.url) == (media_type, "s3://b1/a")


def test_a_document_whose_address_is_in_s3_goes_by_that() -> None:
    picture = Document(media_type="image/png", url="s3://b1/a.png")
    assert converse(asked("hi", picture), NOVA)["messages"][0]["content"][1] == S3


def test_a_file_in_s3_goes_to_a_model_of_which_nothing_is_known() -> None:
    story = asked("hi")
    story.happen(MessageRecorded(role="user", content=(bedrock.native(S3),)))
    assert converse(story, "my-own-profile")["messages"][0]["content"][1] == S3


def test_a_message_holds_five_documents_and_twenty_pictures() -> None:
    request = converse(asked("see", *[REPORT] * 11, *[PICTURE] * 21), CLAUDE)
    kinds = [Counter(message) for message in bedrock.kinds(request)]
    assert kinds == [
        {"text": 1, "document": 5},
        {"text": 1},
        {"text": 1, "document": 5},
        {"text": 1},
        {"text": 1, "document": 1, "image": 20},
        {"text": 1},
        {"image": 1},
    ]
    assert "B19" in rules(request)


def test_a_document_that_was_found_travels_behind_its_tag() -> None:
    story = asked("hi")
    bedrock.answers(story, bedrock.call("t1"), model=NOVA)
    bedrock.gives(story, "t1", {"text": "ok"})
    story.happen(DocumentExtracted(document=REPORT, call_id="t1", tool_name="look_up"))
    told = converse(story)["messages"][-1]["content"]
    assert [next(iter(block)) for block in told] == ["toolResult", "text", "text", "document"]
    assert 'tool-call-id="t1"' in told[2]["text"]


def test_what_is_no_base64_stays_as_it_is() -> None:
    broken = {"image": {"format": "png", "source": {"bytes": "<cut>"}}}
    story = Story()
    story.happen(MessageRecorded(role="user", content=(bedrock.native(broken),)))
    assert converse(story)["messages"][0]["content"] == [broken]


def test_a_page_of_the_web_goes_as_words_for_bedrock_fetches_none() -> None:
    page = Document(media_type="image/png", url="https://example.com/a.png")
    story = asked("see", page)
    bedrock.answers(story, "I see.")
    request = converse(story, NOVA)
    assert bedrock.kinds(request)[0] == ["text", "text"]
    assert "document" in rules(request)
