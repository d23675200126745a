"""What a process remembers of the checkpoints of one thread of LangGraph.

It is brought up to date before each use by one read of what came since, and left where something was erased,
cleared or taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.frameworks.item_events import item_event
from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.events import Event
from onrecord.domain.items import ItemRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import NewSince
from onrecord.projections.frameworks.checkpoints import (
    CheckpointItem,
    Latest,
    WritesItem,
    read_item,
)
from onrecord.projections.frameworks.shared_values import Place, places_in, shared

FRAMEWORK: Final = "langgraph"

_MOST_NEW: Final = 1_000
"""Events that came since: with more of them everything is left, and read when it is asked for."""
_RECENT: Final = 64
"""How many of the last events are read where nothing is known."""
_MOST_CHECKPOINTS: Final = 64
_MOST_PLACES: Final = 64
"""How many of the values that were written last are referred to: those of a turn."""


class HeldCheckpoint(NamedTuple):
    """A checkpoint, the version of its item, and the writes to it by the versions of theirs."""

    at: int
    item: CheckpointItem
    writes: dict[int, WritesItem]


class HeldList(NamedTuple):
    """A list of a channel: the version of the item that says it, and its members.

    `keys` tell which members are equal, `kept` are the members as the record has them: other bytes
    where the serialiser encrypts.
    """

    at: int
    keys: list[TypedValue]
    kept: list[TypedValue]


@dataclass(slots=True)
class ThreadMemory:
    """What a process remembers of a thread's checkpoints; not safe to share between threads.

    `version` is the last version that it knows of, 0 before the thread began. `key_of` gives the key of
    a list's member.
    """

    key_of: Callable[[TypedValue], TypedValue]
    version: int = 0
    conversation_id: UUID | None = None
    erasure_state: tuple[UUID, int] | None = None
    latest: dict[str, Latest | None] = field(default_factory=dict[str, Latest | None])
    is_whole: bool = False
    """Whether `latest` has every namespace: one that it has not holds nothing."""
    checkpoints: Newest[tuple[str, str], HeldCheckpoint] = field(
        default_factory=lambda: Newest[tuple[str, str], HeldCheckpoint](_MOST_CHECKPOINTS)
    )
    lists: dict[tuple[str, str], HeldList] = field(default_factory=dict[tuple[str, str], HeldList])
    early: dict[tuple[str, str], dict[int, WritesItem]] = field(
        default_factory=dict[tuple[str, str], dict[int, WritesItem]]
    )
    """Writes to checkpoints that were not known when they came, by version."""
    places: dict[bytes, Place] = field(default_factory=dict[bytes, Place])
    """Where tasks wrote the values that the next checkpoints may refer to."""

    def update(self, stream: Stream) -> None:
        """Take what came since; where nothing is known, the last events."""
        if stream.found() is None:
            self._begin(None, None, 0)
            return
        since = stream.new_since(self.version, _MOST_NEW)
        if not self._goes_on(stream, since):
            self._begin(stream.conversation_id, None, max(since.head.version - _RECENT, 0))
            since = stream.new_since(self.version, _MOST_NEW)
            self.erasure_state = since.erasure_state
        for recorded in since.events:
            if (event := item_event(stream, recorded)) is not None:
                self._take(recorded.version, event)
            self.version = recorded.version

    def _goes_on(self, stream: Stream, since: NewSince) -> bool:
        """Whether what came since is all that differs from what is remembered."""
        known = (self.conversation_id, self.erasure_state)
        came = since.head.version - self.version
        is_same = known == (stream.conversation_id, since.erasure_state)
        return is_same and self.version > 0 and 0 <= came <= _MOST_NEW

    def forget(self) -> None:
        """Know nothing but where the thread stands: something was taken back."""
        self._begin(self.conversation_id, self.erasure_state, self.version)
        self.is_whole = False

    def _begin(
        self, conversation_id: UUID | None, erasure_state: tuple[UUID, int] | None, version: int
    ) -> None:
        self.version, self.conversation_id = version, conversation_id
        self.erasure_state = erasure_state
        # Of a thread that is read from its beginning everything is known.
        self.is_whole = version == 0
        for remembered in (self.latest, self.checkpoints, self.lists):
            remembered.clear()
        self.early.clear()
        self.places.clear()

    def _take(self, version: int, event: Event) -> None:
        if not isinstance(event, ItemRecorded) or event.framework != FRAMEWORK:
            self.forget()
        elif event.beside is None:
            item = read_item(event.item)
            self.take(version, event.stream, item)
            if isinstance(item, WritesItem):
                self._remember_values(version, event.item)

    def shared(self, item: JsonObject) -> JsonObject:
        """Return the item of a checkpoint whose values refer to what tasks wrote just before.

        It is recorded only directly after `version`, so that what it refers to is of this conversation and was
        not cleared.
        """
        return {**item, "values": shared(item["values"], self.places)}

    def _remember_values(self, version: int, writes: JsonObject) -> None:
        """Remember the values that an item of writes says, which was recorded at a version."""
        for text, place in places_in(writes, version):
            self.places.setdefault(text, place)
        while len(self.places) > _MOST_PLACES:
            del self.places[next(iter(self.places))]

    def take(self, version: int, namespace: str, item: CheckpointItem | WritesItem | None) -> None:
        """Take an item that came next."""
        match item:
            case CheckpointItem():
                self._take_checkpoint(version, namespace, item)
                if self.is_whole or namespace in self.latest:
                    self.latest[namespace] = item.newest(version)
            case WritesItem():
                key = (namespace, item.writes_to)
                if (known := self.checkpoints.get(key)) is not None:
                    known.writes[version] = item
                else:
                    self.early.setdefault(key, {})[version] = item
                    while len(self.early) > _MOST_CHECKPOINTS:
                        del self.early[next(iter(self.early))]
            case None:
                return

    def _take_checkpoint(self, version: int, namespace: str, item: CheckpointItem) -> None:
        key = (namespace, item.checkpoint_id)
        before = self.checkpoints.pop(key, None)
        early = {**self.early.get(key, {}), **(before.writes if before is not None else {})}
        # One whose early writes are not at hand is read when it is asked for.
        if early.keys() >= set(item.early):
            writes = {at: early[at] for at in item.early}
            self.remember(namespace, HeldCheckpoint(version, item, writes))

    def remember(self, namespace: str, checkpoint: HeldCheckpoint) -> None:
        """Remember a checkpoint; of many those that were put or asked for last."""
        key = (namespace, checkpoint.item.checkpoint_id)
        self.early.pop(key, None)
        self.checkpoints[key] = checkpoint
