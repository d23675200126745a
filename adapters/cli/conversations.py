"""`onrecord conversations`: what there is, the one that moved last first."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import ago, key_of
from onrecord.adapters.cli.timeline import columns, document, draw_row
from onrecord.adapters.store import Listed, Store
from onrecord.domain.errors import OnrecordError
from onrecord.domain.header import timestamp
from onrecord.domain.log import Cursor, RecordedEvent, Subscription
from onrecord.projections.history.timeline import Timeline

_DRAWN_AT_MOST: Final = 1000


def conversations(store: Store, *, as_json: bool) -> None:
    """List a store's conversations."""
    if as_json:
        for found in store.conversations():
            output.json_line(_document(found))
    elif output.is_drawn():
        _draw(store)
    else:
        _print(store.conversations())


def _print(listed: Iterable[Listed]) -> None:
    for found in listed:
        output.plain(
            _name(found),
            found.head.version,
            found.head.exchange,
            len(found.head.open_calls),
            timestamp(found.recorded_at),
            found.origin,
        )


def _draw(store: Store) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = output.console()
    now = time.time_ns() // 1000
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    table.add_column("conversation", overflow="fold", ratio=1)
    for heading in ("events", "exchanges", "tokens", "open calls", "last moved"):
        table.add_column(heading, justify="right", no_wrap=True)
    for found in islice(store.conversations(), _DRAWN_AT_MOST):
        head = found.head
        style = "dim" if head.closed or found.key is None else "bold"
        table.add_row(
            Text.assemble((output.flat(_name(found)), style), (_fork_of(store, found), "dim")),
            f"{head.version:,}",
            f"{head.exchange:,}",
            f"{head.input_tokens + head.output_tokens:,}",
            Text(f"{len(head.open_calls)}", style="yellow" if head.open_calls else "dim"),
            ago(found.recorded_at, now),
        )
    if table.row_count:
        console.print(table)
    console.print(Text(output.flat(_closing_line(store, table.row_count)), style="dim"))


def _closing_line(store: Store, shown: int) -> str:
    if shown == 0:
        return f"No conversations in {store.url}. `onrecord demo` records one."
    more = f" (the first {shown:,}; --json lists all)" if shown == _DRAWN_AT_MOST else ""
    return f"{store.url}{more}"


def _name(found: Listed) -> str:
    return found.key or f"{found.conversation_id} (forgotten)"


def _fork_of(store: Store, found: Listed) -> str:
    if found.origin is None:
        return ""
    key = key_of(store.backend, found.origin)
    return f"  fork of {output.flat(key or str(found.origin))}"


def _document(found: Listed) -> dict[str, object]:
    head = found.head
    return {
        "key": found.key,
        "conversation": str(found.conversation_id),
        "version": head.version,
        "exchanges": head.exchange,
        "open_calls": list(head.open_calls),
        "closed": head.closed,
        "input_tokens": head.input_tokens,
        "output_tokens": head.output_tokens,
        "started_at": timestamp(found.started_at),
        "recorded_at": timestamp(found.recorded_at),
        "origin": None if found.origin is None else str(found.origin),
    }


# `onrecord tail`: events as they are recorded, of all shards, in the order they come.

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
