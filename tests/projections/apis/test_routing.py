"""Where documents go, on every API: where they stand, behind their round, in words, or nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.content import Document, Text, ToolResult
from onrecord.domain.errors import UnsupportedDocument
from onrecord.domain.events import DocumentExtracted, SignalReceived, ToolResultRecorded
from onrecord.projections.apis.capabilities import CapabilityOverride
from onrecord.projections.apis.documents import PREAMBLE, needed_blobs
from onrecord.projections.apis.request import APIS, Options, Request
from onrecord.projections.history.turns import history
from tests.projections.documents_sent import behind, in_results, shown
from tests.projections.happenings import Story, document
from tests.projections.refused import refused

PDF, PIXEL, NOTE, FILM = "a" * 64, "b" * 64, "c" * 64, "d" * 64
BLOBS = {PDF: b"%PDF-1.7", PIXEL: b"\x89PNG\r\n\x1a\n", NOTE: b"a note", FILM: b"film"}
REPORT = document("r.pdf", "application/pdf", PDF)
PICTURE = document("a.png", "image/png", PIXEL)
MINUTES = document("n.md", "text/markdown", NOTE)
MOVIE = document("m.mp4", "video/mp4", FILM)

INLINE = CapabilityOverride(user=("text", "image"), tool_result=("text", "image"))
BEHIND = CapabilityOverride(user=("text", "image"), tool_result=("text",))
NEITHER = CapabilityOverride(user=("text",), tool_result=("text",))

FILES = [api for api in APIS if api != "ollama"]
"""The APIs that know of documents beside pictures."""


def asked(story: Story, api: str, own: CapabilityOverride | None = None, **more: Any) -> Request:
    return story.request(Options(api=api, capabilities=own, **more), blobs=BLOBS)


def gave(story: Story, call_id: str, *content: Text | Document) -> int:
    held = ToolResult(call_id=call_id, content=content)
    return story.happen(ToolResultRecorded(call_id=call_id, content=held))


def one_round(*content: Text | Document) -> Story:
    """A tool was called, and gave something."""
    story = Story()
    story.user("hi")
    story.call("t1")
    gave(story, "t1", *content)
    return story


def tag(call_id: str, file: Document) -> str:
    assert file.blob is not None
    return (
        f'<document tool-name="look_up" tool-call-id="{call_id}" '
        f'document-short-id="{file.blob.sha256[:8]}" filename="{file.name}" />'
    )


def told(api: str, *pairs: tuple[str, str]) -> list[str]:
    """What follows a round: the preamble, then tags and documents in turn; on Ollama pictures stand
    beside the text of their message."""
    tags, files = [tag for tag, _ in pairs], [file for _, file in pairs]
    turns = [said for pair in pairs for said in pair]
    return [PREAMBLE, *([*tags, *files] if api == "ollama" else turns)]


@pytest.mark.parametrize("api", APIS)
def test_a_round_without_documents_decides_nothing(api: str) -> None:
    request = asked(one_round(Text(text="here")), api, BEHIND)
    assert in_results(request) == ["here"]
    assert behind(request) == []
    assert request.report.routes == ()


@pytest.mark.parametrize("api", APIS)
def test_a_request_without_results_is_what_was_said(api: str) -> None:
    story = Story()
    story.user("hi")
    assert shown(asked(story, api, BEHIND)) == [("user", "hi")]


@pytest.mark.parametrize("api", APIS)
def test_a_document_that_results_may_hold_stays_in_its_result(api: str) -> None:
    request = asked(one_round(Text(text="here"), PICTURE), api, INLINE)
    (route,) = request.report.routes
    assert (route.where, route.row) == ("inline", f"{api} (any model), as given")
    assert in_results(request) == ["here", "<image>"]
    assert behind(request) == []


@pytest.mark.parametrize("api", APIS)
def test_a_document_that_results_may_not_hold_follows_the_round_behind_its_tag(api: str) -> None:
    request = asked(one_round(Text(text="here"), PICTURE), api, BEHIND)
    assert in_results(request) == ["here", tag("t1", PICTURE)]
    assert behind(request) == told(api, (tag("t1", PICTURE), "<image>"))
    assert refused(api, request) == ()


@pytest.mark.parametrize("api", FILES)
def test_of_one_result_each_document_goes_where_its_kind_may(api: str) -> None:
    given = CapabilityOverride(user=("text", "image", "document"), tool_result=("text", "image"))
    request = asked(one_round(REPORT, Text(text="and"), PICTURE), api, given)
    assert sorted(in_results(request)) == sorted([tag("t1", REPORT), "and", "<image>"])
    assert behind(request) == told(api, (tag("t1", REPORT), "<document>"))
    assert [route.where for route in request.report.routes] == ["behind", "inline"]


@pytest.mark.parametrize("api", APIS)
def test_all_documents_of_a_round_follow_in_one_message_in_the_order_of_the_calls(api: str) -> None:
    story = Story()
    story.user("hi")
    story.call("t1")
    story.call("t2")
    gave(story, "t2", Text(text="two"), PICTURE)
    gave(story, "t1", Text(text="one"), PICTURE, PICTURE)
    request = asked(story, api, BEHIND)
    first, second = tag("t1", PICTURE), tag("t2", PICTURE)
    assert in_results(request) == ["one", first, first, "two", second]
    pairs = [(first, "<image>"), (first, "<image>"), (second, "<image>")]
    assert behind(request) == told(api, *pairs)
    assert refused(api, request) == ()


@pytest.mark.parametrize("api", APIS)
def test_they_stand_before_all_else_that_the_user_says(api: str) -> None:
    story = one_round(PICTURE)
    story.user("and now?")
    request = asked(story, api, BEHIND)
    assert behind(request) == [*told(api, (tag("t1", PICTURE), "<image>")), "and now?"]


@pytest.mark.parametrize("api", APIS)
def test_the_documents_of_each_round_follow_that_round(api: str) -> None:
    story = one_round(PICTURE)
    story.assistant("I see.")
    story.call("t2")
    gave(story, "t2", PICTURE)
    said = [what for who, what in shown(asked(story, api, BEHIND)) if who == "user"]
    first = told(api, (tag("t1", PICTURE), "<image>"))
    assert said == ["hi", *first, *told(api, (tag("t2", PICTURE), "<image>"))]


@pytest.mark.parametrize("api", APIS)
def test_a_document_of_a_result_that_goes_nowhere_is_told_in_words(api: str) -> None:
    request = asked(one_round(Text(text="here"), PICTURE), api, NEITHER)
    assert in_results(request) == ["here", "[The document a.png (image/png) cannot be shown here.]"]
    assert behind(request) == []
    (route,), (note,) = request.report.routes, request.report.of("document")
    assert route.where == "words"
    assert note.why == f"the document (image/png) {route.why}: it goes as words"


@pytest.mark.parametrize("api", APIS)
def test_a_prompt_that_the_model_cannot_read_is_an_error_that_names_what_it_can(api: str) -> None:
    story = Story()
    story.user("see", PICTURE)
    with pytest.raises(UnsupportedDocument) as caught:
        asked(story, api, NEITHER, model="m")
    error = caught.value
    assert error.name == "a.png"
    assert (error.api, error.model, error.modality, error.version) == (api, "m", "image", 1)
    assert error.able == ("text",)
    assert f"{api} (m) cannot take the image 'a.png' (image/png)" in str(error)
    assert "it takes text" in str(error)


@pytest.mark.parametrize("api", APIS)
def test_a_signal_that_the_model_cannot_read_is_an_error_too(api: str) -> None:
    story = Story()
    story.user("hi")
    story.happen(SignalReceived(content=(Text(text="mail"), PICTURE), name="mail"))
    with pytest.raises(UnsupportedDocument):
        asked(story, api, NEITHER)


@pytest.mark.parametrize("api", APIS)
def test_a_document_that_another_model_answered_goes_in_words(api: str) -> None:
    story = Story()
    story.user("see", PICTURE)
    story.answer("I see it.")
    story.user("sure?")
    request = asked(story, api, NEITHER)
    words = "[The document a.png (image/png) cannot be shown here.]"
    assert [what for who, what in shown(request) if who == "user"] == ["see", words, "sure?"]
    assert [route.where for route in request.report.routes] == ["words"]


@pytest.mark.parametrize("api", APIS)
def test_a_document_of_the_users_stays_where_it_stands(api: str) -> None:
    story = Story()
    story.user("see", PICTURE)
    request = asked(story, api, BEHIND)
    assert shown(request) == [("user", "see"), ("user", "<image>")]
    (route,) = request.report.routes
    assert (route.holder, route.where, route.modality) == ("message", "inline", "image")


@pytest.mark.parametrize("api", APIS)
def test_a_text_stays_in_the_result_wherever_texts_may(api: str) -> None:
    request = asked(one_round(MINUTES), api, BEHIND)
    assert behind(request) == []
    assert [route.where for route in request.report.routes] == ["inline"]
    is_a_block = api == "anthropic-messages"
    assert in_results(request) == (["<document>"] if is_a_block else ["n.md", "a note"])


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("media_type", "modality"),
    [
        ("Image/PNG; charset=x", "image"),
        ("application/x-unheard-of", "document"),
        ("application/problem+json", "text"),
        ("", "document"),
    ],
)
def test_a_kind_is_told_by_the_type_without_its_parameters_and_case(
    api: str, media_type: str, modality: str
) -> None:
    request = asked(one_round(document("x", media_type, NOTE)), api, NEITHER)
    (route,) = request.report.routes
    assert (route.media_type, route.modality) == (media_type, modality)
    assert route.where == ("inline" if modality == "text" else "words")


@pytest.mark.parametrize("api", APIS)
def test_one_record_goes_either_way_and_back(api: str) -> None:
    story = one_round(Text(text="here"), PICTURE)
    first = asked(story, api, BEHIND)
    there = asked(story, api, INLINE)
    assert there.body_parts() != first.body_parts()
    assert asked(story, api, BEHIND).body_parts() == first.body_parts()


@pytest.mark.parametrize("api", APIS)
def test_what_follows_a_round_does_not_change_when_more_is_said(api: str) -> None:
    story = one_round(PICTURE)
    before = shown(asked(story, api, BEHIND))
    story.answer("I see.")
    story.user("and now?")
    assert shown(asked(story, api, BEHIND))[: len(before)] == before


@pytest.mark.parametrize("api", APIS)
def test_a_document_of_a_late_result_goes_as_the_users_and_is_no_error(api: str) -> None:
    story = Story()
    story.user("hi")
    story.call("t1")
    story.ask()
    story.answer("well?")
    gave(story, "t1", PICTURE)
    assert ("user", "<image>") in shown(asked(story, api, BEHIND))
    (route,) = asked(story, api, NEITHER).report.routes
    assert (route.holder, route.where) == ("result", "words")


@pytest.mark.parametrize("api", APIS)
def test_a_document_of_a_tool_on_its_own_goes_in_words_and_is_no_error(api: str) -> None:
    story = one_round(Text(text="see the picture"))
    found = DocumentExtracted(document=PICTURE, call_id="t1", tool_name="look_up")
    story.happen(found)
    (route,) = asked(story, api, NEITHER).report.routes
    assert (route.holder, route.where) == ("result", "words")


@pytest.mark.parametrize("api", APIS)
def test_what_is_too_large_goes_in_words_and_is_not_even_read(api: str) -> None:
    large = document("a.png", "image/png", PIXEL, size=2_000_000_000)
    story = one_round(large)
    options = Options(api=api)
    assert needed_blobs(history(story.events), options) == ()
    request = story.request(options, blobs={})
    assert in_results(request) == ["[The document a.png (image/png) cannot be shown here.]"]
    (route,) = request.report.routes
    assert route.why.startswith("has 2,000,000,000 bytes, and ")


@pytest.mark.parametrize("api", APIS)
def test_a_limit_is_inclusive_and_a_callers_own(api: str) -> None:
    file = document("a.png", "image/png", PIXEL, size=8)
    for most, where in ((8, "behind"), (7, "words")):
        given = BEHIND.model_copy(update={"document_bytes": most})
        options = Options(api=api, capabilities=given)
        story = one_round(file)
        (route,) = story.request(options, blobs=BLOBS).report.routes
        assert route.where == where
        assert len(needed_blobs(history(story.events), options)) == (where == "behind")


@pytest.mark.parametrize("api", APIS)
def test_a_prompt_that_is_too_large_is_an_error_that_says_by_how_much(api: str) -> None:
    story = Story()
    story.user("see", document("a.png", "image/png", PIXEL, size=9))
    given = BEHIND.model_copy(update={"document_bytes": 8})
    with pytest.raises(UnsupportedDocument, match="has 9 bytes, and 8 are taken at most"):
        asked(story, api, given)


@pytest.mark.parametrize("api", APIS)
def test_the_bytes_of_what_is_not_taken_are_not_read(api: str) -> None:
    story = one_round(MOVIE, PICTURE)
    options = Options(api=api, capabilities=BEHIND)
    needed = needed_blobs(history(story.events), options)
    assert [blob.sha256 for blob in needed] == [PIXEL]
    assert story.request(options, blobs={PIXEL: BLOBS[PIXEL]}).report.routes[0].where == "words"


def test_a_blob_is_read_where_any_document_of_it_goes() -> None:
    story = one_round(document("a", "video/mp4", PIXEL), PICTURE)
    needed = needed_blobs(history(story.events), Options(capabilities=BEHIND))
    assert [blob.sha256 for blob in needed] == [PIXEL]


@pytest.mark.parametrize(
    ("api", "model", "expected"),
    [
        ("anthropic-messages", "claude-sonnet-4-5", ["inline", "inline", "words", "inline"]),
        ("anthropic-messages", "claude-3-5-haiku-latest", ["words", "words", "words", "inline"]),
        ("openai-chat", "gpt-4.1", ["behind", "behind", "words", "inline"]),
        ("openai-chat", "deepseek-chat", ["words", "words", "words", "inline"]),
        ("openai-responses", "gpt-5", ["inline", "inline", "words", "inline"]),
        ("gemini", "gemini-2.5-pro", ["behind", "behind", "behind", "inline"]),
        ("gemini", "gemini-3-pro-preview", ["inline", "inline", "inline", "inline"]),
        ("ollama", "qwen3", ["behind", "words", "words", "inline"]),
        (
            "bedrock-converse",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            ["inline", "inline", "words", "inline"],
        ),
        ("bedrock-converse", "us.amazon.nova-lite-v1:0", ["inline"] * 4),
        (
            "bedrock-converse",
            "us.meta.llama4-scout-17b-instruct-v1:0",
            ["behind", "behind", "words", "inline"],
        ),
    ],
)
def test_a_picture_a_report_a_film_and_a_text_go_where_the_model_takes_them(
    api: str, model: str, expected: list[str]
) -> None:
    request = asked(one_round(PICTURE, REPORT, MOVIE, MINUTES), api, model=model)
    assert [route.where for route in request.report.routes] == expected
    assert refused(api, request) == ()


def test_the_model_that_is_wished_decides_then_the_one_that_answered_or_was_asked_last() -> None:
    api = "anthropic-messages"
    story = one_round(PICTURE)
    rows = [asked(story, api).report.routes[0].row]
    story.ask(model="claude-3-5-haiku-latest")
    rows.append(asked(story, api).report.routes[0].row)
    story.answer("I see.")
    rows.append(asked(story, api).report.routes[0].row)
    rows.append(asked(story, api, model="claude-opus-4-1").report.routes[0].row)
    names = ["(any model)", "claude-3-5-haiku-*", "claude-sonnet-4-5*", "claude-opus-4-1*"]
    assert rows == [f"{api} {name}" for name in names]


@pytest.mark.parametrize("api", APIS)
def test_every_decision_is_in_the_report_with_the_row_that_made_it(api: str) -> None:
    story = one_round(PICTURE, MOVIE)
    story.user("see", PICTURE)
    routes = asked(story, api, BEHIND).report.routes
    row = f"{api} (any model), as given"
    assert [tuple(route) for route in routes] == [
        (3, "image/png", "image", "result", "behind", "is taken", row),
        (3, "video/mp4", "video", "result", "words", "is not taken", row),
        (4, "image/png", "image", "message", "inline", "is taken", row),
    ]
    assert str(routes[0]) == f"version 3: image/png of a result goes behind it: it is taken [{row}]"


@pytest.mark.parametrize("api", APIS)
def test_the_other_form_of_tags_goes_through_every_api(api: str) -> None:
    request = asked(one_round(PICTURE), api, BEHIND, tags="doc-reference")
    reference = (
        '<doc toolName="look_up" toolCallId="t1" documentId="bbbbbbbb-' + "b" * 56 + '" '
        'storeId="onrecord" contentType="image/png" fileName="a.png" />'
    )
    preamble = "Documents extracted from tool calls (<doc /> tag + content pair):"
    assert in_results(request) == [reference]
    assert behind(request) == [preamble, reference, "<image>"]


@pytest.mark.parametrize("api", APIS)
def test_the_documents_of_a_signal_have_their_preamble_in_one_form_alone(api: str) -> None:
    story = Story()
    story.user("hi")
    story.happen(SignalReceived(content=(Text(text="mail"), PICTURE, PICTURE), name="mail"))
    short = '<document document-short-id="bbbbbbbb" filename="a.png" />'
    said = [what for _, what in shown(asked(story, api, BEHIND))]
    files = [short, short, "<image>", "<image>"]
    assert sorted(said) == sorted(["hi", "mail", *files])
    said = [what for _, what in shown(asked(story, api, BEHIND, tags="doc-reference"))]
    preamble = "Documents extracted from event data (<doc /> tag + content pair):"
    assert said[:3] == ["hi", "mail", preamble]
    assert said.count(preamble) == 1
    assert len([line for line in said if line.startswith("<doc ")]) == 2
