"""Checkpoints of LangGraph as items: lists by what they take over, writes that count, threads that are copied."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.errors import CorruptRecord
from onrecord.projections.frameworks.checkpoints import (
    ChannelWrite,
    ListMembers,
    WritesItem,
    list_value,
    parts_of,
    read_item,
    standing_writes,
)

members = st.lists(st.integers(0, 6), max_size=12)


def members_of(said: dict[int, Any], at: int) -> list[Any]:
    """Return the members of the list that is said at a version."""
    found = ListMembers()
    while at:
        at = found.take(said[at])
    return found.members


def said_one_after_another(lists: list[list[int]]) -> dict[int, Any]:
    said: dict[int, Any] = {}
    before: list[int] = []
    for at, values in enumerate(lists, start=1):
        said[at] = list_value(at - 1, parts_of(before, values), values.__getitem__)
        before = values
    return said


@given(st.lists(members, min_size=1, max_size=8))
def test_each_list_is_found_by_what_it_takes_over(lists: list[list[int]]) -> None:
    said = said_one_after_another(lists)
    assert [members_of(said, at) for at in said] == lists


@given(st.lists(members, min_size=2, max_size=8), st.data())
def test_a_list_that_is_known_ends_the_search(lists: list[list[int]], data: st.DataObject) -> None:
    said = said_one_after_another(lists)
    known = data.draw(st.integers(1, len(lists)))
    found, at = ListMembers(), len(lists)
    while at:
        if at == known:
            break
        at = found.take(said[at])
    if at == known and at != len(lists):
        found.fill(lists[known - 1])
        assert found.members == lists[-1]


def test_a_list_that_grows_says_what_is_new() -> None:
    said = said_one_after_another([[0], [0, 1], [0, 1, 2]])
    assert said[3] == {"base": 2, "parts": [[0, 2], {"new": [2]}]}


def test_a_list_whose_front_is_cut_off_needs_no_more_than_it_holds() -> None:
    lists = [list(range(start, start + 3)) for start in range(50)]
    said = said_one_after_another(lists)
    found, at, reads = ListMembers(), 50, 0
    while at:
        at, reads = found.take(said[at]), reads + 1
    assert (found.members, reads) == ([49, 50, 51], 3)


def test_a_list_that_has_nothing_of_the_one_before_names_none() -> None:
    assert list_value(7, parts_of([1], [2]), [2].__getitem__) == {
        "base": 0,
        "parts": [{"new": [2]}],
    }


def writes(task: str, path: str, *places: tuple[int, str, int]) -> WritesItem:
    return WritesItem("c", task, path, tuple(ChannelWrite(*each) for each in _typed(places)))


def _typed(places: tuple[tuple[int, str, int], ...]) -> list[tuple[int, str, dict[str, int]]]:
    return [(place, channel, {"value": value}) for place, channel, value in places]


def values_of(*items: WritesItem) -> list[int]:
    return [write.value["value"] for _, write in standing_writes(items)]


def test_the_first_write_at_a_place_counts_and_the_last_below_zero() -> None:
    first = writes("t", "", (0, "a", 1), (-1, "error", 2))
    again = writes("t", "", (0, "a", 3), (-1, "error", 4), (1, "a", 5))
    assert values_of(first, again) == [4, 1, 5]


def test_writes_come_in_the_order_of_a_superstep() -> None:
    items = (writes("a", "2", (0, "c", 3)), writes("b", "1", (1, "c", 2), (0, "c", 1)))
    assert values_of(*items, writes("c", "", (0, "c", 0))) == [0, 1, 2, 3]


@pytest.mark.parametrize("item", [{"checkpoint_id": "c"}, {"writes_to": "c", "writes": 3}])
def test_an_item_that_breaks_off_is_a_corrupt_record(item: dict[str, Any]) -> None:
    with pytest.raises(CorruptRecord):
        read_item(item)


def test_an_item_of_another_kind_is_left_alone() -> None:
    assert read_item({"something": "else"}) is None
