"""Items at versions that fall are read a page at a time, however far apart they lie."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from onrecord.adapters.frameworks.langgraph.item_pages import ItemPages


class _Stream:
    """A conversation without items that counts what is read of it."""

    def __init__(self) -> None:
        self.reads = 0
        self.events = 0

    def read(self, *, after: int, until: int) -> list[Any]:
        self.reads += 1
        self.events += until - after
        return [
            SimpleNamespace(version=version, type="a remark")
            for version in range(after + 1, until + 1)
        ]


@pytest.mark.parametrize("gap", [1, 2, 5, 7])
def test_a_long_list_is_read_in_few_pages(gap: int) -> None:
    stream = _Stream()
    pages = ItemPages(cast("Any", stream))
    for version in range(20_000, 0, -gap):
        pages.item(version)
    assert stream.reads < 20
    assert stream.events <= 21_000


def test_items_that_lie_far_apart_are_read_alone() -> None:
    stream = _Stream()
    pages = ItemPages(cast("Any", stream))
    for version in (20_000, 12_000, 15_000, 3_000):
        pages.item(version)
    assert (stream.reads, stream.events) == (4, 4)
