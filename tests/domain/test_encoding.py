from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain import encoding as registry
from onrecord.domain import events
from onrecord.domain.content import Native, Text
from onrecord.domain.encoding import NAMES, VERSIONS, Unrecognised, decode, encode, name_of, upcast
from onrecord.domain.errors import CorruptRecord
from tests.domain.test_jsontext import values

RESPONSE = UUID(int=1)


def native(value: object) -> events.OpaqueRecorded:
    return events.OpaqueRecorded(
        response=RESPONSE,
        index=0,
        type="thing",
        content=Native(api="anthropic-messages", value={"type": "thing", "held": value}),
    )


@given(values)
def test_native_json_comes_back_as_it_was(value: object) -> None:
    event = native(value)
    back = decode("opaque.recorded", 1, encode(event))
    assert back == event
    assert isinstance(back, events.OpaqueRecorded)
    assert str(back.content.value) == str(event.content.value)


@given(st.text(), st.one_of(st.none(), st.text()))
def test_a_message_comes_back_as_it_was(text: str, message_id: str | None) -> None:
    said = events.MessageRecorded(role="user", content=(Text(text=text),), message_id=message_id)
    assert decode("message.recorded", 1, encode(said)) == said


def test_fields_at_their_default_are_left_out() -> None:
    said = events.MessageRecorded(role="user", content=(Text(text="Hi"),))
    assert encode(said) == b'{"role":"user","content":[{"kind":"text","text":"Hi"}]}'


def test_null_and_absent_stay_apart_in_native_json() -> None:
    body = encode(native({"citations": None}))
    assert b'"held":{"citations":null}' in body


def test_an_unknown_name_is_kept_raw() -> None:
    assert decode("future.thing", 3, b"\x00raw") == Unrecognised("future.thing", 3, b"\x00raw")


def test_a_newer_version_of_a_known_name_is_kept_raw() -> None:
    newer = VERSIONS["message.recorded"] + 1
    assert decode("message.recorded", newer, b"{}") == Unrecognised(
        "message.recorded", newer, b"{}"
    )


@pytest.mark.parametrize("body", [b"{}", b'{"role":"user","content":[],"more":1}', b"nonsense"])
def test_a_body_that_does_not_have_its_shape_is_corrupt(body: bytes) -> None:
    with pytest.raises(CorruptRecord, match=r"message\.recorded"):
        decode("message.recorded", 1, body)


def test_each_name_stands_for_one_shape_and_has_a_version() -> None:
    assert len(set(NAMES.values())) == len(NAMES) == len(VERSIONS)
    assert all(name_of(shape.model_construct()) == name for name, shape in NAMES.items())


def test_old_shapes_are_lifted_version_by_version() -> None:
    lifted = upcast(
        "note",
        1,
        {"body": "x"},
        versions={"note": 3},
        upcasters={
            ("note", 1): lambda old: {"text": old["body"]},
            ("note", 2): lambda old: {**old, "lang": "en"},
        },
    )
    assert lifted == {"text": "x", "lang": "en"}


def test_every_version_before_the_present_one_has_an_upcaster() -> None:
    steps = {(name, version) for name in NAMES for version in range(1, VERSIONS[name])}
    assert set(registry.UPCASTERS) == steps
