"""Documents in requests to OpenAI's Responses API: what which output holds, and what follows it."""

from __future__ import annotations

import pytest

from onrecord.domain.content import Document, Text, ToolResult
from onrecord.domain.events import ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.capabilities import CapabilityOverride
from onrecord.projections.apis.documents import PREAMBLE
from onrecord.projections.apis.openai_responses.draft import encode_document
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    asks,
    call,
    items,
    kinds,
    rendered,
)
from tests.projections.happenings import Story, document

PNG, NEXT = "data:image/png;base64,iVBORw0KGgo=", "data:image/png;base64,iVBORw0KGgoA"
NOTE = "c" * 64
OFFICE = "application/vnd.openxmlformats-officedocument."
COMPUTER: JsonObject = {
    "id": "cu_1",
    "type": "computer_call",
    "call_id": "call_1",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}


def gave(said: JsonObject, *content: Text | Document) -> Story:
    """A call was made, and its tool gave something."""
    story = Story()
    story.user("hi")
    answers(story, said)
    held = ToolResult(call_id="call_1", content=content)
    story.happen(ToolResultRecorded(call_id="call_1", content=held))
    return story


def picture(url: str) -> Document:
    return Document(media_type="image/png", url=url)


def test_the_output_of_a_computer_holds_one_screenshot_and_the_others_follow() -> None:
    story = gave(COMPUTER, picture(PNG), picture(NEXT))
    sent = items(story)
    assert kinds(sent)[1:] == ["computer_call", "computer_call_output", "user"]
    assert sent[2]["output"]["image_url"] == PNG
    assert [part.get("image_url") for part in sent[3]["content"]] == [None, None, NEXT]
    routes = rendered(story).report.routes
    assert [route.where for route in routes] == ["inline", "behind"]


def test_what_a_computer_gave_beside_no_screenshot_goes_as_the_users_and_is_told_once() -> None:
    report = Document(media_type="application/pdf", url="https://example.com/a.pdf")
    (route,) = rendered(gave(COMPUTER, report)).report.routes
    assert (route.holder, route.where) == ("result", "inline")


@pytest.mark.parametrize(
    ("reads", "kind"), [(("text",), "input_text"), (("text", "document"), "input_file")]
)
def test_a_text_in_an_output_is_a_file_only_where_outputs_hold_files(
    reads: tuple[str, ...], kind: str
) -> None:
    given = CapabilityOverride.model_validate({"tool_result": reads})
    story = gave(call(), Text(text="here"), document("n.md", "text/markdown", NOTE))
    options = Options(api=NAME, capabilities=given)
    _, held = items(story, options, blobs={NOTE: b"a note"})[-1]["output"]
    assert held["type"] == kind
    if kind == "input_text":
        assert held["text"] == "n.md\na note"


@pytest.mark.parametrize(("reads", "is_shown"), [(("text", "image"), True), (("text",), False)])
def test_a_picture_of_an_item_that_goes_as_words_is_shown_to_models_that_see(
    reads: tuple[str, ...], is_shown: bool
) -> None:
    story = Story()
    story.user("draw")
    made = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "AA=="}
    asks(story, account="ours")
    answers(story, made)
    story.user("again")
    given = CapabilityOverride.model_validate({"user": reads})
    sent = items(story, Options(api=NAME, capabilities=given, account="theirs"))
    told = [item for item in sent if isinstance(item["content"], list)]
    assert bool(told) == is_shown
    if told:
        preamble, tag, shown = told[0]["content"]
        assert preamble["text"] == PREAMBLE
        assert tag["text"] == '<document tool-name="image_generation" tool-call-id="ig_1" />'
        assert shown["image_url"] == "data:image/png;base64,AA=="


@pytest.mark.parametrize(
    ("media_type", "ending"),
    [
        ("application/pdf", "pdf"),
        ("application/msword", "doc"),
        ("application/rtf", "rtf"),
        ("application/vnd.ms-excel", "xls"),
        ("application/vnd.ms-powerpoint", "ppt"),
        ("application/vnd.oasis.opendocument.text", "odt"),
        (f"{OFFICE}wordprocessingml.document", "docx"),
        (f"{OFFICE}presentationml.presentation", "pptx"),
        (f"{OFFICE}spreadsheetml.sheet", "xlsx"),
        ("text/plain", "txt"),
    ],
)
def test_a_file_without_a_name_gets_one_that_says_its_kind(media_type: str, ending: str) -> None:
    url = f"data:{media_type};base64,QUJD"
    assert encode_document(Document(media_type=media_type, url=url), {}) == {
        "type": "input_file",
        "filename": f"document.{ending}",
        "file_data": url,
    }
