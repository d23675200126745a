"""`onrecord expire`, and `onrecord forget` of many: what goes when."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from onrecord.adapters.cli.program import AsJson, Url, acting_name, age_given, opened, time_given
from onrecord.adapters.cli.retention.options import Actor
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.retention_listings import (
    disposition_writer,
    due_outcome,
    show_dispositions,
)
from onrecord.domain.errors import InvalidInput, counted

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.adapters.upkeep.dispositions import Disposition, DispositionResult

Before = Annotated[
    datetime | None,
    typer.Option(
        metavar="TIME",
        parser=time_given,
        help="Those whose last event is older: a day or a time in UTC.",
        show_default=False,
    ),
]
OlderThan = Annotated[
    timedelta | None,
    typer.Option(
        metavar="DAYS",
        parser=age_given,
        help="Those whose last event is as old: `400d`.",
        show_default=False,
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Those whose key begins with it.", show_default=False),
]
Expired = Annotated[
    bool, typer.Option("--expired", help="Those whose retention class has run out.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="List what would go and what a hold keeps; erase nothing.")
]


@dataclass(frozen=True, slots=True)
class Query:
    """Which conversations are to be forgotten: all that it says has to hold."""

    before: datetime | None = None
    older_than: timedelta | None = None
    prefix: str | None = None
    expired: bool = False

    def __bool__(self) -> bool:
        """Return whether it chooses any."""
        return self != Query()


def expire(
    context: typer.Context,
    archive: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The place of the archives: a folder, or what fsspec reaches.",
            show_default=False,
        ),
    ] = None,
    no_archive: Annotated[
        bool, typer.Option("--no-archive", help="Erase without an archive.")
    ] = False,
    dry_run: DryRun = False,
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Archive and erase the conversations whose retention class has run out.

    It is for a schedule. What a legal hold keeps stays. Each archive is written and read back before
    its conversation is erased, by an erasure of its own with class and rule as the reason. It may be
    stopped at any moment, and run again. Exit code 1 if something was left alone.
    Piped: conversation, key, when its last event was recorded, its class, what became of it.

    Example: `onrecord expire --archive s3://bucket/archives`
    """
    if not dry_run and (archive is None) != no_archive:
        raise typer.BadParameter("say where archives go with --archive, or say --no-archive")
    with opened(context, url) as store:
        if dry_run:
            _show_due(store, Query(expired=True), as_json=as_json)
            return
        with output.progress_of("Expiring") as progress:
            done = store.retention.expire(
                archive,
                actor=acting_name(actor),
                each=disposition_writer(as_json=as_json),
                progress=progress,
            )
    _summary(done, as_json=as_json)


def forget_many(
    store: Store,
    query: Query,
    reason: str | None,
    actor: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Erase the conversations that a query chooses, or list them."""
    if dry_run:
        _show_due(store, query, as_json=as_json)
        return
    if reason is None:
        raise InvalidInput("say with --reason why these are erased: it is kept for good")
    with output.progress_of("Forgetting") as progress:
        done = store.retention.forget(
            reason=reason,
            actor=acting_name(actor),
            **asdict(query),
            each=disposition_writer(as_json=as_json),
            progress=progress,
        )
    _summary(done, as_json=as_json)


def _show_due(store: Store, query: Query, *, as_json: bool) -> None:
    counts = Counter[str]()

    def outcome(one: Disposition) -> str:
        counts["goes"] += one.hold is None and one.fault is None
        counts["kept"] += one.hold is not None
        return due_outcome(one)

    show_dispositions(store.retention.due(**asdict(query)), outcome, as_json=as_json)
    if not as_json:
        would_go = counted(counts["goes"], "conversation")
        output.note(f"{would_go} would go; holds keep {counts['kept']:,}. Nothing was erased.")


def _summary(done: DispositionResult, *, as_json: bool) -> None:
    if not as_json:
        erased = f"{counted(done.erased, 'conversation')} erased, {done.archived:,} archived"
        output.note(f"{erased}; holds keep {done.kept:,}; {done.left:,} left alone.")
    for sentence in done.residue:
        output.note(f"onrecord: {sentence}")
    if done.left:
        raise typer.Exit(1)
