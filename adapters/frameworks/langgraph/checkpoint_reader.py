"""The checkpoints of one thread of LangGraph, read from what is remembered of it and from its conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onrecord.adapters.frameworks.item_events import backwards, forwards
from onrecord.adapters.frameworks.langgraph.item_pages import ItemPages
from onrecord.adapters.frameworks.langgraph.thread_memory import (
    FRAMEWORK,
    HeldCheckpoint,
    HeldList,
    ThreadMemory,
)
from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue, typed
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import ItemRecorded, ItemWithdrawn
from onrecord.domain.jsontext import JsonObject
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


@dataclass(frozen=True, slots=True)
class CheckpointReader:
    """Reads the checkpoints of a thread: from a memory that was brought up to date, else from the stream.

    It reads up to the version of the memory, which then remembers what was read.
    """

    memory: ThreadMemory
    stream: Stream

    def newest(self, namespace: str) -> Latest | None:
        """Return the checkpoint of a namespace with the largest id; None where it has none."""
        if namespace not in self.memory.latest and not self.memory.is_whole:
            self._find_latest(namespace)
        return self.memory.latest.get(namespace)

    def namespaces(self) -> list[str]:
        """Return the namespaces that have checkpoints."""
        if not self.memory.is_whole:
            self._find_latest(None)
        return [name for name, latest in self.memory.latest.items() if latest is not None]

    def _find_latest(self, namespace: str | None) -> None:
        """Find the latest of a namespace from the end; of all where that has none, or None is asked for."""
        found = Namespaces(FRAMEWORK)
        for at, event in backwards(self.stream, self.memory.version):
            found.take(at, event)
            if found.is_complete:
                break
            if namespace is not None and namespace in found.latest:
                self.memory.latest[namespace] = found.latest[namespace]
                return
        found.end()
        self.memory.latest.update({**found.latest, **self.memory.latest})
        self.memory.is_whole = True

    def checkpoint(
        self, namespace: str, checkpoint_id: str, *, taken_back: bool = False
    ) -> HeldCheckpoint | None:
        """Return a checkpoint; None where there is none, or it was taken back and that is not asked for."""
        if (known := self.memory.checkpoints.get((namespace, checkpoint_id))) is not None:
            return known
        at, found = self._found(namespace, checkpoint_id, taken_back=taken_back)
        if found is None:
            return None
        checkpoint = HeldCheckpoint(at, found, self._writes_to(namespace, found, at))
        if not taken_back:
            self.memory.remember(namespace, checkpoint)
        return checkpoint

    def checkpoint_or_newest(
        self, namespace: str, checkpoint_id: str | None
    ) -> HeldCheckpoint | None:
        """Return a checkpoint, or without an id the one with the largest; None where there is none."""
        if checkpoint_id is not None:
            return self.checkpoint(namespace, checkpoint_id)
        newest = self.newest(namespace)
        return None if newest is None else self.checkpoint(namespace, newest.checkpoint_id)

    def _found(
        self, namespace: str, checkpoint_id: str, *, taken_back: bool
    ) -> tuple[int, CheckpointItem | None]:
        """Find a checkpoint from the end: of two with one id the last counts."""
        latest = self.memory.latest.get(namespace)
        if latest is not None and latest.checkpoint_id == checkpoint_id:
            return latest.at, self.checkpoint_at(latest.at)
        for at, item in self.items(namespace, taken_back=taken_back):
            if isinstance(item, CheckpointItem) and item.checkpoint_id == checkpoint_id:
                return at, item
        return 0, None

    def items(
        self, namespace: str, *, taken_back: bool = False
    ) -> Iterator[tuple[int, CheckpointItem | WritesItem]]:
        """Yield the items of a namespace, the last one first; those that were taken back if asked for."""
        current = CurrentItems(FRAMEWORK, namespace)
        for at, event in backwards(self.stream, self.memory.version):
            if taken_back and not (isinstance(event, ItemRecorded) or _clears(event, namespace)):
                continue
            current.take(at, event)
            item = read_item(current.items.pop().item) if current.items else None
            if item is not None:
                yield at, item
            if current.is_complete:
                return

    def _writes_to(self, namespace: str, item: CheckpointItem, at: int) -> dict[int, WritesItem]:
        writes = self.early_writes(item)
        for version, event in forwards(self.stream, self.memory.version, after=at):
            found = _item_of(event, namespace)
            if isinstance(found, WritesItem) and found.writes_to == item.checkpoint_id:
                writes[version] = found
            elif isinstance(event, ContentRedacted | ItemWithdrawn):
                writes.pop(event.version, None)
        return writes

    def early_writes(self, item: CheckpointItem) -> dict[int, WritesItem]:
        """Return the writes that came before a checkpoint, by their versions."""
        writes: dict[int, WritesItem] = {}
        for version in item.early:
            said = ItemPages(self.stream).item(version)
            found = None if said is None else read_item(said)
            if isinstance(found, WritesItem):
                writes[version] = found
        return writes

    def checkpoint_at(self, version: int) -> CheckpointItem:
        """Return the checkpoint whose item is at a version; CorruptRecord where there is none."""
        for known in self.memory.checkpoints.values():
            if known.at == version:
                return known.item
        return ItemPages(self.stream).checkpoint(version)

    def value(self, namespace: str, channel: str, at: int) -> TypedValue | HeldList | None:
        """Return the value of a channel that the item at a version changed; None where it was empty then."""
        known = self.memory.lists.get((namespace, channel))
        if known is not None and known.at == at:
            return known
        value = self.checkpoint_at(at).values.get(channel)
        if value is None:
            return None
        if is_list(value):
            return self._list(namespace, channel, at)
        return typed(ItemPages(self.stream).restored(value))

    def _list(self, namespace: str, channel: str, at: int) -> HeldList:
        known = self.memory.lists.get((namespace, channel))
        members, pages = ListMembers(), ItemPages(self.stream)
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
        found = HeldList(at, [self.memory.key_of(member) for member in kept], kept)
        if known is None or known.at < at:
            self.memory.lists[namespace, channel] = found
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
