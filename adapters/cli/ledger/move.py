"""`onrecord move`: a log in clear, recorded anew in an encrypted one."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, NamedTuple
from uuid import UUID

import typer

from onrecord.adapters.cli.program import AsJson, Url, acting_name, place
from onrecord.adapters.settings import settings
from onrecord.adapters.store import backend_of
from onrecord.adapters.terminal import output
from onrecord.domain.errors import InvalidInput


def move(
    context: typer.Context,
    into: Annotated[
        str,
        typer.Option(
            callback=place, metavar="URL", help="The new log, made if it is not there yet."
        ),
    ],
    tenant: Annotated[
        UUID | None,
        typer.Option(metavar="UUID", help="Only what is of a tenant.", show_default="all"),
    ] = None,
    subjects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help='Whom conversations are about, a line each: `{"key": "support/4711", "subjects": ["ann"]}`.',
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be moved, and record nothing.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare both logs with what binds them instead.")
    ] = False,
    actor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who does it; this is kept for good.",
            show_default="$ONRECORD_ACTOR, else who is logged in",
        ),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Record all conversations of a log in clear anew in an encrypted one, and bind both.

    `ONRECORD_KEYS` and `ONRECORD_KEK` name the keys of the new log. Run it again if it was stopped, or if something
    was recorded meanwhile: nothing is recorded twice. The old log stays as it is.
    Piped: tenant, conversations, events, how many of them are new, how many conversations are left out.

    Example: `onrecord move --into sqlite:///secret.db`

    Example: `onrecord move --into sqlite:///secret.db --verify`
    """
    if dry_run and verify:
        raise typer.BadParameter("--dry-run and --verify record nothing: give one")
    from onrecord.adapters.app import is_there, shown
    from onrecord.domain.errors import StorageUnavailable

    old = url or context.obj or settings().url
    if any(each.lower().startswith(("http://", "https://")) for each in (old, into)):
        raise InvalidInput("a log is moved where it is: give the URLs of the logs themselves")
    for needed in (old, into) if verify else (old,):
        if not is_there(needed):
            raise StorageUnavailable(f"there is no store at {shown(needed)}: name another one")
    if verify:
        _check_move(old, into, tenant, as_json=as_json)
        return
    _move(old, into, _Moving(tenant, subjects, acting_name(actor), dry_run), as_json=as_json)
    if not dry_run:
        output.note(
            f"The old log stays, in clear: {shown(old)}, its views, its spool, its backups, and exports of it. "
            "If programs still write to it, stop them and run this again; run --verify, then destroy it."
        )


class _Moving(NamedTuple):
    tenant: UUID | None
    subjects: Path | None
    actor: str
    dry_run: bool


def _move(old: str, into: str, options: _Moving, *, as_json: bool) -> None:
    from onrecord.adapters.app import connect, is_there
    from onrecord.adapters.seals.trust import seals_of
    from onrecord.adapters.settings import NO_TENANT
    from onrecord.adapters.terminal.move_listings import write_moved
    from onrecord.adapters.transfer import moves
    from onrecord.adapters.transfer.moved_conversations import subjects_in

    tenant, file, actor, dry_run = options
    if not dry_run and settings().encryption.keys is None:
        raise InvalidInput("the new log would be in clear: set ONRECORD_KEYS and ONRECORD_KEK")
    with ExitStack() as opening:
        source = backend_of(opening.enter_context(connect(old, keys="", kek="")))
        subjects = {} if file is None else subjects_in(file, source, tenant or NO_TENANT)
        is_new = dry_run and not is_there(into)
        new = None if is_new else backend_of(opening.enter_context(connect(into)))
        progress = opening.enter_context(output.progress_of("Moving"))
        if dry_run or new is None:
            found = moves.plan(source, new, tenant=tenant, subjects=subjects, progress=progress)
        else:
            found = moves.move(
                source,
                new,
                actor=actor,
                tenant=tenant,
                subjects=subjects,
                seals=seals_of(settings().seals),
                progress=progress,
            )
    write_moved(found, as_json=as_json)


def _check_move(old: str, new: str, tenant: UUID | None, *, as_json: bool) -> None:
    from onrecord.adapters.app import connect
    from onrecord.adapters.terminal.move_listings import write_bound
    from onrecord.adapters.transfer import moves

    with ExitStack() as opening:
        source, destination = (
            backend_of(opening.enter_context(store))
            for store in (connect(old, keys="", kek=""), connect(new))
        )
        progress = opening.enter_context(output.progress_of("Comparing"))
        facts = moves.check(source, destination, tenant=tenant, progress=progress)
    write_bound(facts, as_json=as_json)
