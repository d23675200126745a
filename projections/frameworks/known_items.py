"""Which items a stream has by the ids of its framework, and what is new of those that come again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from onrecord.domain import jsontext
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import Event
from onrecord.domain.items import (
    ItemAmended,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StreamCleared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import is_within


@dataclass(frozen=True, slots=True)
class _Known:
    """An item by its version, what it said since, and the version at which it was taken away (0: it was not)."""

    version: int
    texts: tuple[bytes, ...]
    taken_away: int = 0


@dataclass(slots=True)
class KnownItems:
    """The items of a stream by their ids, in the order in which their events were recorded."""

    framework: str
    stream: str = ""
    _cleared: int = 0
    _known: dict[str, _Known] = field(default_factory=dict[str, _Known])
    _ids: dict[int, str] = field(default_factory=dict[int, str])

    def take(self, version: int, event: Event | Unrecognised | Erased) -> None:
        """Take the next event."""
        match event:
            case StreamCleared(framework=self.framework) if event.whole or (
                event.stream == self.stream
            ):
                self._cleared = version
            case ItemRecorded(framework=self.framework, stream=self.stream, item_id=str()):
                self._add(version, event)
            case ItemAmended():
                self._amend(event)
            case ItemWithdrawn() if event.version < version:
                self._take_away(event.version, version)
            case ItemsReplaced(framework=self.framework, stream=self.stream):
                for known in list(self._known.values()):
                    if not is_within(known.version, event.kept):
                        self._take_away(known.version, version)
            case _:
                return

    def new_among(self, items: Iterable[ItemRecorded], version: int) -> list[ItemRecorded]:
        """Return those items that the stream does not have, as they are to be recorded.

        They come behind `version`. One whose id stands for another item is kept beside that. An item
        whose namesake was cleared or taken away is a new one.
        """
        new: list[ItemRecorded] = []
        for item in items:
            if (unknown := self._unknown(item)) is not None:
                new.append(unknown)
                self.take(version + len(new), unknown)
        return new

    def _unknown(self, item: ItemRecorded) -> ItemRecorded | None:
        known = None if item.item_id is None else self._known.get(item.item_id)
        if known is None:
            return item
        if (gone := max(self._cleared, known.taken_away)) >= known.version:
            return item.model_copy(update={"after": gone})
        if _text(item.item) in known.texts:
            return None
        return item.model_copy(update={"beside": known.version})

    def _amend(self, event: ItemAmended) -> None:
        """Know an item by what it says since, too; no other stream has an item at its version."""
        item_id = self._ids.get(event.version, "")
        known = self._known.get(item_id)
        # The id may stand for another item by now, behind a clearing.
        if known is not None and known.version == event.version:
            self._known[item_id] = replace(known, texts=(*known.texts, _text(event.item)))

    def _take_away(self, taken: int, version: int) -> None:
        """Know an item as one that the stream had; no other stream has an item at its version."""
        item_id = self._ids.get(taken, "")
        known = self._known.get(item_id)
        if known is not None and known.version == taken:
            self._known[item_id] = replace(known, taken_away=version)

    def _add(self, version: int, event: ItemRecorded) -> None:
        item_id = event.item_id or ""
        known = self._known.get(item_id)
        if known is not None and known.version > max(self._cleared, known.taken_away):
            self._known[item_id] = replace(known, texts=(*known.texts, _text(event.item)))
        else:
            self._known[item_id] = _Known(version, (_text(event.item),))
            self._ids[version] = item_id


def _text(item: JsonObject) -> bytes:
    """Return what tells items: in Python, true and 1 are equal."""
    return jsontext.write_canonical(item)
