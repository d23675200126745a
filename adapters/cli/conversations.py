"""`onrecord conversations`: what there is, the one that moved last first."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice
from typing import Final

from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import key_of
from onrecord.adapters.cli.quantities import ago
from onrecord.adapters.store import Listed, Store
from onrecord.domain.header import timestamp

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
