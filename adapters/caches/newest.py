"""A mapping that keeps the entries that were set last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Newest(MutableMapping[K, V]):
    """The entries that were set last, the newest at the end; of too many the oldest goes.

    To read an entry does not make it newer: `move_to_end` does. Whoever shares it between threads locks.
    """

    def __init__(self, most: int) -> None:
        """Keep nothing yet, and at most so many entries."""
        self._most = most
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        """Return the entry of a key."""
        return self._entries[key]

    def __setitem__(self, key: K, value: V) -> None:
        """Keep an entry as the newest."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def __delitem__(self, key: K) -> None:
        """Keep the entry of a key no longer."""
        del self._entries[key]

    def __iter__(self) -> Iterator[K]:
        """Yield the keys, that of the newest entry last."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._entries)

    def __copy__(self) -> Newest[K, V]:
        """Return the same entries, kept apart from here on."""
        other: Newest[K, V] = Newest(self._most)
        other.update(self)
        return other

    def move_to_end(self, key: K) -> None:
        """Make an entry the newest."""
        self._entries.move_to_end(key)
