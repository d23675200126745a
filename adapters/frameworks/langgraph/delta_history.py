"""What was written to channels on the way to a checkpoint, for those whose values are not kept each time.

LangGraph's `DeltaChannel` (beta) keeps a value now and then, and asks for the writes since. They are found by one
walk from the end of the thread, along the parents: what a run that was left behind wrote is not among them.
Checkpoints that were pruned since are, so that pruning loses no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from onrecord.adapters.frameworks.langgraph.checkpoint_reader import CheckpointReader
from onrecord.adapters.frameworks.langgraph.thread_memory import HeldCheckpoint, HeldList
from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.checkpoints import (
    NOWHERE,
    CheckpointItem,
    WritesItem,
    standing_writes,
)


@dataclass(slots=True)
class ChannelHistory:
    """The writes to a channel, oldest first, as task and typed value; and the value that they came after.

    `seed` is None where the channel had no value before them.
    """

    writes: list[tuple[str, JsonObject]] = field(default_factory=list[tuple[str, JsonObject]])
    seed: TypedValue | HeldList | None = None


def delta_history(
    reader: CheckpointReader,
    namespace: str,
    checkpoint_id: str | None,
    channels: Sequence[str],
) -> dict[str, ChannelHistory]:
    """Return the history of channels up to a checkpoint, whose own writes are not among it."""
    histories = {channel: ChannelHistory() for channel in channels}
    start = reader.checkpoint_or_newest(namespace, checkpoint_id)
    remaining = set(channels if start is not None else ())
    for ancestor in _ancestors(reader, namespace, start):
        for item, write in reversed(standing_writes(list(ancestor.writes.values()))):
            if write.channel in remaining:
                histories[write.channel].writes.append((item.task_id, write.value))
        for channel in list(remaining):
            seed = _value(reader, namespace, channel, ancestor)
            if seed is not None:
                histories[channel].seed = seed
                remaining.remove(channel)
        if not remaining:
            break
    for history in histories.values():
        history.writes.reverse()
    return histories


def _value(
    reader: CheckpointReader, namespace: str, channel: str, checkpoint: HeldCheckpoint
) -> TypedValue | HeldList | None:
    ref = checkpoint.item.refs(checkpoint.at).get(channel)
    if ref is None or ref.at == NOWHERE:
        return None
    return reader.value(namespace, channel, ref.at)


def _ancestors(
    reader: CheckpointReader, namespace: str, start: HeldCheckpoint | None
) -> Iterator[HeldCheckpoint]:
    """Yield what a checkpoint goes on from, the nearest first, by one walk from the end of the thread."""
    expected = None if start is None else start.item.parent_id
    seen: dict[str, tuple[int, CheckpointItem]] = {}
    writes: dict[str, dict[int, WritesItem]] = {}
    items = reader.items(namespace, taken_back=True)
    while expected is not None:
        while expected not in seen:
            at, item = next(items, (0, None))
            match item:
                case CheckpointItem():
                    seen.setdefault(item.checkpoint_id, (at, item))
                case WritesItem():
                    writes.setdefault(item.writes_to, {})[at] = item
                case None:
                    return
        at, item = seen.pop(expected)
        there = {**reader.early_writes(item), **writes.pop(expected, {})}
        yield HeldCheckpoint(at, item, dict(sorted(there.items())))
        expected = item.parent_id
