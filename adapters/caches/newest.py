"""A mapping that keeps the entries that were set last."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Newest(OrderedDict[K, V]):
    """The entries that were set last, the newest at the end; of too many the oldest goes.

    To read an entry does not make it newer: `move_to_end` does. Whoever sets entries from several threads
    locks. All else is one step, as with any dictionary: `tuple(newest.values())` needs no lock.
    """

    def __init__(self, most: int) -> None:
        """Keep nothing yet, and at most so many entries."""
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        """Keep an entry as the newest."""
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how `copy` and `pickle` make the same entries anew."""
        return type(self), (self._most,), None, None, iter(self.items())
