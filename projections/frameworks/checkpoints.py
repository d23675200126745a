"""The checkpoints of a thread of LangGraph, as items say them: what each holds, and where the rest lies.

A checkpoint is an item, and so is a call of `put_writes`. The item of a checkpoint holds the values that the
checkpoint changed; for each other value it has the version of the item that holds it. A list is said by
what it takes over from the list before it, so that a history that grows costs what is new. Values are as
LangGraph's own serialiser gives them (adapters/frameworks/langgraph/typed_values.py spells them in JSON).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import (
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)
from onrecord.domain.jsontext import JsonObject

T = TypeVar("T")

SELF: Final = 0
"""In the place of a version: the item that says it."""

NOWHERE: Final = -1
"""In the place of a version: no item has the value."""

ChannelVersion: TypeAlias = str | int | float


class ChannelRef(NamedTuple):
    """Which version of a channel a checkpoint has, and the version of the item that holds its value."""

    channel_version: ChannelVersion
    at: int


class Latest(NamedTuple):
    """The checkpoint of a namespace with the largest id, and the version of its item."""

    checkpoint_id: str
    at: int


@dataclass(frozen=True, slots=True)
class CheckpointItem:
    """A checkpoint as its item says it.

    `checkpoint` (without the values of its channels) and `metadata` are typed values. `values` are those that it
    changed: a typed value, a list (`list_value`), or None for a channel that is empty. `latest` is the
    one with the largest id of its namespace, once this one is there. `early` are versions of writes
    to it that came before it. Its item says neither `latest`, where that is itself, nor `early`, where
    there are none. Values may hold references to those of other items (shared_values.py).
    """

    checkpoint_id: str
    parent_id: str | None
    checkpoint: JsonObject
    metadata: JsonObject
    channels: Mapping[str, ChannelRef]
    values: Mapping[str, JsonObject | None]
    latest: Latest
    early: tuple[int, ...] = ()

    def refs(self, version: int) -> dict[str, ChannelRef]:
        """Return where the value of each channel lies, the item itself being at a version."""
        return {
            name: ref._replace(at=version) if ref.at == SELF else ref
            for name, ref in self.channels.items()
        }

    def newest(self, version: int) -> Latest:
        """Return the checkpoint with the largest id, the item itself being at a version."""
        return self.latest._replace(at=version) if self.latest.at == SELF else self.latest

    def moved(self, versions: Mapping[int, int]) -> JsonObject:
        """Return the item where what it names lies at other versions."""
        there = {SELF: SELF, NOWHERE: NOWHERE, **versions}
        values = {
            name: value
            if value is None or not is_list(value)
            else {**value, "base": there[value["base"]]}
            for name, value in self.values.items()
        }
        channels = {name: ref._replace(at=there[ref.at]) for name, ref in self.channels.items()}
        latest = self.latest._replace(at=there[self.latest.at])
        early = tuple(there[version] for version in self.early)
        moved = replace(self, channels=channels, values=values, latest=latest, early=early)
        return moved.to_json()

    def to_json(self) -> JsonObject:
        """Return the item."""
        item: JsonObject = {
            "checkpoint_id": self.checkpoint_id,
            "parent_id": self.parent_id,
            "checkpoint": self.checkpoint,
            "metadata": self.metadata,
            "channels": {name: list(ref) for name, ref in self.channels.items()},
            "values": dict(self.values),
        }
        if self.latest != (self.checkpoint_id, SELF):
            item["latest"] = list(self.latest)
        if self.early:
            item["early"] = list(self.early)
        return item


class ChannelWrite(NamedTuple):
    """One write of a task: its place among the task's, the channel, and the typed value."""

    place: int
    channel: str
    value: JsonObject


@dataclass(frozen=True, slots=True)
class WritesItem:
    """A call of `put_writes` as its item says it."""

    writes_to: str
    task_id: str
    task_path: str
    writes: tuple[ChannelWrite, ...]

    def to_json(self) -> JsonObject:
        """Return the item."""
        return {
            "writes_to": self.writes_to,
            "task_id": self.task_id,
            "task_path": self.task_path,
            "writes": [list(write) for write in self.writes],
        }


def read_item(item: JsonObject) -> CheckpointItem | WritesItem | None:
    """Return what an item of LangGraph says; None for one of a kind that this release does not know.

    CorruptRecord where it begins as a kind that is known and goes on otherwise.
    """
    try:
        if "checkpoint_id" in item:
            return _read_checkpoint(item)
        if "writes_to" in item:
            return _read_writes(item)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CorruptRecord(
            "an item of LangGraph is not as it was written: verify the log and restore it"
        ) from None
    return None


def _read_checkpoint(item: JsonObject) -> CheckpointItem:
    return CheckpointItem(
        checkpoint_id=item["checkpoint_id"],
        parent_id=item["parent_id"],
        checkpoint=item["checkpoint"],
        metadata=item["metadata"],
        channels={name: ChannelRef(*ref) for name, ref in item["channels"].items()},
        values=item["values"],
        latest=Latest(*item.get("latest", (item["checkpoint_id"], SELF))),
        early=tuple(item.get("early", ())),
    )


def _read_writes(item: JsonObject) -> WritesItem:
    writes = tuple(ChannelWrite(*write) for write in item["writes"])
    return WritesItem(item["writes_to"], item["task_id"], item["task_path"], writes)


def standing_writes(items: Sequence[WritesItem]) -> list[tuple[WritesItem, ChannelWrite]]:
    """Return the writes to one checkpoint that count, in the order in which a superstep applies them.

    Of a task's writes at one place the first counts; at a place below 0 (an error, an interrupt) the last does.
    The order is that of LangGraph's `writes_sort_key`: task path, task, place.
    """
    standing: dict[tuple[str, int], tuple[WritesItem, ChannelWrite]] = {}
    for item in items:
        for write in item.writes:
            place = (item.task_id, write.place)
            if write.place < 0 or place not in standing:
                standing[place] = (item, write)
    return sorted(
        standing.values(), key=lambda each: (each[0].task_path, each[0].task_id, each[1].place)
    )


class Namespaces:
    """The checkpoint with the largest id of each namespace, found from the end of a thread.

    `latest` has those found by now; None for a namespace whose checkpoints were all taken back. A checkpoint
    that was redacted is none.
    """

    def __init__(self, framework: str) -> None:
        """Look for the items of LangGraph."""
        self.latest: dict[str, Latest | None] = {}
        self.is_complete = False
        self._framework = framework
        self._gone = set[int]()
        # The largest so far of a namespace whose items all say that a redacted one is the latest.
        self._largest: dict[str, Latest] = {}

    def take(self, version: int, event: Event) -> None:
        """Take the event that comes before all that were taken."""
        match event:
            case StreamCleared(framework=self._framework, whole=True):
                self.end()
            case (
                StreamCleared(framework=self._framework, stream=namespace)
                | ItemsReplaced(framework=self._framework, stream=namespace)
            ):
                self.latest.setdefault(namespace, self._largest.get(namespace))
            case StatePut(framework=self._framework, stream=namespace, key="latest", value=latest):
                self._find(namespace, None if latest is None else Latest(*latest))
            case ItemRecorded(framework=self._framework, stream=namespace, beside=None):
                if namespace not in self.latest and version not in self._gone:
                    self._take_item(version, namespace, read_item(event.item))
            case ContentRedacted() | ItemWithdrawn():
                self._gone.add(event.version)
            case _:
                return

    def end(self) -> None:
        """Take that nothing comes before."""
        self.is_complete = True
        for namespace, latest in self._largest.items():
            self.latest.setdefault(namespace, latest)

    def _take_item(
        self, version: int, namespace: str, item: CheckpointItem | WritesItem | None
    ) -> None:
        if isinstance(item, CheckpointItem):
            self._add(namespace, Latest(item.checkpoint_id, version))
            self._find(namespace, item.newest(version))

    def _find(self, namespace: str, latest: Latest | None) -> None:
        """Take which checkpoint was the latest then; with a redacted one, those before it are looked at."""
        if namespace in self.latest or (latest is not None and latest.at in self._gone):
            return
        if latest is not None:
            self._add(namespace, latest)
        self.latest[namespace] = self._largest.get(namespace)

    def _add(self, namespace: str, checkpoint: Latest) -> None:
        known = self._largest.get(namespace)
        self._largest[namespace] = checkpoint if known is None else max(known, checkpoint)


# Lists: what they take over from the list before them.


Part: TypeAlias = tuple[int, int] | int
"""A range of places in the list before, or the place of one new member."""


def parts_of(taken: Sequence[T], values: Sequence[T]) -> list[Part]:
    """Return how a list is made of the one before it, `taken`: its members are the same where they are equal."""
    same = _common_prefix(taken, values)
    parts: list[Part] = [(0, same)] if same else []
    places = {member: same + place for place, member in enumerate(taken[same:])}
    for index in range(same, len(values)):
        place = places.get(values[index]) if places else None
        last = parts[-1] if parts else None
        if place is None:
            parts.append(index)
        elif isinstance(last, tuple) and last[1] == place:
            parts[-1] = (last[0], place + 1)
        else:
            parts.append((place, place + 1))
    return parts


def list_value(base: int, parts: Sequence[Part], spelled: Callable[[int], Any]) -> JsonObject:
    """Return the value of a list that goes on from the one at version `base`; `spelled` gives new members."""
    said: list[Any] = []
    for part in parts:
        if isinstance(part, tuple):
            said.append(list(part))
        elif said and isinstance(said[-1], dict):
            cast("dict[str, list[Any]]", said[-1])["new"].append(spelled(part))
        else:
            said.append({"new": [spelled(part)]})
    takes_over = any(isinstance(part, tuple) for part in parts)
    return {"base": base if takes_over else 0, "parts": said}


def _common_prefix(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many members two lists begin with alike."""
    # Most lists go on from the one before: that is seen without a step for each member.
    if other[: len(one)] == one:
        return len(one)
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return min(len(one), len(other))


def is_list(value: JsonObject) -> bool:
    """Return whether the value of a channel is a list that is said by its parts."""
    return "parts" in value


class _Segment(NamedTuple):
    """Members `first` to `end` of the list at hand are the members from `target` on of the whole."""

    first: int
    end: int
    target: int


class ListMembers:
    """The members of a list, found from its item backwards: each item gives those that it brought.

    What is wanted of the list at hand is kept as ranges, so that a long history of additions costs what
    was added.
    """

    def __init__(self) -> None:
        """Want the members of a list whose own item comes first."""
        self.members: list[Any] = []
        self._wanted: list[_Segment] | None = None

    def take(self, value: JsonObject) -> int:
        """Take the value at hand; return the version of the list it takes over from, 0 if none is needed."""
        parts = list(_placed(value["parts"]))
        if self._wanted is None:
            size = parts[-1][1] if parts else 0
            self.members = [None] * size
            self._wanted = [_Segment(0, size, 0)]
        wanted, self._wanted = self._wanted, []
        for segment in wanted:
            for first, end, part in parts:
                if first < segment.end and segment.first < end:
                    self._take_part(segment, first, end, part)
        return value["base"] if self._wanted else 0

    def _take_part(self, segment: _Segment, first: int, end: int, part: Any) -> None:
        """Take what a part of the list at hand, at places `first` to `end`, has of a segment."""
        low, high = max(first, segment.first), min(end, segment.end)
        target = segment.target + low - segment.first
        if isinstance(part, dict):
            new = cast("dict[str, list[Any]]", part)["new"]
            self.members[target : target + high - low] = new[low - first : high - first]
        else:
            source = part[0] + low - first
            assert self._wanted is not None
            self._wanted.append(_Segment(source, source + high - low, target))

    def fill(self, members: Sequence[Any]) -> None:
        """Take what is still wanted from the list at hand, which is known."""
        for first, end, target in self._wanted or ():
            self.members[target : target + end - first] = members[first:end]
        self._wanted = []


def _placed(parts: Sequence[dict[str, list[Any]] | list[int]]) -> Iterator[tuple[int, int, Any]]:
    """Yield each part of a list with its first place, and the place behind its last."""
    place = 0
    for part in parts:
        size = len(part["new"]) if isinstance(part, dict) else part[1] - part[0]
        yield place, place + size, part
        place += size
