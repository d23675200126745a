"""What a new checkpoint of LangGraph says, by what its thread has: only what it changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from onrecord.adapters.frameworks.langgraph.checkpoint_reader import CheckpointReader
from onrecord.adapters.frameworks.langgraph.thread_memory import HeldList
from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue, spell
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.checkpoints import (
    NOWHERE,
    SELF,
    ChannelRef,
    ChannelVersion,
    CheckpointItem,
    Latest,
    list_value,
    parts_of,
)


class NewList(NamedTuple):
    """A list to record: keys that tell which members are equal, and what the record is to have of each."""

    keys: list[TypedValue]
    kept: Callable[[TypedValue], TypedValue]


class NewCheckpoint(NamedTuple):
    """A checkpoint to record.

    `checkpoint` is what LangGraph says of it besides: neither its id and its values, nor the versions of its
    channels where those are `channels`. `values` are those that it changed: None for a channel that is
    empty now.
    """

    checkpoint_id: str
    parent_id: str | None
    checkpoint: TypedValue
    metadata: TypedValue
    channels: Mapping[str, ChannelVersion]
    values: Mapping[str, TypedValue | NewList | None]


class RecordedCheckpoint(NamedTuple):
    """The item of a checkpoint, and the lists that it says: keys of members, and what the record has."""

    item: CheckpointItem
    lists: dict[str, tuple[list[TypedValue], list[TypedValue]]]


def checkpoint_item(
    reader: CheckpointReader, namespace: str, new: NewCheckpoint
) -> RecordedCheckpoint:
    """Return the item of a checkpoint, said by what the thread has."""
    latest = reader.newest(namespace)
    refs = _refs_of_parent(reader, namespace, new.parent_id)
    values: dict[str, JsonObject | None] = {}
    lists: dict[str, tuple[list[TypedValue], list[TypedValue]]] = {}
    for channel, value in new.values.items():
        if isinstance(value, NewList):
            before = _list_before(reader, namespace, channel, refs.get(channel))
            values[channel], lists[channel] = _said_list(before, value)
        else:
            values[channel] = None if value is None else spell(value)
    is_largest = latest is None or latest.checkpoint_id <= new.checkpoint_id
    item = CheckpointItem(
        checkpoint_id=new.checkpoint_id,
        parent_id=new.parent_id,
        checkpoint=spell(new.checkpoint),
        metadata=spell(new.metadata),
        channels=_channels(reader, namespace, new, refs),
        values=values,
        latest=Latest(new.checkpoint_id, SELF) if latest is None or is_largest else latest,
        early=_early(reader, namespace, new.checkpoint_id, latest),
    )
    return RecordedCheckpoint(item, lists)


def _refs_of_parent(
    reader: CheckpointReader, namespace: str, parent_id: str | None
) -> dict[str, ChannelRef]:
    if parent_id is None:
        return {}
    parent = reader.checkpoint(namespace, parent_id, taken_back=True)
    return {} if parent is None else parent.item.refs(parent.at)


def _channels(
    reader: CheckpointReader,
    namespace: str,
    new: NewCheckpoint,
    refs: Mapping[str, ChannelRef],
) -> dict[str, ChannelRef]:
    """Return where the value of each channel of a checkpoint lies."""
    channels: dict[str, ChannelRef] = {}
    missing: dict[str, ChannelVersion] = {}
    for channel, version in new.channels.items():
        ref = refs.get(channel)
        if channel in new.values:
            channels[channel] = ChannelRef(version, SELF)
        elif ref is not None and ref.channel_version == version:
            channels[channel] = ref
        else:
            missing[channel] = version
    if missing:
        channels.update(_elsewhere(reader, namespace, missing))
    return channels


def _elsewhere(
    reader: CheckpointReader, namespace: str, missing: Mapping[str, ChannelVersion]
) -> dict[str, ChannelRef]:
    """Find channels that a checkpoint neither changed nor has from its parent: it is a copy of another one."""
    found = {channel: ChannelRef(version, NOWHERE) for channel, version in missing.items()}
    wanted = set(missing)
    for at, item in reader.items(namespace, taken_back=True):
        if not isinstance(item, CheckpointItem):
            continue
        refs = item.refs(at)
        for channel in [each for each in wanted if each in refs]:
            if refs[channel].channel_version == missing[channel]:
                found[channel] = refs[channel]
                wanted.remove(channel)
        if not wanted:
            break
    return found


def _list_before(
    reader: CheckpointReader, namespace: str, channel: str, ref: ChannelRef | None
) -> HeldList:
    """Return the list that a channel had at the parent; an empty one where it had none."""
    value = None
    if ref is not None and ref.at != NOWHERE:
        value = reader.value(namespace, channel, ref.at)
    return value if isinstance(value, HeldList) else HeldList(0, [], [])


def _said_list(
    before: HeldList, new: NewList
) -> tuple[JsonObject, tuple[list[TypedValue], list[TypedValue]]]:
    """Return a list said by the one before it, and its members: their keys, and what the record has."""
    parts = parts_of(before.keys, new.keys)
    kept: list[TypedValue] = []
    for part in parts:
        kept.extend(
            before.kept[slice(*part)] if isinstance(part, tuple) else [new.kept(new.keys[part])]
        )
    # A new member is at the same place in `kept`, which has its bytes already.
    said = list_value(before.at, parts, lambda place: spell(kept[place]))
    return said, (new.keys, kept)


def _early(
    reader: CheckpointReader,
    namespace: str,
    checkpoint_id: str,
    latest: Latest | None,
) -> tuple[int, ...]:
    """Return the versions of writes that came before the checkpoint, or before it was put again."""
    early = reader.memory.early.get((namespace, checkpoint_id), {})
    known = None
    if latest is not None and checkpoint_id <= latest.checkpoint_id:
        known = reader.checkpoint(namespace, checkpoint_id)
    return tuple(sorted({*early, *(known.writes if known is not None else ())}))
