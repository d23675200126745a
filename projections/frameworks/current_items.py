"""What a stream holds now, found from its end: reading the last items costs what they are.

Events are taken the last one first. What became of an item was said behind it, so that all of it is
known when the item comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from onrecord.domain.admission import refers_back
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import (
    ItemAmended,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)
from onrecord.domain.jsontext import JsonObject

TYPES: Final = frozenset(
    {
        *("item.recorded", "item.withdrawn", "item.amended", "items.replaced"),
        *("stream.cleared", "state.put", "content.redacted"),
    }
)
"""The names of the events that say what streams hold."""


class HeldItem(NamedTuple):
    """An item that a stream holds: the version of its event, and what it says now.

    Long strings of `item` may stand in it as references to blobs.
    """

    version: int
    item: JsonObject
    item_id: str | None = None


_Kept: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
"""The version of a replacement, and the ranges of versions that it keeps."""


@dataclass(slots=True)
class CurrentItems:
    """What a stream of a framework's session holds, as far as events were taken.

    `last` is how many items are wanted, the last ones; None wants all. `is_complete` says that no
    earlier event can add anything. `items` are the last one first. `cleared` is the version at which
    the stream was last cleared, if that was met (0: it was not).
    """

    framework: str
    stream: str = ""
    last: int | None = None
    items: list[HeldItem] = field(default_factory=list[HeldItem])
    state: dict[str, object] = field(default_factory=dict[str, object])
    cleared: int = 0
    _withdrawn: set[int] = field(default_factory=set[int])
    _amended: dict[int, JsonObject] = field(default_factory=dict[int, JsonObject])
    _kept: list[_Kept] = field(default_factory=list[_Kept])

    @property
    def is_complete(self) -> bool:
        """Whether no earlier event can add an item that is wanted."""
        return bool(self.cleared) or len(self.items) == self.last

    def take(self, version: int, event: Event | Unrecognised | Erased) -> None:
        """Take the event that comes before all that were taken."""
        # Most events are items: to ask each what else it may be takes its time.
        if isinstance(event, ItemRecorded):
            self._take_item(version, event)
        elif not isinstance(event, Unrecognised | Erased):
            self._take_other(version, event)

    def _take_other(self, version: int, event: Event) -> None:
        if self.is_complete or event.line is not None or not refers_back(event, version):
            return
        match event:
            case ItemWithdrawn() | ContentRedacted():
                self._withdrawn.add(event.version)
            case ItemAmended() if version not in self._withdrawn:
                self._amended.setdefault(event.version, event.item)
            case ItemsReplaced() if self._is_of(event.framework, event.stream):
                self._kept.append((version, event.kept))
            case StreamCleared() if self._is_of(
                event.framework, self.stream if event.whole else event.stream
            ):
                self.cleared = version
            case StatePut() if self._is_of(event.framework, event.stream):
                if version not in self._withdrawn:
                    self.state.setdefault(event.key, event.value)
            case _:
                return

    def _is_of(self, framework: str, stream: str) -> bool:
        return framework == self.framework and stream == self.stream

    def _take_item(self, version: int, event: ItemRecorded) -> None:
        if self.is_complete or not self._is_of(event.framework, event.stream):
            return
        if event.beside is not None or event.line is not None:
            return
        if event.after is not None and not refers_back(event, version):
            return
        if version in self._withdrawn or not self._is_kept(version):
            return
        item = self._amended.get(version, event.item)
        self.items.append(HeldItem(version, item, event.item_id))

    def _is_kept(self, version: int) -> bool:
        return not self._kept or all(
            is_within(version, kept) for at, kept in self._kept if version < at
        )


def streams_held(framework: str, events: Iterable[tuple[int, Event]]) -> list[str]:
    """Return the names of the streams that hold items, in the order of their first items.

    Events come the last one first. A stream begins anew once it was cleared.
    """
    streams: dict[str, CurrentItems] = {}
    begun: dict[str, int] = {}
    cleared, withdrawn = set[str](), set[int]()
    for version, event in events:
        if event.line is not None:
            continue
        match event:
            case ItemWithdrawn() | ContentRedacted() if refers_back(event, version):
                withdrawn.add(event.version)
            case StreamCleared() if event.framework == framework:
                if event.whole:
                    break
                cleared.add(event.stream)
            case ItemRecorded(stream=name) | ItemsReplaced(stream=name) if (
                event.framework == framework and name not in cleared
            ):
                if name not in streams:
                    streams[name] = CurrentItems(framework, name, 1, _withdrawn=withdrawn)
                streams[name].take(version, event)
                if isinstance(event, ItemRecorded):
                    begun[name] = version
            case _:
                continue
    return [name for name in sorted(begun, key=begun.__getitem__) if streams[name].items]


def is_within(version: int, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether a version lies in one of some ranges, each its first and its last one."""
    return any(first <= version <= last for first, last in ranges)
