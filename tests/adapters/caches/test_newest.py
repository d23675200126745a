"""What a mapping of the newest entries keeps."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.caches.newest import Newest


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_of_many_entries_those_set_last_are_kept_in_that_order(keys: list[int], most: int) -> None:
    entries: Newest[int, int] = Newest(most)
    for place, key in enumerate(keys):
        entries[key] = place
        assert len(entries) <= most
    last_first = list(dict.fromkeys(reversed(keys)))
    assert list(entries)[::-1] == last_first[:most]
    assert all(keys[place] == key for key, place in entries.items())


def test_to_read_an_entry_does_not_make_it_newer() -> None:
    entries: Newest[str, int] = Newest(2)
    entries["a"], entries["b"] = 1, 2
    assert entries["a"] == entries.get("a") == 1
    entries["c"] = 3
    assert list(entries) == ["b", "c"]
    entries.move_to_end("b")
    assert entries.setdefault("d", 4) == 4
    assert list(entries) == ["b", "d"]


def test_a_copy_keeps_as_many_entries_and_is_kept_apart() -> None:
    entries: Newest[str, int] = Newest(2)
    entries["a"], entries["b"] = 1, 2
    for other in (copy.copy(entries), copy.deepcopy(entries), pickle.loads(pickle.dumps(entries))):
        assert other == entries
        other["c"] = 3
        assert list(other) == ["b", "c"]
    assert list(entries) == ["a", "b"]
