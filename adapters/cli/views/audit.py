"""`onrecord audit` and `access`: who did what and when, and who read what."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

import typer

from onrecord.adapters.cli.program.options import (
    Actor,
    After,
    AsJson,
    ConversationOption,
    Deployment,
    Limit,
    Model,
    Policy,
    Since,
    Tool,
    Until,
    Url,
    time_given,
)
from onrecord.adapters.cli.program.output_files import write_pieces
from onrecord.adapters.cli.program.shown_pages import record_read, show_and_record
from onrecord.adapters.cli.program.stores import acting_name, open_store
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.presentation.sizes_and_times import size
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.subjects.audited import audited_erasures
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.adapters.terminal.view_listings import AUDIT_BY_ID, AUDIT_ENTRIES
from onrecord.adapters.terminal.view_pages import caught_up
from onrecord.adapters.views.catching_up import CaughtUpPage
from onrecord.adapters.views.pages import Page
from onrecord.domain.encryption.subjects import subject_id
from onrecord.domain.errors import StorageBusy
from onrecord.domain.header import timestamp
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.views.audit import AuditEntry
from onrecord.projections.views.audit_facts import OUTCOMES

if TYPE_CHECKING:
    from onrecord.projections.access.access_records import AccessEntry

_DIGITS: Final = 8
_NO_ERASURE: Final = (
    "There is no erasure under this digest. The name must be written exactly as programs wrote it."
)
_ACCESS_COLUMNS: Final = (
    Column("read", Kind.TIME),
    Column("by", Kind.NAME),
    Column("via", Kind.NAME),
    Column("conversation", Kind.KEY),
    Column("entries", Kind.COUNT),
    Column("asked", Kind.TEXT),
)


def audit(
    context: typer.Context,
    conversation: ConversationOption = None,
    actor: Actor = None,
    on_behalf_of: Annotated[
        str | None, typer.Option(metavar="NAME", help="For whom it was done, by name.")
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The erasures of this subject of an encrypted store."),
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Such as `tool_call.recorded`.")
    ] = None,
    model: Model = None,
    tool: Tool = None,
    policy: Policy = None,
    deployment: Deployment = None,
    document: Annotated[
        str | None,
        typer.Option(metavar="ID", help="What holds or sent it: its short id, or its SHA-256."),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="WORDS", help="What says these words, as a search has it.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="WORD", help=f"How it went: {', '.join(OUTCOMES)}.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="NAME[=VALUE]", help="Of conversations that have this label."),
    ] = None,
    request: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="VERSION",
            help="Of `--conversation`: the exact request that this event came from.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all of it to a new file: `.html` to print, `.jsonl` or `.parquet`.",
        ),
    ] = None,
    by_id: Annotated[
        bool,
        typer.Option(
            "--by-id", help="Name conversations by their ids alone: keys may be personal."
        ),
    ] = False,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what and when, with which model or tool; no content but with `--request`, and reasons.

    Erasures too: who and why, how much, and which forks stay. Of a redaction the event, and the reason that was
    given: whoever may read the audit may read that. Piped: time, the actor's
    name (once it is forgotten, the first digits of its digest), key, version, type, model, tool,
    what an erasure or a redaction says, for whom it was done, how it went. All filters combine.

    Example: `onrecord audit --actor ann --since 2026-11-01`

    Example: `onrecord audit --label category=health --report march.html`

    Example: `onrecord audit --subject "patient 4711"`
    """
    if conversation is not None and subject is not None:
        raise typer.BadParameter("name a conversation or --subject; not both")
    if request is not None:
        _write_request(context, url, conversation, request, as_json=as_json)
        return
    name, equals, value = (label or "").partition("=")
    filters: dict[str, Any] = {
        "actor": actor,
        "on_behalf_of": on_behalf_of,
        "type": type_,
        "model": model,
        "tool": tool,
        "policy": policy,
        "deployment": deployment,
        "document": document,
        "text": text,
        "outcome": outcome,
        "label": None if label is None else name,
        "label_value": value if equals else None,
        "since": since,
        "until": until,
    }
    if report is not None:
        if after is not None:
            raise typer.BadParameter("--report holds all pages: leave --after out.")
        asked = {"conversation": conversation, "subject": subject, **filters}
        _write_report(context, url, report, asked, by_id=by_id, as_json=as_json)
        return
    listing = AUDIT_BY_ID if by_id else AUDIT_ENTRIES
    with open_store(context, url) as store:
        about = _asked_about(store, conversation, subject)
        page = caught_up(
            store,
            lambda: store.views.audit(conversation=about, **filters, limit=limit, after=after),
        )
        if subject is not None and about is not None and not _is_whole(page):
            is_filtered = any(value is not None for value in (after, *filters.values()))
            page = _out_of_the_log(store, about, page, limit, is_filtered=is_filtered)
        show_and_record(context, store, listing, page, as_json=as_json)
    if subject is not None and after is None and not len(page.page):
        output.note(_NO_ERASURE)


def _is_whole(answer: CaughtUpPage[AuditEntry]) -> bool:
    return not (answer.lacks or answer.page.parked or answer.page.stopped)


def _out_of_the_log(
    store: Store, subject: UUID, answer: CaughtUpPage[AuditEntry], limit: int, *, is_filtered: bool
) -> CaughtUpPage[AuditEntry]:
    """Return the erasures of a subject as the log has them, in place of a page that may lack some.

    StorageBusy where the view is needed, since there are other filters: nobody is told then that
    there is no erasure.
    """
    if is_filtered:
        raise StorageBusy(
            "the view `audit` does not have all events, so that an erasure may be missing: leave out the "
            "other filters, or look at `onrecord views`"
        )
    entries = audited_erasures(backend_of(store), store.tenant, subject)
    if len(entries) > limit:
        output.note("there is more: ask again with a greater --limit")
    last = answer.page.position + answer.page.behind
    return CaughtUpPage(Page(tuple(entries[:limit]), None, last, 0, 0), 0)


def _asked_about(store: Store, conversation: str | None, subject: str | None) -> UUID | None:
    """Return the id of a conversation, or the one that a subject is erased by, whose digest is told."""
    if subject is not None:
        return subject_id(store.tenant, bytes.fromhex(_digest(store, subject)))
    # A key may look like an id, so an id is looked for as a key first.
    return (
        None if conversation is None else require_conversation(store, conversation).conversation_id
    )


def _digest(store: Store, subject: str) -> str:
    """Return the digest that the record has in place of a subject's name, and tell it."""
    digest = store.subjects.digest(subject)
    output.note(f"The record has the digest {digest} in place of that name.")
    return digest


def _write_report(
    context: typer.Context,
    url: str | None,
    file: Path,
    filters: Mapping[str, Any],
    *,
    by_id: bool,
    as_json: bool,
) -> None:
    """Write the whole audit to a new file, in the format that its name ends with."""
    from onrecord.adapters.reports.audit_report import AuditReport
    from onrecord.adapters.reports.formats import written_as
    from onrecord.adapters.settings import settings

    pieces_of = written_as(file)
    with open_store(context, url) as store:
        subject = filters["subject"]
        asked = {**filters, "subject": None if subject is None else _digest(store, subject)}
        report = AuditReport(store, asked, acting_name(None), settings().seals, by_id=by_id)
        written = write_pieces(store, file, pieces_of(report))
    if written is None:
        return
    count = report.tally.count
    if as_json:
        output.json_line({"file": str(file), "bytes": written, "entries": count})
        return
    entries = "1 entry" if count == 1 else f"{count:,} entries"
    output.sentence(f"The report has {entries}. It is in {file}, {size(written)}.")
    for remark in report.remarks:
        output.note(remark)


def _write_request(
    context: typer.Context, url: str | None, key: str | None, version: int, *, as_json: bool
) -> None:
    """Write the request that an event came from, byte for byte, its digest being checked."""
    from onrecord.adapters.conversation.rendering import request_behind
    from onrecord.adapters.presentation.request_documents import request_document

    if key is None:
        raise typer.BadParameter("--request is of a conversation: give --conversation too.")
    with open_store(context, url) as store:
        conversation = store.get(require_conversation(store, key).conversation_id)
        sent, body = request_behind(conversation, version)
    if as_json:
        output.json_line(request_document(sent) | {"body": body.decode()})
        return
    output.raw(body)
    if sys.stdout.isatty():
        output.sentence("")
    output.note(f"request {sent.version}, as it was sent: SHA-256 {sent.event.template.sha256}")


def access(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            "-c",
            metavar="KEY",
            help="What showed something of this conversation: its key, or its id.",
        ),
    ] = None,
    actor: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who read it: the name, or its digest.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            parser=time_given,
            help="From that time on: a day or a time, in UTC unless it says otherwise.",
            show_default="30 days before --until, else 30 days ago",
        ),
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(metavar="TIME", parser=time_given, help="Before that time.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="N", help="Show at most N entries.")
    ] = 50,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show who read what and when, the last first; nothing of what was read.

    People are told of each time, programs by how often they read in a minute. It is recorded where
    ONRECORD_ACCESS_LOG says so. Piped: time, who, command or route, key (else the id) of the conversation,
    how many entries, names of the options of a query.

    Example: `onrecord access --conversation support/4711 --since 2026-03-01`
    """
    with open_store(context, url) as store:
        found = store.access.entries(
            since=since,
            until=until,
            actor=actor,
            conversation=None
            if conversation is None
            else require_conversation(store, conversation).conversation_id,
            limit=limit,
        )
        record_read(context, store, len(found))
    if as_json:
        for entry in found:
            output.json_line(_access_document(entry))
        return
    show_rows(_ACCESS_COLUMNS, [_access_row(entry) for entry in found])
    if not found:
        output.note("nothing was found")


def _access_row(entry: AccessEntry) -> tuple[Cell, ...]:
    on = None if entry.conversation_id is None else str(entry.conversation_id)
    reader = entry.actor_name or (None if entry.actor is None else entry.actor[:_DIGITS])
    counts = ", ".join(f"{verb} {times:,}" for verb, times in sorted(entry.reads.items()))
    shown = sum(entry.reads.values()) if entry.reads else entry.entries
    return entry.at, reader, entry.via or counts, entry.key or on, shown, ", ".join(entry.asked)


def _access_document(entry: AccessEntry) -> JsonObject:
    return {
        "at": timestamp(entry.at),
        "actor": entry.actor,
        "actor_name": entry.actor_name,
        "via": entry.via,
        "key": entry.key,
        "conversation": None if entry.conversation_id is None else str(entry.conversation_id),
        "entries": entry.entries,
        "conversations": [str(each) for each in entry.conversations],
        "more": entry.more,
        "asked": list(entry.asked),
        "query": entry.query,
        "reads": dict(entry.reads) or None,
        "key_id": None if entry.key_id is None else str(entry.key_id),
    }
