"""One thread of LangGraph: its checkpoints and their writes, put and taken back, each in one commit.

A checkpoint is compared with the version of the thread that it was made for, and made again where another
writer was first: a list says what it takes over from the list before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from onrecord.adapters.frameworks.item_events import forwards
from onrecord.adapters.frameworks.langgraph.checkpoint_reader import CheckpointReader
from onrecord.adapters.frameworks.langgraph.delta_history import ChannelHistory, delta_history
from onrecord.adapters.frameworks.langgraph.fair_lock import FairLock
from onrecord.adapters.frameworks.langgraph.new_checkpoints import NewCheckpoint, checkpoint_item
from onrecord.adapters.frameworks.langgraph.thread_memory import (
    FRAMEWORK,
    HeldCheckpoint,
    HeldList,
    ThreadMemory,
)
from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue
from onrecord.adapters.frameworks.session import ItemSession, NewItem
from onrecord.adapters.streams.stream import Stream
from onrecord.domain import jsontext
from onrecord.domain.errors import VersionConflict
from onrecord.domain.events import Event
from onrecord.domain.items import ItemRecorded, ItemsReplaced, ItemWithdrawn, StatePut
from onrecord.projections.frameworks.checkpoints import (
    NOWHERE,
    ChannelVersion,
    CheckpointItem,
    Latest,
    WritesItem,
)
from onrecord.projections.frameworks.copied_threads import copied

T = TypeVar("T")

_MOST_MEMORIES: Final = 4
"""How many of those who use a thread at once find it remembered."""


class FoundCheckpoint(NamedTuple):
    """A checkpoint, and the values of its channels by name, each with the version that the channel had."""

    checkpoint: HeldCheckpoint
    values: dict[str, tuple[ChannelVersion, TypedValue | HeldList]]


class CheckpointThread:
    """The checkpoints of a thread; safe to share between threads of the program and between processes."""

    def __init__(self, session: ItemSession, key_of: Callable[[TypedValue], TypedValue]) -> None:
        """Keep checkpoints in the conversation of a session; `key_of` gives the key of a list's member."""
        self._session = session
        self._key_of = key_of
        # Who is amid a use has one for himself: nobody waits for another one's read or commit, which
        # on an event loop would stop both.
        self._memories: list[ThreadMemory] = []
        self.order_of_writes = FairLock()
        """Held by threads that put writes, so that these are recorded in the order in which they were put."""

    def put(self, namespace: str, new: NewCheckpoint) -> None:
        """Record a checkpoint; it takes the place of one that has the same id."""
        with self._remembered() as memory:
            while True:
                made = self._read(memory, lambda reader: checkpoint_item(reader, namespace, new))
                said = memory.shared(made.item.to_json())
                event = ItemRecorded(framework=FRAMEWORK, stream=namespace, item=said)
                if (version := self._append(memory, [event])) is not None:
                    break
            memory.take(version, namespace, made.item)
            for channel, (keys, kept) in made.lists.items():
                memory.lists[namespace, channel] = HeldList(version, keys, kept)

    def put_writes(self, namespace: str, item: WritesItem) -> None:
        """Record the writes of a task; where the thread has them, nothing is recorded again."""
        items = [
            NewItem(writes.to_json(), _writes_id(writes) if _is_regular(writes) else None)
            for writes in _split(item)
        ]
        self._session.record(items, stream=namespace)

    def find(self, namespace: str, checkpoint_id: str | None) -> FoundCheckpoint | None:
        """Return a checkpoint, or without an id the one with the largest; None where there is none."""
        with self._remembered() as memory:
            return self._read(memory, lambda reader: _find(reader, namespace, checkpoint_id))

    def delta_history(
        self, namespace: str, checkpoint_id: str | None, channels: Sequence[str]
    ) -> dict[str, ChannelHistory]:
        """Return what was written to channels on the way to a checkpoint, since they had a value."""
        with self._remembered() as memory:
            return self._read(
                memory, lambda reader: delta_history(reader, namespace, checkpoint_id, channels)
            )

    def namespaces(self) -> list[str]:
        """Return the namespaces that have checkpoints."""
        with self._remembered() as memory:
            return self._read(memory, CheckpointReader.namespaces)

    def listed(self, namespace: str) -> list[HeldCheckpoint]:
        """Return the checkpoints of a namespace, the one with the largest id first."""
        with self._remembered() as memory:
            return self._read(memory, lambda reader: _listed(reader, namespace))

    def values(self, namespace: str, checkpoint: HeldCheckpoint) -> FoundCheckpoint:
        """Return a checkpoint that was listed with the values of its channels."""
        with self._remembered() as memory:
            return self._read(memory, lambda reader: _with_values(reader, namespace, checkpoint))

    def delete(self) -> None:
        """Let the thread hold nothing; the record keeps what it held."""
        self._session.clear()

    def prune(self) -> None:
        """Let each namespace hold nothing but its latest checkpoint, and the writes to it."""
        self._take_back(_pruned)

    def withdraw(self, is_meant: Callable[[CheckpointItem], bool]) -> None:
        """Take checkpoints away; the record keeps them."""
        self._take_back(lambda reader: _withdrawn(reader, is_meant))

    def copy_to(self, target: CheckpointThread) -> None:
        """Record all that this thread has behind what another one has, in one commit."""
        with self._remembered() as memory:
            events = self._read(
                memory, lambda reader: list(forwards(reader.stream, memory.version))
            )
        with target._remembered() as memory:
            while True:
                begun = target._read(memory, _latest_of_all)
                copy = copied(FRAMEWORK, events, max(memory.version, 1), begun)
                if not copy:
                    return
                if target._append(memory, copy) is not None:
                    memory.forget()
                    return

    # How it is done.

    def _take_back(self, events_of: Callable[[CheckpointReader], list[Event]]) -> None:
        with self._remembered() as memory:
            while True:
                events = self._read(memory, events_of)
                if not events:
                    return
                if self._append(memory, events) is not None:
                    memory.forget()
                    return

    @contextmanager
    def _remembered(self) -> Generator[ThreadMemory]:
        """Give what is remembered to one at a time; it is left where the use of it failed."""
        try:
            memory = self._memories.pop()
        except IndexError:
            memory = ThreadMemory(self._key_of)
        yield memory
        if len(self._memories) < _MOST_MEMORIES:
            self._memories.append(memory)

    def _read(self, memory: ThreadMemory, act: Callable[[CheckpointReader], T]) -> T:
        def read(stream: Stream) -> T:
            memory.update(stream)
            return act(CheckpointReader(memory, stream))

        return self._session.events.attempt(read)

    def _append(self, memory: ThreadMemory, events: Sequence[Event]) -> int | None:
        """Record events behind what is known; None where another writer was first."""
        try:
            done = self._session.events.append(events, memory.version)
        except VersionConflict:
            return None
        memory.version = done.last
        return done.last


def _split(item: WritesItem) -> list[WritesItem]:
    """Return the writes of which the first count, and those of which the last do; neither where there are none."""
    regular = tuple(write for write in item.writes if write.place >= 0)
    special = tuple(write for write in item.writes if write.place < 0)
    return [replace(item, writes=writes) for writes in (regular, special) if writes]


def _is_regular(item: WritesItem) -> bool:
    return item.writes[0].place >= 0


def _writes_id(item: WritesItem) -> str:
    """Return the id of writes: those of a task at the same places are the same ones, and the first count."""
    places = [write.place for write in item.writes]
    said = jsontext.write([item.writes_to, item.task_id, places])
    return hashlib.sha256(said).hexdigest()[:32]


def _find(
    reader: CheckpointReader, namespace: str, checkpoint_id: str | None
) -> FoundCheckpoint | None:
    found = reader.checkpoint_or_newest(namespace, checkpoint_id)
    return None if found is None else _with_values(reader, namespace, found)


def _with_values(
    reader: CheckpointReader, namespace: str, found: HeldCheckpoint
) -> FoundCheckpoint:
    values: dict[str, tuple[ChannelVersion, TypedValue | HeldList]] = {}
    for channel, ref in found.item.refs(found.at).items():
        value = None if ref.at == NOWHERE else reader.value(namespace, channel, ref.at)
        if value is not None:
            values[channel] = (ref.channel_version, value)
    return FoundCheckpoint(found, values)


def _listed(reader: CheckpointReader, namespace: str) -> list[HeldCheckpoint]:
    """Return the checkpoints of a namespace and the writes to each: of two with one id the last counts."""
    found: dict[str, HeldCheckpoint] = {}
    writes: dict[str, dict[int, WritesItem]] = {}
    for at, item in reader.items(namespace):
        match item:
            case CheckpointItem():
                found.setdefault(item.checkpoint_id, HeldCheckpoint(at, item, {}))
            case WritesItem():
                writes.setdefault(item.writes_to, {})[at] = item
    for checkpoint_id, checkpoint in found.items():
        checkpoint.writes.update(sorted(writes.get(checkpoint_id, {}).items()))
    return sorted(found.values(), key=lambda each: each.item.checkpoint_id, reverse=True)


def _latest_of_all(reader: CheckpointReader) -> dict[str, Latest | None]:
    return {name: reader.newest(name) for name in reader.namespaces()}


def _pruned(reader: CheckpointReader) -> list[Event]:
    """Return what leaves each namespace its latest checkpoint."""
    events: list[Event] = []
    for namespace in reader.namespaces():
        first, *others = _listed(reader, namespace)
        if not others:
            continue
        kept = tuple((version, version) for version in sorted({first.at, *first.writes}))
        events.append(ItemsReplaced(framework=FRAMEWORK, stream=namespace, kept=kept))
        events.append(_latest(namespace, first))
    return events


def _withdrawn(reader: CheckpointReader, is_meant: Callable[[CheckpointItem], bool]) -> list[Event]:
    """Return what takes checkpoints away, and says which is the latest of those that stay."""
    events: list[Event] = []
    for namespace in reader.namespaces():
        checkpoints = _listed(reader, namespace)
        gone = [each for each in checkpoints if is_meant(each.item)]
        if not gone:
            continue
        stay = [each for each in checkpoints if not is_meant(each.item)]
        versions = {version for each in gone for version in (each.at, *each.writes)}
        events.extend(ItemWithdrawn(version=version) for version in sorted(versions))
        events.append(_latest(namespace, stay[0] if stay else None))
    return events


def _latest(namespace: str, checkpoint: HeldCheckpoint | None) -> Event:
    value = None if checkpoint is None else [checkpoint.item.checkpoint_id, checkpoint.at]
    return StatePut(framework=FRAMEWORK, stream=namespace, key="latest", value=value)
