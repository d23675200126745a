"""What other APIs said, and documents, in a request to the Responses API."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from onrecord.domain.content import Document, Native, Text, ToolResult
from onrecord.domain.errors import CorruptRecord, UnsupportedDocument
from onrecord.domain.events import DocumentExtracted, ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.documents import PREAMBLE
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    call,
    for_,
    gives,
    items,
    kinds,
    message,
    output,
    reasoning,
    rendered,
    search,
)
from tests.projections.happenings import (
    Story,
    document,
    rules,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from tests.projections.refused import refused

PDF = b"%PDF-1.7"
DIGEST = hashlib.sha256(PDF).hexdigest()
ENCODED = base64.b64encode(PDF).decode()
BLOBS = {DIGEST: PDF}
FILE = {
    "type": "input_file",
    "filename": "report.pdf",
    "file_data": f"data:application/pdf;base64,{ENCODED}",
}
IMAGE = {
    "type": "input_image",
    "detail": "auto",
    "image_url": f"data:image/png;base64,{ENCODED}",
}


def test_a_conversation_with_anthropic_goes_on_with_openai() -> None:
    story = Story()
    story.user("What does it say?")
    story.answer(
        thinking("hm"),
        server_tool_use("srvtoolu_1"),
        search_result("srvtoolu_1"),
        text("A moment."),
        tool_use("toolu_1"),
        stop="tool_use",
    )
    story.result("toolu_1", "forty-two")
    request = rendered(story)
    assert request["input"] == [
        {"role": "user", "content": "What does it say?"},
        {"role": "assistant", "content": "[web_search was used.]\nquery: x"},
        {"role": "assistant", "content": "[web_search gave:]\nx\nhttps://example.com"},
        {"role": "assistant", "content": "A moment."},
        {
            "type": "function_call",
            "call_id": "toolu_1",
            "name": "look_up",
            "arguments": '{"q":"toolu_1"}',
        },
        output("toolu_1", "forty-two"),
    ]
    assert rules(request) == {"foreign"}
    assert refused(NAME, request) == ()


def test_a_conversation_with_openai_goes_on_with_anthropic() -> None:
    story = Story()
    story.user("What does it say?")
    answers(story, reasoning(), search(), message("A moment."), call())
    gives(story, output())
    request = story.request()
    assert request["messages"] == [
        {"role": "user", "content": [text("What does it say?")]},
        {
            "role": "assistant",
            "content": [
                text("[web_search was used.]\ntype: search\nquery: query 1"),
                text("A moment."),
                {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {"q": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_1",
                    "content": [text("found")],
                }
            ],
        },
    ]


def test_documents_are_spelled_by_their_kind() -> None:
    table = b"a,b"
    csv = hashlib.sha256(table).hexdigest()
    story = Story()
    story.user(
        "See:",
        document("report.pdf", "application/pdf", DIGEST),
        document("photo.png", "image/png", DIGEST),
        document("table.csv", "text/csv; charset=utf-8", csv),
        Document(media_type="image/jpeg", url="https://example.com/x.jpg"),
        Document(media_type="application/pdf", url="https://example.com/x.pdf"),
        document("song.mp3", "audio/mpeg", DIGEST),
    )
    answers(story, message("I see."))
    request = rendered(story, blobs={**BLOBS, csv: table})
    assert request["input"][0]["content"] == [
        {"type": "input_text", "text": "See:"},
        FILE,
        IMAGE,
        {
            "type": "input_file",
            "filename": "table.csv",
            "file_data": f"data:text/plain;base64,{base64.b64encode(table).decode()}",
        },
        {"type": "input_image", "detail": "auto", "image_url": "https://example.com/x.jpg"},
        {"type": "input_file", "file_url": "https://example.com/x.pdf"},
        {
            "type": "input_text",
            "text": "[The document song.mp3 (audio/mpeg) cannot be shown here.]",
        },
    ]
    assert rules(request) == {"document"}
    assert refused(NAME, request) == ()


def test_a_document_in_a_result_travels_in_the_output() -> None:
    story = Story()
    story.user("hi")
    answers(story, call())
    found = document("report.pdf", "application/pdf", DIGEST)
    result = ToolResult(call_id="call_1", content=(Text(text="here"), found))
    story.happen(ToolResultRecorded(call_id="call_1", content=result))
    held = rendered(story, blobs=BLOBS)["input"][-1]["output"]
    assert held == [{"type": "input_text", "text": "here"}, FILE]


def test_a_document_on_its_own_says_whose_it_is() -> None:
    story = Story()
    story.user("hi")
    answers(story, call())
    gives(story, output())
    found = document("report.pdf", "application/pdf", DIGEST)
    story.happen(DocumentExtracted(document=found, call_id="call_1", tool_name="look_up"))
    last: JsonObject = rendered(story, blobs=BLOBS)["input"][-1]
    preamble, tag, shown = last["content"]
    assert last["role"] == "user"
    assert preamble["text"] == PREAMBLE
    assert 'tool-call-id="call_1"' in tag["text"]
    assert shown == FILE


def test_the_bytes_of_a_document_have_to_be_there() -> None:
    story = Story()
    story.user(document("report.pdf", "application/pdf", DIGEST))
    with pytest.raises(CorruptRecord):
        rendered(story)


def test_an_empty_document_goes_as_words() -> None:
    empty = hashlib.sha256(b"").hexdigest()
    story = Story()
    story.user(document("report.pdf", "application/pdf", empty, size=0))
    with pytest.raises(UnsupportedDocument, match="cannot be spelled"):
        rendered(story, blobs={empty: b""})
    answers(story, message("It is empty."))
    assert rules(rendered(story, blobs={empty: b""})) == {"document"}


def test_a_foreign_document_stays_a_document() -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": ENCODED}
    story = Story()
    story.user({"type": "document", "title": "report.pdf", "source": source})
    assert items(story)[0]["content"] == [FILE]


def test_what_only_its_maker_reads_is_left_out_and_told() -> None:
    story = Story()
    story.user("hi")
    story.answer({"type": "redacted_thinking", "data": "d"}, text("Hm."))
    request = rendered(story)
    assert kinds(request["input"]) == ["user", "assistant"]
    assert [note.deed for note in request.report] == ["left out", "translated"]


def test_hops_between_apis_keep_what_each_made() -> None:
    story = Story()
    story.user("one")
    answers(story, reasoning(), message("ours", 1))
    story.user("two")
    story.answer(text("theirs"))
    story.user("three")
    answers(story, reasoning(2), message("ours again", 2))
    sent = items(story, for_())
    assert [json.dumps(item) for item in sent if "id" in item] == [
        json.dumps(item)
        for item in (reasoning(), message("ours", 1), reasoning(2), message("ours again", 2))
    ]


def test_blank_text_of_others_is_left_out() -> None:
    story = Story()
    story.user(text(" "), text("hi"))
    story.answer(text("\n"), text("Hm."))
    assert items(story) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hm."},
    ]


def test_a_text_that_was_cut_in_two_is_one_again() -> None:
    """Anthropic cuts its texts wherever it cites something."""
    story = Story()
    story.user("why?")
    cited: JsonObject = {"type": "text", "text": "the sky is blue", "citations": []}
    story.answer("They say that ", cited, ".", tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1")
    story.answer("And now?")
    sent = items(story)
    assert sent[1] == {"role": "assistant", "content": "They say that the sky is blue."}
    assert sent[-1] == {"role": "assistant", "content": "And now?"}


def test_pictures_in_a_whole_message_of_the_user_cross() -> None:
    """As `/responses/compact` returns them, with ids."""
    story = Story()
    picture = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
    said: JsonObject = {"type": "input_text", "text": "look"}
    message = {"id": "msg_1", "type": "message", "role": "user", "content": [said, picture]}
    story.user(Native(api=NAME, value=message))
    assert items(story) == [message]
    for api in ("anthropic-messages", "openai-chat"):
        sent = str(dict(story.request(Options(api=api))))
        assert "look" in sent
        assert "aGk=" in sent
