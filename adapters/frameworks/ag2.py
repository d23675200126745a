"""Histories of AG2: what its `Storage` protocol asks for, over one log.

The protocol is `ag2.history.Storage`, and docs/frameworks-ag2.md says how it is used. A stream of AG2 is a
conversation, an event of it is an item. AG2's events have no id: what is saved twice is there twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, cast

from onrecord.adapters.frameworks.awaiting import settled
from onrecord.adapters.frameworks.session import ItemSession, NewItem, until_first
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import CorruptRecord, NotInstalled
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.ag2 import AG2
from onrecord.projections.frameworks.current_items import HeldItem

try:
    from ag2 import Context
    from ag2.context import StreamId
    from ag2.events import BaseEvent
    from ag2.events._serialization import deserialize_value, serialize_value
except ImportError as exc:
    raise NotInstalled("the storage of AG2", "ag2", "ag2") from exc


class OnrecordStorage:
    """A `Storage` for `MemoryStream(OnrecordStorage(store), id=...)`; safe to share between tasks.

    What is refused raises an `OnrecordError`, and nothing of it is recorded.
    """

    def __init__(self, store: Store) -> None:
        """Keep histories in a store; close that when done."""
        self._store = store
        self._sessions = Sessions(store, AG2.name)

    def conversation_key(self, stream_id: StreamId | str) -> str:
        """Return the key of the conversation that a stream is: `Store` and the commands take it."""
        return self._sessions.key(str(stream_id))

    async def save_event(self, event: BaseEvent, context: Context) -> None:
        """Record an event behind the history of the context's stream."""
        session = self._session(context.stream.id)
        await settled(self._store, partial(session.record, [_item_of(event)]))

    async def get_history(self, stream_id: StreamId) -> Iterable[BaseEvent]:
        """Return the events of a stream, in order."""
        loaded = await settled(self._store, self._session(stream_id).load)
        return [_event_of(item) for item in loaded.items]

    async def set_history(self, stream_id: StreamId, events: Iterable[BaseEvent]) -> None:
        """Let a stream have other events; the record keeps those that it had.

        Events that it begins with are not recorded again.
        """
        items = [_item_of(event) for event in events]
        await settled(self._store, partial(_replace, self._session(stream_id), items))

    async def drop_history(self, stream_id: StreamId) -> None:
        """Let a stream have no events; the record keeps them, and the id can be used again."""
        await settled(self._store, self._session(stream_id).clear)

    def _session(self, stream_id: StreamId) -> ItemSession:
        return self._sessions.session(str(stream_id))


def _replace(session: ItemSession, items: Sequence[NewItem]) -> None:
    def replace() -> None:
        loaded = session.load()
        same = _common_prefix(loaded.items, items)
        if same == len(loaded.items):
            session.record(items[same:], expected_version=loaded.version)
        else:
            kept = [(1, loaded.items[same - 1].version)] if same else []
            session.replace(kept, items[same:], expected_version=loaded.version)

    until_first(replace)


def _common_prefix(before: Sequence[HeldItem], items: Sequence[NewItem]) -> int:
    same = 0
    for one, other in zip(before, items, strict=False):
        if one.item != other.item:
            break
        same += 1
    return same


def _item_of(event: BaseEvent) -> NewItem:
    item: Any = serialize_value(event)
    return NewItem(cast("JsonObject", item))


def _event_of(item: HeldItem) -> BaseEvent:
    """Return an event; CorruptRecord for an item that is none: another program recorded it."""
    try:
        event: object = deserialize_value(item.item)
    except (AttributeError, ImportError, LookupError, TypeError, ValueError) as exc:
        raise CorruptRecord(f"the item at version {item.version} is no event") from exc
    if not isinstance(event, BaseEvent):
        raise CorruptRecord(f"the item at version {item.version} is no event")
    return event
