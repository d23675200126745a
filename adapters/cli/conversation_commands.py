"""`onrecord conversations`, `show`, `calls`, `window`, `tail`: what there is, what was said, what is recorded now."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias
from uuid import UUID

import typer

from onrecord.adapters.cli.program.options import (
    After,
    AsJson,
    At,
    ConversationOption,
    Key,
    Limit,
    SideBranches,
    Since,
    Until,
    Url,
)
from onrecord.adapters.cli.program.shown_pages import show_and_record, show_page
from onrecord.adapters.cli.program.stores import open_store
from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.conversations import NamedConversation, require_conversation
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.lineage import key_of
from onrecord.adapters.streams.listing import Listed
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, Title, draw_rows
from onrecord.adapters.terminal.view_listings import CALLS, EXCHANGES
from onrecord.adapters.terminal.view_pages import caught_up
from onrecord.domain.content import Blob
from onrecord.domain.errors import OnrecordError
from onrecord.domain.header import timestamp
from onrecord.domain.log import Backend, Cursor, RecordedEvent, Subscription

if TYPE_CHECKING:
    from queue import SimpleQueue

    from onrecord.adapters.presentation.actors import ShownActors
    from onrecord.adapters.streams.history_changes import HistoryChanges
    from onrecord.projections.history.timeline import Timeline

_DRAWN_AT_MOST: Final = 1000


def conversations(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """List the conversations, the one that moved last first.

    Piped: key, version, exchanges, open calls, time of the last event, id of its origin if forked.

    Example: `onrecord conversations --url sqlite:///talks.db`
    """
    with open_store(context, url) as store:
        listed = store.conversations()
        output.entries(listed, _document, _columns, draw=lambda: _draw(store), as_json=as_json)


def _columns(entry: Listed) -> tuple[object, ...]:
    head, moved = entry.head, timestamp(entry.recorded_at)
    calls = len(head.open_calls)
    return _name(entry), head.version, head.exchange, calls, moved, entry.origin


_COLUMNS: Final = (
    Column("conversation", Kind.KEY),
    *(Column(counted, Kind.COUNT) for counted in ("events", "exchanges", "tokens", "open calls")),
    Column("last moved", Kind.TIME),
)


def _draw(store: Store) -> None:
    listed = islice(store.conversations(), _DRAWN_AT_MOST)
    rows = [_row(store, entry) for entry in listed]
    draw_rows(_COLUMNS, rows)
    output.sentence(_closing_line(store, len(rows)))


def _row(store: Store, entry: Listed) -> tuple[Cell, ...]:
    head = entry.head
    style = "dim" if head.closed or entry.key is None else "bold"
    calls = len(head.open_calls)
    tokens = head.input_tokens + head.output_tokens
    title = Title(_name(entry), _fork_of(store, entry), style)
    return title, head.version, head.exchange, tokens, calls, entry.recorded_at


def _closing_line(store: Store, shown: int) -> str:
    if shown == 0:
        return f"No conversations in {store.url}. `onrecord demo` records one."
    more = f" (the first {shown:,}; --json lists all)" if shown == _DRAWN_AT_MOST else ""
    return f"{store.url}{more}"


def _name(entry: Listed) -> str:
    return entry.key or f"{entry.conversation_id} (forgotten)"


def _fork_of(store: Store, entry: Listed) -> str:
    if entry.origin is None:
        return ""
    key = key_of(backend_of(store), entry.origin)
    return f"fork of {key or entry.origin}"


def _document(entry: Listed) -> dict[str, object]:
    head = entry.head
    return {
        "key": entry.key,
        "conversation": str(entry.conversation_id),
        "version": head.version,
        "exchanges": head.exchange,
        "open_calls": list(head.open_calls),
        "closed": head.closed,
        "input_tokens": head.input_tokens,
        "output_tokens": head.output_tokens,
        "started_at": timestamp(entry.started_at),
        "recorded_at": timestamp(entry.recorded_at),
        "origin": None if entry.origin is None else str(entry.origin),
    }


def show(
    context: typer.Context,
    key: Key,
    at: At = None,
    lines: SideBranches = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the timeline of a conversation, a line for each block.

    Piped: version, time, speaker, kind, marks, version that it answers, text, actor. With `--json` every
    event as it is stored, side branches included. Standard error says how many events are not
    shown, and why.

    Example: `onrecord show support/4711 --at 17`
    """
    from onrecord.adapters.conversation.item_turns import linked_items
    from onrecord.adapters.presentation.actors import ShownActors
    from onrecord.adapters.presentation.event_documents import event_document
    from onrecord.adapters.streams.history_changes import changes_at
    from onrecord.adapters.terminal.left_out import LeftOut
    from onrecord.adapters.terminal.timeline_listing import show as show_timeline

    with open_store(context, url) as store:
        conversation = require_conversation(store, key)
        until = conversation.version_at(at)
        backend, conversation_id = backend_of(store), conversation.conversation_id
        actors = ShownActors(backend, store.tenant)
        if as_json:
            for event in backend.read(conversation_id, until=until):
                output.json_line(event_document(event, actors))
            return
        changes = changes_at(backend, conversation_id, until)
        if lines:
            _show_all(backend, conversation, until, changes, actors)
            return
        left_out = LeftOut(changes.losses)
        history = left_out.history(backend.read(conversation_id, until=until))
        linked = partial(linked_items, backend, conversation_id, until)
        show_timeline(conversation, history, changes, actors, linked=linked)
        if sentence := left_out.sentence():
            output.note(f"{sentence}. `onrecord show {conversation} --lines` shows them.")


def _show_all(
    backend: Backend,
    conversation: NamedConversation,
    until: int,
    changes: HistoryChanges,
    actors: ShownActors,
) -> None:
    """Show the timeline with side branches, and the instructions of requests on them."""
    from onrecord.adapters.conversation.item_turns import linked_items
    from onrecord.adapters.terminal import timeline_listing
    from onrecord.adapters.terminal.side_branch_instructions import side_branch_instructions

    conversation_id = conversation.conversation_id

    def events() -> Iterator[RecordedEvent]:
        return backend.read(conversation_id, until=until)

    def blob_of(blob: Blob) -> bytes:
        return b"".join(backend.get_blob(conversation_id, blob))

    timeline_listing.show(
        conversation,
        events(),
        changes,
        actors,
        linked=partial(linked_items, backend, conversation_id, until),
        instructions=side_branch_instructions(events, blob_of),
    )


_Arrival: TypeAlias = RecordedEvent | OnrecordError | None
_KEY_WIDTH: Final = 20


def tail(
    context: typer.Context,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Start at the first event of the log.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show events as they are recorded, until Ctrl-C.

    Piped: the key, then the columns of `show`.

    Example: `onrecord tail --json | grep tool_call`
    """
    with open_store(context, url) as store:
        cursors = store.cursors()
        if from_start:
            cursors = [replace(cursor, position=0) for cursor in cursors]
        write = _as_json(store) if as_json else _TailRows(store).write
        try:
            with ExitStack() as stack:
                for event in _merged(store, cursors, stack):
                    write(event)
                    sys.stdout.flush()
        except KeyboardInterrupt:
            return


def _merged(store: Store, cursors: list[Cursor], stack: ExitStack) -> Iterator[RecordedEvent]:
    """Yield the events of all shards as they come; the stack ends the subscriptions."""
    from queue import SimpleQueue

    arrived: SimpleQueue[_Arrival] = SimpleQueue()
    for cursor in cursors:
        subscription = stack.enter_context(store.subscribe(cursor))
        reader = Thread(target=_read, args=(subscription, arrived), daemon=True)
        reader.start()
        stack.callback(reader.join)
        stack.callback(subscription.stop)
    while (arrival := arrived.get()) is not None:
        if isinstance(arrival, OnrecordError):
            raise arrival
        yield arrival


def _read(subscription: Subscription, arrived: SimpleQueue[_Arrival]) -> None:
    try:
        for event in subscription:
            arrived.put(event)
    except OnrecordError as exc:
        arrived.put(exc)
    finally:
        arrived.put(None)


def _as_json(store: Store) -> Callable[[RecordedEvent], None]:
    from onrecord.adapters.presentation.actors import ShownActors
    from onrecord.adapters.presentation.event_documents import event_document

    actors = ShownActors(backend_of(store), store.tenant)
    return lambda event: output.json_line(event_document(event, actors))


class _TailRows:
    """What was shown of each conversation, so that results find their calls."""

    def __init__(self, store: Store) -> None:
        self._backend = backend_of(store)
        self._timelines: dict[UUID, Timeline] = {}
        self._keys: dict[UUID, str] = {}
        self._console = output.console() if output.is_drawn() else None
        self._tenant = store.tenant

    def write(self, event: RecordedEvent) -> None:
        from onrecord.adapters.presentation.actors import ShownActors
        from onrecord.adapters.terminal.timeline_listing import columns, draw_row
        from onrecord.projections.history.timeline import Timeline

        actors = ShownActors(self._backend, self._tenant)  # Names may be forgotten while it runs.
        so_far = Timeline(side_lines=True)
        timeline_listing = self._timelines.setdefault(event.conversation_id, so_far)
        key = self._key(event.conversation_id)
        rows = [row for noted in actors.noted((event,)) for row in timeline_listing.rows(noted)]
        for row in map(actors.named, rows):
            if self._console is None:
                output.plain(key, *columns(row))
            else:
                draw_row(self._console, row, f"{_short(key)} {row.version:>4}")

    def _key(self, conversation_id: UUID) -> str:
        if conversation_id not in self._keys:
            key = key_of(self._backend, conversation_id)
            self._keys[conversation_id] = key or str(conversation_id)
        return self._keys[conversation_id]


def _short(key: str) -> str:
    line = flat(key)
    shown = line if len(line) <= _KEY_WIDTH else f"…{line[1 - _KEY_WIDTH :]}"
    return f"{shown:<{_KEY_WIDTH}}"


def calls(
    context: typer.Context,
    conversation: ConversationOption = None,
    name: Annotated[str | None, typer.Option(metavar="TOOL", help="Of this tool only.")] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="`tool`, or `server tool`: a provider's own.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(metavar="STATUS", help="open, unawaited, done, failed or cancelled."),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option("--arguments", metavar="SHA256", help="With arguments of this digest."),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the calls of tools: arguments, result and duration.

    Piped: time, key, version, tool, status, seconds, arguments, result.

    Example: `onrecord calls --status failed --since 2026-11-21`
    """
    show_page(
        context,
        url,
        CALLS,
        lambda views, id_of: views.tool_calls(
            conversation=id_of(conversation),
            name=name,
            kind=kind,
            status=status,
            arguments_digest=digest,
            since=since,
            until=until,
            limit=limit,
            after=after,
        ),
        as_json=as_json,
    )


def window(
    context: typer.Context,
    key: Key,
    exchanges: Annotated[
        int, typer.Option(min=1, max=1_000, metavar="N", help="Show the last N.")
    ] = 20,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the last exchanges of a conversation: the prompt and the last answer of each.

    Piped: number, version of the prompt, time, tool calls, tokens, prompt, answer; the latest first.

    Example: `onrecord window support/4711 --exchanges 5`
    """
    with open_store(context, url) as store:
        conversation = require_conversation(store, key).conversation_id
        page = caught_up(
            store, lambda: store.views.window(conversation, exchanges=exchanges, after=after)
        )
        show_and_record(context, store, EXCHANGES, page, as_json=as_json)
