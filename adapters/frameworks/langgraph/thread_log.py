"""The checkpoints of one thread of LangGraph, read from its conversation, and what a process remembers.

What is remembered is brought up to date before each use by one read of what came since. It is left where
something was erased, cleared or taken back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.frameworks.item_events import backwards, forwards, item_event
from onrecord.adapters.frameworks.langgraph.item_pages import ItemPages
from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue, typed
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import ItemRecorded, ItemWithdrawn
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import NewSince
from onrecord.projections.frameworks.checkpoints import (
    CheckpointItem,
    Latest,
    ListMembers,
    Namespaces,
    WritesItem,
    is_list,
    read_item,
)
from onrecord.projections.frameworks.current_items import CurrentItems
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
class CheckpointLog:
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
    checkpoints: OrderedDict[tuple[str, str], HeldCheckpoint] = field(
        default_factory=OrderedDict[tuple[str, str], HeldCheckpoint]
    )
    lists: dict[tuple[str, str], HeldList] = field(default_factory=dict[tuple[str, str], HeldList])
    early: dict[tuple[str, str], dict[int, WritesItem]] = field(
        default_factory=dict[tuple[str, str], dict[int, WritesItem]]
    )
    """Writes to checkpoints that were not known when they came, by version."""
    places: dict[bytes, Place] = field(default_factory=dict[bytes, Place])
    """Where tasks wrote the values that the next checkpoints may refer to."""

    def update(self, held: Stream) -> None:
        """Take what came since; where nothing is known, the last events."""
        if held.found() is None:
            self._begin(None, None, 0)
            return
        since = held.new_since(self.version, _MOST_NEW)
        if not self._goes_on(held, since):
            self._begin(held.conversation_id, None, max(since.head.version - _RECENT, 0))
            since = held.new_since(self.version, _MOST_NEW)
            self.erasure_state = since.erasure_state
        for recorded in since.events:
            if (event := item_event(held, recorded)) is not None:
                self._take(recorded.version, event)
            self.version = recorded.version

    def _goes_on(self, held: Stream, since: NewSince) -> bool:
        """Whether what came since is all that differs from what is remembered."""
        known = (self.conversation_id, self.erasure_state)
        came = since.head.version - self.version
        is_same = known == (held.conversation_id, since.erasure_state)
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
            self._remember(namespace, HeldCheckpoint(version, item, writes))

    def _remember(self, namespace: str, checkpoint: HeldCheckpoint) -> None:
        key = (namespace, checkpoint.item.checkpoint_id)
        self.early.pop(key, None)
        self.checkpoints[key] = checkpoint
        self.checkpoints.move_to_end(key)
        while len(self.checkpoints) > _MOST_CHECKPOINTS:
            self.checkpoints.popitem(last=False)

    # Reading.

    def newest(self, held: Stream, namespace: str) -> Latest | None:
        """Return the checkpoint of a namespace with the largest id; None where it has none."""
        if namespace not in self.latest and not self.is_whole:
            self._find_latest(held, namespace)
        return self.latest.get(namespace)

    def namespaces(self, held: Stream) -> list[str]:
        """Return the namespaces that have checkpoints."""
        if not self.is_whole:
            self._find_latest(held, None)
        return [name for name, latest in self.latest.items() if latest is not None]

    def _find_latest(self, held: Stream, namespace: str | None) -> None:
        """Find the latest of a namespace from the end; of all where that has none, or None is asked for."""
        found = Namespaces(FRAMEWORK)
        for at, event in backwards(held, self.version):
            found.take(at, event)
            if found.is_complete:
                break
            if namespace is not None and namespace in found.latest:
                self.latest[namespace] = found.latest[namespace]
                return
        found.end()
        self.latest.update({**found.latest, **self.latest})
        self.is_whole = True

    def checkpoint(
        self, held: Stream, namespace: str, checkpoint_id: str, *, taken_back: bool = False
    ) -> HeldCheckpoint | None:
        """Return a checkpoint; None where there is none, or it was taken back and that is not asked for."""
        if (known := self.checkpoints.get((namespace, checkpoint_id))) is not None:
            return known
        at, found = self._found(held, namespace, checkpoint_id, taken_back=taken_back)
        if found is None:
            return None
        checkpoint = HeldCheckpoint(at, found, self._writes_to(held, namespace, found, at))
        if not taken_back:
            self._remember(namespace, checkpoint)
        return checkpoint

    def checkpoint_or_newest(
        self, held: Stream, namespace: str, checkpoint_id: str | None
    ) -> HeldCheckpoint | None:
        """Return a checkpoint, or without an id the one with the largest; None where there is none."""
        if checkpoint_id is not None:
            return self.checkpoint(held, namespace, checkpoint_id)
        newest = self.newest(held, namespace)
        return None if newest is None else self.checkpoint(held, namespace, newest.checkpoint_id)

    def _found(
        self, held: Stream, namespace: str, checkpoint_id: str, *, taken_back: bool
    ) -> tuple[int, CheckpointItem | None]:
        """Find a checkpoint from the end: of two with one id the last counts."""
        latest = self.latest.get(namespace)
        if latest is not None and latest.checkpoint_id == checkpoint_id:
            return latest.at, self.checkpoint_at(held, latest.at)
        for at, item in self.items(held, namespace, taken_back=taken_back):
            if isinstance(item, CheckpointItem) and item.checkpoint_id == checkpoint_id:
                return at, item
        return 0, None

    def items(
        self, held: Stream, namespace: str, *, taken_back: bool = False
    ) -> Iterator[tuple[int, CheckpointItem | WritesItem]]:
        """Yield the items of a namespace, the last one first; those that were taken back if asked for."""
        current = CurrentItems(FRAMEWORK, namespace)
        for at, event in backwards(held, self.version):
            if taken_back and not (isinstance(event, ItemRecorded) or _clears(event, namespace)):
                continue
            current.take(at, event)
            item = read_item(current.items.pop().item) if current.items else None
            if item is not None:
                yield at, item
            if current.is_complete:
                return

    def _writes_to(
        self, held: Stream, namespace: str, item: CheckpointItem, at: int
    ) -> dict[int, WritesItem]:
        writes = self.early_writes(held, item)
        for version, event in forwards(held, self.version, after=at):
            found = _item_of(event, namespace)
            if isinstance(found, WritesItem) and found.writes_to == item.checkpoint_id:
                writes[version] = found
            elif isinstance(event, ContentRedacted | ItemWithdrawn):
                writes.pop(event.version, None)
        return writes

    def early_writes(self, held: Stream, item: CheckpointItem) -> dict[int, WritesItem]:
        """Return the writes that came before a checkpoint, by their versions."""
        writes: dict[int, WritesItem] = {}
        for version in item.early:
            said = ItemPages(held).item(version)
            found = None if said is None else read_item(said)
            if isinstance(found, WritesItem):
                writes[version] = found
        return writes

    def checkpoint_at(self, held: Stream, version: int) -> CheckpointItem:
        """Return the checkpoint whose item is at a version; CorruptRecord where there is none."""
        for known in self.checkpoints.values():
            if known.at == version:
                return known.item
        return ItemPages(held).checkpoint(version)

    def value(
        self, held: Stream, namespace: str, channel: str, at: int
    ) -> TypedValue | HeldList | None:
        """Return the value of a channel that the item at a version changed; None where it was empty then."""
        known = self.lists.get((namespace, channel))
        if known is not None and known.at == at:
            return known
        value = self.checkpoint_at(held, at).values.get(channel)
        if value is None:
            return None
        if is_list(value):
            return self._list(held, namespace, channel, at)
        return typed(ItemPages(held).restored(value))

    def _list(self, held: Stream, namespace: str, channel: str, at: int) -> HeldList:
        known = self.lists.get((namespace, channel))
        members, pages = ListMembers(), ItemPages(held)
        pointer = at
        while pointer:
            if known is not None and pointer == known.at:
                members.fill(known.kept)
                break
            value = pages.checkpoint(pointer).values.get(channel)
            if value is None or not is_list(value):
                raise CorruptRecord("a list goes on from what is none: verify the log")
            pointer = members.take(pages.restored(value))
        kept = [_typed(member) for member in members.members]
        found = HeldList(at, [self.key_of(member) for member in kept], kept)
        if known is None or known.at < at:
            self.lists[namespace, channel] = found
        return found


def _typed(member: TypedValue | JsonObject) -> TypedValue:
    """Return a member of a list as it was known, or as an item says it."""
    return typed(member) if isinstance(member, dict) else member


def _item_of(event: Event, namespace: str) -> CheckpointItem | WritesItem | None:
    match event:
        case ItemRecorded(beside=None) if (event.framework, event.stream) == (FRAMEWORK, namespace):
            return read_item(event.item)
        case _:
            return None


def _clears(event: Event, namespace: str) -> bool:
    """Whether an event clears a namespace."""
    current = CurrentItems(FRAMEWORK, namespace)
    current.take(1, event)
    return bool(current.cleared)
