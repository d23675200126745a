"""What is known of a framework: the name that its items are stored under, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.item_messages import ItemContents, Reading
from onrecord.projections.frameworks.shared_values import ItemAt
from onrecord.projections.members import member, token_count

_NO_STATE: Final[Mapping[str, object]] = MappingProxyType({})


class StreamItems(NamedTuple):
    """What a stream holds: `items` in order, with their long strings, and `state` by name.

    `item_at` returns what was recorded at a version, `redacted` are the versions that were redacted.
    """

    items: Sequence[HeldItem]
    state: Mapping[str, object] = _NO_STATE
    item_at: ItemAt = lambda version: None
    redacted: Collection[int] = ()


class ItemUsage(NamedTuple):
    """What an answer took, as one item says it.

    Counts are as Onrecord has them everywhere: what was read includes what came from a cache and what
    went into one, what was written includes what was thought. Providers count otherwise, and so do some
    frameworks. `answer` is the answer's id, where other items may say the same again; None where each
    item is an answer of its own. `model` is empty where nobody named it.
    """

    answer: str | None
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """Return the counts in this order."""
        return self[2:]


def token_counts(usage: object) -> Callable[..., int]:
    """Return a function that gives a count by any of its names; 0 where there is none."""

    def count(*names: str) -> int:
        values = (member(usage, name) for name in names)
        return next((number for value in values if (number := token_count(value))), 0)

    return count


class Framework(NamedTuple):
    """A framework: its name as items are stored under it, and how they are read.

    `read_items` returns what the items of a stream say, in the JSON of an API; None where that is not
    known. `read_item` returns what one item says by itself; None where it says nothing. `read_usages`
    returns what answers took, as one item says it. `about` returns in a few words what an item is that
    says nothing; "" where that is not known. A framework that `prunes` replaces items that it no
    longer needs: its messages are still there.
    """

    name: str
    read_items: Callable[[StreamItems], Reading | None] = lambda stream: None
    read_item: Callable[[JsonObject], ItemContents | None] = lambda item: None
    read_usages: Callable[[JsonObject], Iterable[ItemUsage]] = lambda item: ()
    about: Callable[[JsonObject], str] = lambda item: ""
    prunes: bool = False

    def usages(self, item: JsonObject) -> Iterator[ItemUsage]:
        """Yield what each answer took of which an item tells; not of those that tell of no tokens."""
        return (usage for usage in self.read_usages(item) if any(usage.counts))
