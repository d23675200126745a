"""Documents in Gemini's requests: what it reads, and where a function's files go."""

from __future__ import annotations

import re
from base64 import b64encode

import pytest

from onrecord.domain.content import Document, Text, ToolResult
from onrecord.domain.errors import UnsupportedDocument
from onrecord.domain.events import MessageRecorded, ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.capabilities import CapabilityOverride
from onrecord.projections.apis.request import Options
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.gemini.gemini_happenings import (
    GEMINI,
    OLDER,
    call,
    of_user,
    response,
    signed,
)
from tests.projections.happenings import Story, document, rules

DIGEST = "ab" * 32
DATA = b"\xff\xd8\xff"
BLOBS = {DIGEST: DATA}
ENCODED = b64encode(DATA).decode()
TAG = '<document tool-name="look_up" tool-call-id="x" document-short-id="abababab" filename="a" />'
PREAMBLE = "Documents extracted from tool call results:"


def inline(media_type: str) -> JsonObject:
    return {"inlineData": {"mimeType": media_type, "data": ENCODED}}


@pytest.mark.parametrize(
    "media_type",
    ["image/jpeg", "image/heic", "application/pdf", "audio/mpeg", "audio/wav", "video/mp4"],
)
def test_what_the_service_reads_goes_with_its_bytes(media_type: str) -> None:
    story = Story()
    story.user(document("a", f"{media_type}; x=y", DIGEST))
    assert gemini.contents(story, blobs=BLOBS) == [of_user(inline(media_type))]


@pytest.mark.parametrize("media_type", ["image/gif", "application/zip", "application/msword"])
def test_what_it_does_not_read_goes_in_words_once_it_was_answered(media_type: str) -> None:
    story = Story()
    story.user(document("a", media_type, DIGEST))
    with pytest.raises(UnsupportedDocument, match=re.escape(f"({media_type})")):
        gemini.gemini(story, blobs=BLOBS)
    story.assistant("I see.")
    words = f"[The document a ({media_type}) cannot be shown here.]"
    assert gemini.contents(story, blobs=BLOBS)[0] == of_user(words)
    assert rules(gemini.gemini(story, blobs=BLOBS)) == {"document", "G18"}


def test_a_text_goes_as_text() -> None:
    story = Story()
    story.user(document("a.md", "text/markdown", DIGEST))
    assert gemini.contents(story, blobs={DIGEST: b"# A"}) == [of_user("a.md\n# A")]


@pytest.mark.parametrize(
    ("document", "part"),
    [
        (
            Document(media_type="image/png", url="https://example.com/a"),
            {"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a"}},
        ),
        (
            Document(media_type="video/*", url="https://youtu.be/x"),
            {"fileData": {"fileUri": "https://youtu.be/x"}},
        ),
        (
            Document(media_type="application/octet-stream", url="https://youtu.be/x"),
            {"fileData": {"fileUri": "https://youtu.be/x"}},
        ),
        (
            Document(media_type="image/gif", url="https://example.com/a.gif"),
            {
                "text": "[The document (image/gif) at https://example.com/a.gif cannot be "
                "shown here.]"
            },
        ),
        (
            Document(media_type="image/png", url=f"data:image/png;base64,{ENCODED}"),
            inline("image/png"),
        ),
    ],
)
def test_a_file_on_the_web_goes_by_its_address(document: Document, part: JsonObject) -> None:
    story = Story()
    story.user(document)
    story.assistant("I see.")
    assert gemini.contents(story)[0] == of_user(part)


def test_a_note_of_the_operators_holds_no_document() -> None:
    story = Story()
    story.user("hi")
    story.happen(MessageRecorded(role="system", content=(document("a", "image/jpeg", DIGEST),)))
    words = "[The document a (image/jpeg) cannot be shown here.]"
    assert gemini.contents(story, blobs=BLOBS)[1] == of_user(words)
    assert rules(gemini.gemini(story, blobs=BLOBS)) == {"document", "G7"}


def with_picture(said: str = "see") -> Story:
    story = Story()
    story.user("hi")
    gemini.answers(story, signed(call(id="x")), model=None)
    picture = document("a", "image/jpeg", DIGEST)
    result = ToolResult(call_id="x", content=(Text(text=said), picture))
    story.happen(ToolResultRecorded(call_id="x", content=result))
    return story


def test_a_file_of_a_result_goes_within_it_where_the_model_reads_it_there() -> None:
    contents = gemini.contents(with_picture(), gemini.asked_of(GEMINI), blobs=BLOBS)
    (part,) = contents[-1]["parts"]
    assert part["functionResponse"]["response"] == {"result": "see"}
    assert part["functionResponse"]["parts"] == [inline("image/jpeg")]


def test_that_a_text_of_a_result_stood_behind_a_file_is_noted() -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, signed(call(id="x")), model=None)
    picture = document("a", "image/jpeg", DIGEST)
    parts = (Text(text="before"), picture, Text(text="after"))
    story.happen(ToolResultRecorded(call_id="x", content=ToolResult(call_id="x", content=parts)))
    request = gemini.gemini(story, gemini.asked_of(GEMINI), blobs=BLOBS)
    (part,) = request["contents"][-1]["parts"]
    assert part["functionResponse"]["response"] == {"result": "before\nafter"}
    assert [note.deed for note in request.report.of("G13")] == ["moved"]
    assert not gemini.gemini(with_picture(), gemini.asked_of(GEMINI), blobs=BLOBS).report.of("G13")


def test_a_file_alone_needs_no_words() -> None:
    contents = gemini.contents(with_picture(" "), gemini.asked_of(GEMINI), blobs=BLOBS)
    (part,) = contents[-1]["parts"]
    assert part["functionResponse"]["response"] == {}


@pytest.mark.parametrize("model", [None, OLDER])
def test_else_it_follows_behind_its_tag(model: str | None) -> None:
    *_, result, after = gemini.contents(with_picture(), gemini.asked_of(model), blobs=BLOBS)
    told = response({"result": f"see\n{TAG}"}, id="x")
    assert result == of_user(told)
    assert after == of_user(PREAMBLE, TAG, inline("image/jpeg"))
    assert "G13" in rules(gemini.gemini(with_picture(), gemini.asked_of(model), blobs=BLOBS))


def test_a_part_of_a_result_goes_as_it_came_unless_the_model_is_older() -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, signed(call()))
    part = response("see", parts=[inline("image/jpeg")])
    gemini.gives(story, gemini.call_ids(story)[0], part)
    assert gemini.contents(story)[-1] == of_user(part)
    *_, result, after = gemini.contents(story, gemini.asked_of(OLDER))
    assert result == of_user(response("see"))
    assert after["parts"][0] == {"text": PREAMBLE}
    assert after["parts"][2] == inline("image/jpeg")


@pytest.mark.parametrize("model", [None, "gemini-flash-latest"])
def test_a_part_of_a_result_stays_where_nobody_knows_what_the_model_takes(
    model: str | None,
) -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, signed(call()), model=None)
    part = response("see", parts=[inline("image/jpeg")])
    gemini.gives(story, gemini.call_ids(story)[0], part)
    assert gemini.contents(story, gemini.asked_of(model))[-1] == of_user(part)


def test_of_the_parts_of_a_result_only_those_follow_that_it_may_not_hold() -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, signed(call()))
    files = [inline("image/jpeg"), inline("application/pdf"), inline("video/mp4")]
    gemini.gives(story, gemini.call_ids(story)[0], response("see", parts=files))
    taken = CapabilityOverride(tool_result=("text", "image"), user=("text", "image", "document"))
    request = gemini.gemini(story, Options(api="gemini", model=OLDER, capabilities=taken))
    *_, result, after = request.body["contents"]
    assert result == of_user(response("see", parts=[inline("image/jpeg")]))
    held = after["parts"]
    assert [held[0], *held[2::2]] == [
        {"text": PREAMBLE},
        inline("application/pdf"),
        {"text": "[The document (video/mp4) cannot be shown here.]"},
    ]
    assert [(route.modality, route.where) for route in request.report.routes] == [
        ("document", "behind"),
        ("video", "words"),
    ]


@pytest.mark.parametrize(("model", "is_within"), [(GEMINI, True), (OLDER, False)])
def test_a_text_at_an_address_is_a_file(model: str, is_within: bool) -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, signed(call(id="x")), model=None)
    far = Document(media_type="text/plain", url="https://example.com/a.txt")
    result = ToolResult(call_id="x", content=(far,))
    story.happen(ToolResultRecorded(call_id="x", content=result))
    file = {"fileData": {"mimeType": "text/plain", "fileUri": "https://example.com/a.txt"}}
    *_, last = gemini.contents(story, gemini.asked_of(model))
    if is_within:
        assert last["parts"][0]["functionResponse"]["parts"] == [file]
    else:
        assert (last["parts"][0], last["parts"][-1]) == ({"text": PREAMBLE}, file)
