"""A stored template joins to the body that was sent, byte for byte, or says that it does not."""

import base64
import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain import jsontext
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Document, Native, Text
from onrecord.domain.encoding import encode
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import DocumentExtracted, MessageRecorded
from onrecord.domain.request_template import (
    BlobSpan,
    ContentSpan,
    EncodedSpan,
    LiteralSpan,
    SharedSpan,
)
from onrecord.projections.matching.sources import Source
from onrecord.projections.matching.template import Parent, Stored, join, references_of, split

FIRST, SECOND = UUID(int=1), UUID(int=2)
LONG = "é" * 200

texts = st.text(max_size=300) | st.sampled_from([LONG, "x" * 70_000, '"messages":[]', "\ud800"])
messages = st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": texts}), max_size=6)


@st.composite
def bodies_of_requests(draw: st.DrawFn) -> dict[str, Any]:
    more = draw(st.dictionaries(st.sampled_from(["a", "metadata", "tools"]), texts, max_size=2))
    return {**more, "messages": draw(messages), "system": draw(texts), "model": "m"}


bodies = bodies_of_requests()
values: st.SearchStrategy[Any] = st.one_of(bodies, messages, texts)


@given(bodies, bodies, st.lists(values, max_size=4))
def test_a_body_comes_back_whatever_is_stored_already(
    body: dict[str, Any], other: dict[str, Any], held: list[Any]
) -> None:
    parent = Parent(FIRST, jsontext.write(other))
    known = [Source(UUID(int=9 + n), jsontext.write({"v": v})) for n, v in enumerate(held)]
    template, blobs = split(jsontext.write(body), known=known, parent=parent)
    stored = Stored(
        bodies={source.event: source.body for source in known},
        requests={FIRST: parent.body},
        blobs=blobs,
    )
    assert join(template, stored) == jsontext.write(body)
    assert template.size == len(jsontext.write(body))


@given(bodies)
def test_any_spelling_of_json_comes_back(body: dict[str, Any]) -> None:
    spelled = json.dumps(body, indent=2).encode()
    known = [Source(FIRST, jsontext.write(body))]
    template, blobs = split(spelled, known=known)
    stored = Stored(bodies={source.event: source.body for source in known}, blobs=blobs)
    assert join(template, stored) == spelled


@given(bodies)
def test_a_body_that_may_repeat_much_comes_back(body: dict[str, Any]) -> None:
    known = [Source(UUID(int=n), jsontext.write([n, body])) for n in range(50)]
    template, blobs = split(jsontext.write(body), known=known)
    stored = Stored(bodies={source.event: source.body for source in known}, blobs=blobs)
    assert join(template, stored) == jsontext.write(body)


def test_a_body_that_goes_on_shares_what_it_begins_and_ends_with() -> None:
    first = jsontext.write({"messages": [LONG], "model": "m", "system": LONG})
    second = jsontext.write({"messages": [LONG, "More é"], "model": "m", "system": LONG})
    template, blobs = split(second, parent=Parent(FIRST, first))
    assert blobs == {}
    assert [type(span) for span in template.spans] == [SharedSpan, LiteralSpan, SharedSpan]
    assert references_of(template) == {FIRST}
    (literal,) = [span for span in template.spans if isinstance(span, LiteralSpan)]
    assert literal.text in ',"More é"' * 2


def test_what_an_event_holds_is_not_stored_again() -> None:
    block = {"type": "text", "text": LONG}
    said = MessageRecorded(role="user", content=(Native(api="anthropic-messages", value=block),))
    told = MessageRecorded(role="user", content=(Text(text=LONG + "!"),))
    known = [Source(FIRST, encode(said)), Source(SECOND, encode(told))]
    body = jsontext.write({"messages": [{"content": [block]}, {"content": LONG + "!"}]})
    template, _ = split(body, known=known)
    assert references_of(template) == {FIRST, SECOND}
    assert [type(span) for span in template.spans] == [
        *(LiteralSpan, ContentSpan, LiteralSpan, ContentSpan, LiteralSpan)
    ]
    bodies_of = {source.event: source.body for source in known}
    assert join(template, Stored(bodies=bodies_of)) == body


@pytest.mark.parametrize("sources", [1, 40])
@pytest.mark.parametrize("before", ["", "data:application/pdf;base64,", "data:;name=a;base64,"])
def test_a_document_is_not_stored_again_in_base64(before: str, sources: int) -> None:
    data = b"%PDF-1.7" + bytes(range(256)) * 400
    document = Document(media_type="application/pdf", blob=blob_of(data))
    known = [Source(FIRST, encode(DocumentExtracted(document=document)))] * sources
    body = jsontext.write({"source": {"data": before + base64.b64encode(data).decode()}})
    template, blobs = split(body, known=known)
    assert blobs == {}
    assert EncodedSpan(blob=blob_of(data)) in template.spans
    assert join(template, Stored(blobs={blob_of(data).sha256: data})) == body


def test_a_long_literal_is_held_in_a_blob() -> None:
    body = jsontext.write({"messages": ["x" * 100_000]})
    template, blobs = split(body)
    (span,) = template.spans
    assert isinstance(span, BlobSpan)
    assert blobs == {span.blob.sha256: body}


def test_a_short_body_is_kept_as_it_is() -> None:
    body = b'{"messages":[]}'
    template, _ = split(body, parent=Parent(FIRST, body))
    assert template.spans == (LiteralSpan(text='{"messages":[]}'),)


def test_other_bytes_than_were_sent_are_no_proof() -> None:
    body = jsontext.write({"messages": [LONG], "system": LONG})
    template, _ = split(body, parent=Parent(FIRST, body))
    with pytest.raises(CorruptRecord, match="other bytes"):
        join(template, Stored(requests={FIRST: body.replace(b"m", b"n")}))


@pytest.mark.parametrize("requests", [{}, {SECOND: b"x"}])
def test_a_missing_part_is_said(requests: Mapping[UUID, bytes]) -> None:
    body = jsontext.write({"messages": [LONG], "system": LONG})
    template, _ = split(body, parent=Parent(FIRST, body))
    with pytest.raises(CorruptRecord, match="missing"):
        join(template, Stored(requests=requests))
