"""Tags of documents, in both forms: their order, what is left out, and what is escaped."""

from __future__ import annotations

import pytest

from onrecord.domain.content import Document
from onrecord.projections.apis.documents import (
    Form,
    preamble,
    preamble_of_signal,
    tag_of,
    texts_before,
    words_for,
)
from onrecord.projections.history.history import Block, Mark
from tests.projections.happenings import document

SEED: Form = "short-id"
REFERENCE: Form = "doc-reference"
DIGEST = "0123456789abcdef" * 4
ID = f"{DIGEST[:8]}-{DIGEST[8:]}"
TYPE = 'contentType="application/pdf"'
REPORT = document("report.pdf", "application/pdf", DIGEST)
WEB = Document(media_type="application/pdf", name="web.pdf", url="https://example.com/?a=1&b=2")


def block(
    name: str | None = "look_up",
    call_id: str | None = "call_1",
    *,
    version: int = 3,
    signal: bool = False,
) -> Block:
    plain = REPORT.model_dump()
    mark: Mark = "document" if call_id is None else "result"
    return Block(version, None, plain, mark=mark, call_id=call_id, name=name, signal=signal)


def test_the_short_form_says_tool_call_document_and_file_in_this_order() -> None:
    assert tag_of(block(), REPORT, SEED) == (
        '<document tool-name="look_up" tool-call-id="call_1" '
        'document-short-id="01234567" filename="report.pdf" />'
    )


def test_the_short_form_is_what_goes_where_nobody_wished_another() -> None:
    assert tag_of(block(), REPORT) == tag_of(block(), REPORT, SEED)


def test_the_reference_says_tool_call_document_store_type_and_file_in_this_order() -> None:
    assert tag_of(block(), REPORT, REFERENCE) == (
        '<doc toolName="look_up" toolCallId="call_1" '
        f'documentId="{ID}" storeId="onrecord" '
        'contentType="application/pdf" fileName="report.pdf" />'
    )


def test_the_reference_of_what_another_server_holds_is_its_address_and_its_name() -> None:
    assert tag_of(block(), WEB, REFERENCE) == (
        '<doc toolName="look_up" toolCallId="call_1" '
        'url="https://example.com/?a=1&amp;b=2" name="web.pdf" />'
    )


def test_the_short_form_has_no_id_for_what_another_server_holds() -> None:
    assert tag_of(block(), WEB, SEED) == (
        '<document tool-name="look_up" tool-call-id="call_1" filename="web.pdf" />'
    )


def test_the_reference_of_anything_else_is_its_call_alone() -> None:
    inline = Document(media_type="image/png", name="a.png", url="data:image/png;base64,AAAA")
    assert tag_of(block(), inline, REFERENCE) == '<doc toolName="look_up" toolCallId="call_1" />'


@pytest.mark.parametrize("blank", [None, "", " \t\n"])
@pytest.mark.parametrize(
    ("form", "rest"),
    [
        (SEED, '<document tool-call-id="call_1" document-short-id="01234567" />'),
        (
            REFERENCE,
            f'<doc toolCallId="call_1" documentId="{ID}" storeId="onrecord" {TYPE} />',
        ),
    ],
)
def test_what_is_blank_or_not_known_is_left_out(blank: str | None, form: Form, rest: str) -> None:
    nameless = REPORT.model_copy(update={"name": blank})
    assert tag_of(block(name=blank), nameless, form) == rest


@pytest.mark.parametrize(("form", "least"), [(SEED, "<document />"), (REFERENCE, "<doc />")])
def test_the_least_tag_is_its_word_alone(form: Form, least: str) -> None:
    nothing = Document(media_type="image/png", url="data:image/png;base64,AAAA")
    assert tag_of(block(None, None), nothing, form) == least


@pytest.mark.parametrize("form", [SEED, REFERENCE])
def test_the_ampersand_is_escaped_first(form: Form) -> None:
    named = REPORT.model_copy(update={"name": "<&lt;>\"'&"})
    assert '="&lt;&amp;lt;&gt;&quot;&apos;&amp;" />' in tag_of(block(), named, form)


@pytest.mark.parametrize("form", [SEED, REFERENCE])
def test_what_xml_has_no_place_for_is_left_out(form: Form) -> None:
    named = REPORT.model_copy(update={"name": "a\x00b\x08c\ufffe\ud800d\te"})
    assert '="abcd\te" />' in tag_of(block(), named, form)


def test_a_tag_ends_with_a_space_and_a_slash() -> None:
    for form in (SEED, REFERENCE):
        assert tag_of(block(), REPORT, form).endswith('" />')


def test_each_form_has_its_preambles_and_the_short_one_none_for_signals() -> None:
    assert preamble(SEED) == "Documents extracted from tool call results:"
    assert preamble(REFERENCE) == (
        "Documents extracted from tool calls (<doc /> tag + content pair):"
    )
    assert preamble_of_signal(SEED) is None
    assert preamble_of_signal(REFERENCE) == (
        "Documents extracted from event data (<doc /> tag + content pair):"
    )


def test_a_document_of_a_tool_on_its_own_has_the_preamble_as_a_text_of_its_own() -> None:
    found = block(version=4)
    assert texts_before(found, REPORT, SEED) == [preamble(SEED), tag_of(found, REPORT, SEED)]


@pytest.mark.parametrize("form", [SEED, REFERENCE])
def test_only_the_first_document_of_a_signal_has_a_preamble(form: Form) -> None:
    first = block(None, None, signal=True)
    tag = tag_of(first, REPORT, form)
    opening = preamble_of_signal(form)
    assert texts_before(first, REPORT, form) == [*([opening] if opening else []), tag]
    assert texts_before(first, REPORT, form, before=first) == [tag]
    another = block(None, None, version=9, signal=True)
    assert texts_before(another, REPORT, form, before=first) == texts_before(first, REPORT, form)


def test_a_document_that_is_nobodys_has_its_tag_alone() -> None:
    lone = block(None, None)
    assert texts_before(lone, REPORT, REFERENCE) == [tag_of(lone, REPORT, REFERENCE)]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://example.com/a.html", " at https://example.com/a.html"),
        ("HTTP://example.com/a.html", " at HTTP://example.com/a.html"),
        ("s3://bucket/a.html", ""),
        ("data:text/html;base64,YQ==", ""),
        (None, ""),
    ],
)
def test_words_tell_the_address_of_a_document_on_the_web(url: str | None, told: str) -> None:
    held = Document(media_type="text/html", name="a.html", url=url)
    said = f"[The document a.html (text/html){told} cannot be shown here.]"
    assert words_for(held) == said
