"""Entries of pydantic-ai that another program may have recorded: what can be read of them is read."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.framework import StreamItems
from onrecord.projections.frameworks.item_messages import Reading
from onrecord.projections.frameworks.pydantic_ai import read_items

STRANGE: tuple[Any, ...] = (["x"], {"x": 1}, 5, True)


def entry(entry_id: Any, parent_id: Any, said: str) -> JsonObject:
    parts = [{"part_kind": "user-prompt", "content": said}]
    message = {"kind": "request", "parts": parts}
    return {"id": entry_id, "parent_id": parent_id, "kind": "message", "message": message}


def read(head_id: Any, *entries: JsonObject) -> Reading:
    items = [HeldItem(version, item) for version, item in enumerate(entries, 2)]
    return read_items(StreamItems(items, {"record": {"head_id": head_id}}))


def texts(reading: Reading) -> list[str]:
    return [part["text"] for each in reading.messages for part in each.value["content"]]


@pytest.mark.parametrize("strange", [None, *STRANGE])
def test_an_item_without_an_id_of_an_entry_is_left_out_and_told(strange: Any) -> None:
    reading = read("b", entry("a", None, "one"), entry(strange, None, "x"), entry("b", "a", "two"))
    assert texts(reading) == ["one", "two"]
    assert [each.version for each in reading.unread] == [3]


@pytest.mark.parametrize("strange", STRANGE)
def test_an_entry_that_comes_behind_what_is_none_is_left_out_and_told(strange: Any) -> None:
    reading = read("c", entry("a", None, "x"), entry("b", strange, "y"), entry("c", "b", "three"))
    assert texts(reading) == ["three"]
    assert [each.version for each in reading.unread] == [3]


@pytest.mark.parametrize("strange", [None, *STRANGE])
def test_a_record_that_points_at_no_entry_has_no_history(strange: Any) -> None:
    assert texts(read(strange, entry("a", None, "one"))) == []
