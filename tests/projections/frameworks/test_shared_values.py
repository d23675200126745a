"""Values that items have in common are said once, and each item is whole when it is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.shared_values import (
    Place,
    moved,
    places_in,
    restored,
    shared,
)


def _value(number: int) -> JsonObject:
    return {"$ext": 5, "of": ["messages", "Message", {"content": f"{number} " * 80}]}


_values = st.integers(0, 4).map(_value) | st.integers(0, 9).map(
    lambda small: {"$ext": small, "of": 1}
)
_json = st.recursive(
    _values | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
items = st.lists(st.dictionaries(st.sampled_from("abc"), _json, max_size=3), max_size=8)


def _recorded(said: list[JsonObject]) -> dict[int, JsonObject]:
    """Return the items as a thread records them, each behind the ones before."""
    recorded: dict[int, JsonObject] = {}
    places: dict[bytes, Place] = {}
    for version, item in enumerate(said, start=1):
        recorded[version] = shared(item, places)
        for text, place in places_in(recorded[version], version):
            places.setdefault(text, place)
    return recorded


@given(items)
def test_each_item_is_read_as_it_was_before_it_was_shared(said: list[JsonObject]) -> None:
    recorded = _recorded(said)
    assert [restored(item, recorded.get) for item in recorded.values()] == said


@given(items, st.integers(0, 50))
def test_items_that_move_refer_to_each_other_where_they_are(
    said: list[JsonObject], by: int
) -> None:
    recorded = _recorded(said)
    versions = {version: version + by for version in recorded}
    there = {versions[at]: moved(item, versions) for at, item in recorded.items()}
    assert [restored(item, there.get) for item in there.values()] == said


def test_a_value_is_said_once_however_often_it_comes() -> None:
    recorded = _recorded(
        [{"input": _value(1)}, {"writes": [_value(1)]}, {"list": [_value(1), _value(2)]}]
    )
    assert recorded[2] == {"writes": [{"$same": [1, 0]}]}
    assert recorded[3] == {"list": [{"$same": [1, 0]}, _value(2)]}


def test_a_small_value_is_said_each_time() -> None:
    small: JsonObject = {"value": {"$ext": 2, "of": ["uuid", "UUID", "1"]}}
    assert _recorded([small, small])[2] == small


@pytest.mark.parametrize("place", [[1, 9], [7, 0], [1], "1", None, [None, None]])
def test_a_reference_to_nothing_is_told(place: Any) -> None:
    recorded: dict[int, JsonObject] = {1: {"input": _value(1)}}
    with pytest.raises(CorruptRecord, match="not where it was said first"):
        restored({"writes": [{"$same": place}]}, recorded.get)


def test_an_item_that_many_refer_to_is_asked_for_once() -> None:
    first: JsonObject = {"writes": [_value(number) for number in range(20)]}
    item: JsonObject = {"list": [{"$same": [1, number]} for number in range(20)]}
    asked: list[int] = []

    def item_at(version: int) -> JsonObject:
        asked.append(version)
        return first

    assert restored(item, item_at) == {"list": first["writes"]}
    assert asked == [1]
