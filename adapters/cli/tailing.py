"""`onrecord tail`: events as they are recorded, of all shards, in the order they come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from queue import SimpleQueue
from threading import Thread
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import key_of
from onrecord.adapters.cli.timeline import columns, document, draw_row
from onrecord.adapters.store import Store
from onrecord.domain.errors import OnrecordError
from onrecord.domain.log import Cursor, RecordedEvent, Subscription
from onrecord.projections.history.timeline import Timeline

_Arrival: TypeAlias = RecordedEvent | OnrecordError | None
_KEY_WIDTH: Final = 20


def tail(store: Store, *, from_start: bool, as_json: bool) -> None:
    """Write each event as it comes, until Ctrl-C, which ends it as it should."""
    cursors = store.cursors()
    if from_start:
        cursors = [replace(cursor, position=0) for cursor in cursors]
    show = _as_json if as_json else _Shown(store).show
    try:
        with ExitStack() as stack:
            for event in _merged(store, cursors, stack):
                show(event)
                sys.stdout.flush()
    except KeyboardInterrupt:
        return


def _merged(store: Store, cursors: list[Cursor], stack: ExitStack) -> Iterator[RecordedEvent]:
    """Yield the events of all shards as they come; the stack ends the subscriptions."""
    arrived: SimpleQueue[_Arrival] = SimpleQueue()
    for cursor in cursors:
        subscription = stack.enter_context(store.subscribe(cursor))
        reader = Thread(target=_read, args=(subscription, arrived), daemon=True)
        reader.start()
        stack.callback(reader.join)
        stack.callback(subscription.stop)
    while (found := arrived.get()) is not None:
        if isinstance(found, OnrecordError):
            raise found
        yield found


def _read(subscription: Subscription, arrived: SimpleQueue[_Arrival]) -> None:
    try:
        for event in subscription:
            arrived.put(event)
    except OnrecordError as exc:
        arrived.put(exc)
    finally:
        arrived.put(None)


def _as_json(event: RecordedEvent) -> None:
    output.json_line(document(event))


class _Shown:
    """What was shown of each conversation, so that results find their calls."""

    def __init__(self, store: Store) -> None:
        self._backend = store.backend
        self._timelines: dict[UUID, Timeline] = {}
        self._keys: dict[UUID, str] = {}
        self._console = output.console() if output.is_drawn() else None

    def show(self, event: RecordedEvent) -> None:
        told = self._timelines.setdefault(event.conversation_id, Timeline(side_lines=True))
        key = self._key(event.conversation_id)
        for row in told.rows(event):
            if self._console is None:
                output.plain(key, *columns(row))
            else:
                draw_row(self._console, row, f"{_short(key)} {row.version:>4}")

    def _key(self, conversation_id: UUID) -> str:
        if conversation_id not in self._keys:
            found = key_of(self._backend, conversation_id)
            self._keys[conversation_id] = found or str(conversation_id)
        return self._keys[conversation_id]


def _short(key: str) -> str:
    flat = output.flat(key)
    shown = flat if len(flat) <= _KEY_WIDTH else f"…{flat[1 - _KEY_WIDTH :]}"
    return f"{shown:<{_KEY_WIDTH}}"
