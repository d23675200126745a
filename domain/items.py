"""Items of agent frameworks: what their own stores would keep, each as the framework spelled it.

A framework's session is a conversation, and may have several streams in it: a subagent's transcript, a
subgraph. What a stream holds now is in projections/frameworks/; nothing here takes an item away.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from onrecord.domain import jsontext
from onrecord.domain.content import OnLine
from onrecord.domain.jsontext import JsonObject


class ItemRecorded(OnLine):
    """An item that a framework stored in a stream of its session, as the framework spelled it.

    `item_id` is the framework's own id, where its ids stand for items: a stream holds one item of an
    id. `after` is the version of what took the item away that had this id before: a clearing of the
    stream, a withdrawal, a replacement. `beside` is the version of the item that has the id,
    where this one says something else: it is kept, and is no part of the stream. Long strings of
    `item` may stand in it as references to blobs (domain/blobs.py says how).
    """

    framework: str
    stream: str = ""
    item_id: str | None = None
    after: int | None = None
    beside: int | None = None
    item: JsonObject


class ItemWithdrawn(OnLine):
    """The item at `version` is no part of its stream from here on: it was popped, or deleted."""

    version: int


class ItemAmended(OnLine):
    """The item at `version` says something else from here on."""

    version: int
    item: JsonObject


class ItemsReplaced(OnLine):
    """Of the items that a stream held, only those within `kept` are part of it from here on.

    `kept` are ranges of versions, first and last, in order. What takes the place of the others
    comes behind this event, in the same commit.
    """

    framework: str
    stream: str = ""
    kept: tuple[tuple[int, int], ...] = ()


class StreamCleared(OnLine):
    """A stream holds nothing from here on, neither items nor state; all streams where it is the `whole`."""

    framework: str
    stream: str = ""
    whole: bool = False


class StatePut(OnLine):
    """What a stream keeps under a name from here on; null where it keeps nothing there."""

    framework: str
    stream: str = ""
    key: str
    value: Any = None


ItemEvent: TypeAlias = (
    ItemRecorded | ItemWithdrawn | ItemAmended | ItemsReplaced | StreamCleared | StatePut
)
"""What a framework does to the streams of its session."""


def once_name(event: ItemRecorded) -> str | None:
    """Return the name of the item that a stream can hold only once; None where it has no id."""
    if event.item_id is None or event.beside is not None:
        return None
    parts = [event.framework, event.stream, event.after, event.item_id]
    return f"item:{jsontext.write_canonical(parts).decode()}"
