"""The items of a thread at their versions, read a page at a time."""

from __future__ import annotations

from typing import Final

from onrecord.adapters.frameworks.item_events import item_event
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.items import ItemRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.frameworks.checkpoints import CheckpointItem, read_item
from onrecord.projections.frameworks.shared_values import restored

_LARGEST_PAGE: Final = 4_096
_NEAR: Final = 8
"""Events between two checkpoints of a turn, at the most that is usual."""


class ItemPages:
    """Items of a conversation; those whose versions fall are read together."""

    def __init__(self, stream: Stream) -> None:
        """Read the conversation of a stream."""
        self._stream = stream
        self._page: dict[int, RecordedEvent] = {}
        self._first, self._size = 0, 1

    def item(self, version: int) -> JsonObject | None:
        """Return the item at a version as it was recorded, whatever became of it; None where there is none."""
        if (recorded := self._recorded(version)) is None:
            return None
        event = item_event(self._stream, recorded)
        return event.item if isinstance(event, ItemRecorded) else None

    def checkpoint(self, version: int) -> CheckpointItem:
        """Return the checkpoint whose item is at a version; CorruptRecord where there is none."""
        item = self.item(version)
        checkpoint = None if item is None else read_item(item)
        if not isinstance(checkpoint, CheckpointItem):
            raise CorruptRecord(
                f"what is said at version {version} is no checkpoint: verify the log and restore it"
            )
        return checkpoint

    def restored(self, value: JsonObject) -> JsonObject:
        """Return a value with those that it refers to."""
        return restored(value, self.item)

    def _recorded(self, version: int) -> RecordedEvent | None:
        if version not in self._page:
            # Where the next one lies far back, a page of what is between would be read for nothing.
            is_near = 0 <= self._first - version < max(self._size, _NEAR)
            self._size = min(self._size * 8, _LARGEST_PAGE) if is_near else 1
            self._first = max(version - self._size, 0)
            read = self._stream.read(after=self._first, until=version)
            self._page = {recorded.version: recorded for recorded in read}
        return self._page.get(version)
