"""Values of LangGraph's serialisers are spelled in JSON, and give the same bytes back."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from onrecord.adapters.frameworks.langgraph.typed_values import spell, typed
from onrecord.domain import jsontext
from onrecord.domain.errors import CorruptRecord

SERDE = JsonPlusSerializer()

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20)
    | st.datetimes(timezones=st.just(UTC))
    | st.sets(st.integers(0, 9))
)
names = st.text(max_size=6) | st.sampled_from(["$ext", "$bytes", "of", "$onrecord.blob"])
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(names, inner, max_size=4)
        | st.dictionaries(st.integers(0, 9), inner, max_size=2)
    ),
    max_leaves=12,
)


@given(values)
def test_the_bytes_come_back_through_json(value: Any) -> None:
    dumped = SERDE.dumps_typed(value)
    assert typed(jsontext.read(jsontext.write(spell(dumped)))) == dumped


@given(st.text(max_size=8), st.binary(max_size=64))
def test_bytes_of_any_serialiser_come_back(name: str, data: bytes) -> None:
    assert typed(spell((name, data))) == (name, data)


def test_a_message_can_be_read_in_the_record() -> None:
    message = AIMessage("In depot North.", id="m-1")
    spelled = spell(SERDE.dumps_typed(message))
    module, name, members, _ = spelled["json"]["of"]
    assert (module, name) == ("langchain_core.messages.ai", "AIMessage")
    assert (members["content"], members["id"]) == ("In depot North.", "m-1")


@pytest.mark.parametrize(
    "value", [math.nan, {"a": math.inf}, {1: 2}, {"$ext": 1}, [[[math.nan]]], {"$bytes": "AA=="}]
)
def test_what_json_cannot_spell_is_kept_as_bytes(value: Any) -> None:
    assert "base64" in spell(SERDE.dumps_typed(value))


def test_what_is_nested_deeply_comes_back() -> None:
    value: Any = datetime(2026, 11, 24, tzinfo=UTC)
    for _ in range(120):
        value = [value]
    dumped = SERDE.dumps_typed(value)
    assert typed(jsontext.read_bounded(jsontext.write(spell(dumped)))) == dumped


def test_msgpack_in_another_spelling_is_kept_as_bytes() -> None:
    wide = b"\xcd\x00\x01"
    assert ormsgpack.unpackb(wide) == 1
    assert typed(spell(("msgpack", wide))) == ("msgpack", wide)


@pytest.mark.parametrize(
    "spelled", [{}, {"type": "msgpack", "base64": "?"}, {"type": "x", "base64": 1}]
)
def test_what_was_never_spelled_is_a_corrupt_record(spelled: dict[str, Any]) -> None:
    with pytest.raises(CorruptRecord):
        typed(spelled)
