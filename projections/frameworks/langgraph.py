"""The messages of a thread of LangGraph: what its channel `messages` holds at the latest checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, cast

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.chat_messages import API, contents
from onrecord.projections.frameworks.checkpoints import (
    NOWHERE,
    CheckpointItem,
    ListMembers,
    WritesItem,
    is_list,
)
from onrecord.projections.frameworks.checkpoints import (
    read_item as read_saved,
)
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.framework import (
    Framework,
    ItemUsage,
    StreamItems,
    token_counts,
)
from onrecord.projections.frameworks.item_messages import (
    ItemContents,
    ItemMessage,
    Reading,
    Unread,
)
from onrecord.projections.frameworks.langchain_messages import (
    answer_ids,
    message_members,
    parts_left_out,
    read_message,
)
from onrecord.projections.frameworks.shared_values import REDACTED, ItemAt, restored, without
from onrecord.projections.members import members_of, nonempty_text, objects, text

_CHANNEL: Final = "messages"
_OTHERWISE: Final = (CorruptRecord, LookupError, TypeError, ValueError, AttributeError)
"""What goes wrong where an item is not as LangGraph's saver writes it."""


def read_items(stream: StreamItems) -> Reading:
    """Return the messages of the latest checkpoint, each with the version of the item that brought it.

    What redacted items said is left out, though later lists go on from it.
    """
    latest = max(_checkpoints(stream.items), key=lambda each: each[1].checkpoint_id, default=None)
    if latest is None:
        return Reading(API, ())
    version, checkpoint = latest
    try:
        at = checkpoint.refs(version)[_CHANNEL].at
        every = list(_members(at, stream.item_at, stream.redacted))
    except _OTHERWISE:
        why = f"a checkpoint whose channel `{_CHANNEL}` cannot be read"
        return Reading(API, (), (Unread(version, why),))
    members = [(at, member) for at, member in every if member is not REDACTED]
    gone = dict.fromkeys(at for at, member in every if member is REDACTED)
    read = [(at, read_message(member), answer_ids(member)) for at, member in members]
    why = "a message that is none of LangChain's"
    unread = [Unread(at, "a message that was redacted") for at in gone]
    unread += [Unread(at, why) for at, message, _ in read if message is None]
    for at, member in members:
        unread += [Unread(at, f"a part of a message: {kind}") for kind in parts_left_out(member)]
    return Reading(
        API,
        tuple(ItemMessage((at,), message, ids) for at, message, ids in read if message is not None),
        tuple(unread),
    )


def _checkpoints(items: Sequence[HeldItem]) -> Iterator[tuple[int, CheckpointItem]]:
    for item in items:
        try:
            checkpoint = read_saved(item.item)
        except CorruptRecord:
            continue
        if isinstance(checkpoint, CheckpointItem):
            yield item.version, checkpoint


def _members(version: int, item_at: ItemAt, redacted: Collection[int]) -> Iterator[tuple[int, Any]]:
    """Yield the members of the channel's value at a version, each with that of the item that brought it."""
    for at, member in _recorded_members(version, item_at, redacted):
        yield at, REDACTED if at in redacted else member


def _recorded_members(
    version: int, item_at: ItemAt, redacted: Collection[int]
) -> Iterator[tuple[int, Any]]:
    if version == NOWHERE:
        return
    found = ListMembers()
    pointer = version
    while pointer:
        value = _value(pointer, item_at, redacted)
        if value is None:
            return
        if not is_list(value):
            yield from ((pointer, member) for member in cast("list[Any]", value["json"]))
            return
        pointer = found.take(
            {**value, "parts": [_tagged(part, pointer) for part in value["parts"]]}
        )
    yield from ((at, member["json"]) for at, member in found.members)


def _value(version: int, item_at: ItemAt, redacted: Collection[int]) -> JsonObject | None:
    item = item_at(version)
    checkpoint = None if item is None else read_saved(item)
    if not isinstance(checkpoint, CheckpointItem):
        raise LookupError(version)  # noqa: TRY004
    value = checkpoint.values[_CHANNEL]
    return None if value is None else restored(without(value, redacted), item_at)


def _tagged(part: Any, version: int) -> Any:
    """Return a part of a list with the version of its item beside each new member."""
    match part:
        case {"new": [*members]}:
            return {"new": [(version, member) for member in members]}
        case _:
            return part


# What one item says. A message stands in several: as input, in the write that brings it to the channel and
# in the list that a checkpoint changes, where it may have got an id. It is read where it is written.


def new_messages(item: JsonObject) -> list[JsonObject]:
    """Return the messages that a task wrote to the channel `messages`, as LangGraph spells them.

    The input of a graph is written by its first task, and lists of checkpoints hold what was written.
    """
    try:
        return objects(list(_written(read_saved(item))))
    except _OTHERWISE:
        return []


def _written(item: CheckpointItem | WritesItem | None) -> Iterator[object]:
    if isinstance(item, WritesItem):
        for write in item.writes:
            if write.channel == _CHANNEL:
                yield from _each(write.value.get("json"))


def _each(value: object) -> list[object]:
    """Return the members of a list, or the one value that is brought without one."""
    return cast("list[object]", value) if isinstance(value, list) else [value]


def read_item(item: JsonObject) -> ItemContents | None:
    """Return what the messages that an item brings say; None where it brings none."""
    read = map(read_message, new_messages(item))
    return contents([message for message in read if message is not None])


def about(item: JsonObject) -> str:
    """Return in a few words what an item is that brings no messages; empty where that is not known."""
    try:
        return _about(read_saved(item))
    except _OTHERWISE:
        return ""


def _about(item: CheckpointItem | WritesItem | None) -> str:
    match item:
        case WritesItem():
            channels = ", ".join(dict.fromkeys(write.channel for write in item.writes))
            return f"writes to {channels or 'no channel'}"
        case CheckpointItem():
            changed = ", ".join(item.values)
            return f"checkpoint {item.checkpoint_id}" + (f", changed {changed}" if changed else "")
        case _:
            return ""


def _usages(item: JsonObject) -> Iterator[ItemUsage]:
    for message in map(message_members, new_messages(item)):
        usage = members_of(message.get("usage_metadata"))
        response = members_of(message.get("response_metadata"))
        counts, details = token_counts(usage), token_counts(usage.get("input_token_details"))
        yield ItemUsage(
            answer=nonempty_text(message.get("id")),
            model=text(response.get("model_name")) or text(response.get("model")),
            input_tokens=counts("input_tokens"),
            output_tokens=counts("output_tokens"),
            cached_tokens=details("cache_read"),
            cache_write_tokens=details("cache_creation"),
            reasoning_tokens=token_counts(usage.get("output_token_details"))("reasoning"),
        )


LANGGRAPH: Final = Framework(
    name="langgraph",
    read_items=read_items,
    read_item=read_item,
    read_usages=_usages,
    about=about,
    prunes=True,
)
