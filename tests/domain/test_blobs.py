from __future__ import annotations

import base64
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.blobs import ESCAPE, LIMIT, REFERENCE, blob_of, referenced, restore, spill
from onrecord.domain.content import Native
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import OpaqueRecorded
from onrecord.domain.new_events import blobs_of
from tests.domain.test_jsontext import values

LONG = "x" * (LIMIT + 1)
keys = st.sampled_from(["a", "b", REFERENCE, ESCAPE, "size"])
tricky = st.recursive(
    st.sampled_from([LONG, "é" * LIMIT, "short", 1, None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(values | tricky)
def test_what_spills_over_comes_back_as_it_was(value: object) -> None:
    spilled, blobs = spill(value)
    assert restore(spilled, blobs) == value
    assert {blob.sha256 for blob in referenced(spilled)} == set(blobs)


def test_a_long_string_leaves_a_reference() -> None:
    spilled, blobs = spill({"data": LONG})
    (digest,) = blobs
    assert spilled == {"data": {REFERENCE: digest, "size": LIMIT + 1}}


@given(st.binary(min_size=1, max_size=LIMIT), st.integers(min_value=1, max_value=3))
def test_base64_of_bytes_that_are_stored_refers_to_them(data: bytes, times: int) -> None:
    stored = data + bytes(LIMIT)
    text = base64.b64encode(stored).decode()
    value = {"images": [text] * times, "other": text + "\n"}
    spilled, blobs = spill(value, {text: stored})
    reference = {REFERENCE: blob_of(stored).sha256, "size": len(stored), "as": "base64"}
    assert spilled["images"] == [reference] * times
    assert blobs[blob_of(stored).sha256] == stored
    assert restore(spilled, blobs) == value
    assert {blob.sha256 for blob in referenced(spilled)} == set(blobs)


def test_a_short_string_stays_whatever_it_is_the_base64_of() -> None:
    assert spill({"data": "AAAA"}, {"AAAA": bytes(3)}) == ({"data": "AAAA"}, {})


def test_a_short_string_stays() -> None:
    assert spill({"data": "x" * LIMIT}) == ({"data": "x" * LIMIT}, {})


def test_a_missing_blob_is_a_corrupt_record() -> None:
    spilled, _ = spill({"data": LONG})
    with pytest.raises(CorruptRecord, match="missing"):
        restore(spilled, {})


def test_an_event_knows_the_blobs_that_it_refers_to() -> None:
    spilled, blobs = spill({"data": LONG, "again": [LONG]})
    event = OpaqueRecorded(
        response=UUID(int=1),
        index=0,
        type="thing",
        content=Native(api="anthropic-messages", value=spilled),
    )
    assert [blob.sha256 for blob in blobs_of(event)] == list(blobs)
