"""`onrecord proof`, `evidence` and `move`: what shows others that nothing was changed or left out."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from uuid import UUID

import typer

from onrecord.adapters.cli.program.options import (
    STANDARD_INPUT,
    AsJson,
    Since,
    Until,
    Url,
    store_url,
)
from onrecord.adapters.cli.program.output_files import write_pieces
from onrecord.adapters.cli.program.stores import acting_name, note_ciphertext, open_store
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.presentation.sizes_and_times import size
from onrecord.adapters.settings import seals_given, settings
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.domain.errors import InvalidInput, counted

if TYPE_CHECKING:
    from onrecord.adapters.transfer.evidence import Scope
    from onrecord.domain.log import RecordedEvent

Seals = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URL",
        help="Where seals are kept: a folder, or an URL. May be given several times; the first one is read.",
        show_default="$ONRECORD_SEALS",
    ),
]
PublicKeys = Annotated[
    list[str] | None,
    typer.Option(
        "--vkey",
        metavar="KEY",
        help="A public key that is trusted. May be given several times.",
        show_default="$ONRECORD_SEAL_VKEY, else that of $ONRECORD_SEAL_KEY",
    ),
]
OutputFile = Annotated[
    Path,
    typer.Option("--out", metavar="FILE", help="Write to a new file; `-`: standard output."),
]


def proof(
    context: typer.Context,
    key: Annotated[
        str | None, typer.Argument(help="The conversation's key or its id.", show_default=False)
    ] = None,
    event: Annotated[
        str | None,
        typer.Argument(metavar="VERSION", help="Or the event's id.", show_default=False),
    ] = None,
    consistency: Annotated[
        tuple[int, int] | None,
        typer.Option(
            metavar="OLD NEW",
            help="Of two checkpoints instead, by their sizes.",
            show_default=False,
        ),
    ] = None,
    shard: Annotated[
        int, typer.Option(min=0, metavar="S", help="The shard of the checkpoints.")
    ] = 0,
    file: OutputFile = STANDARD_INPUT,
    seals: Seals = None,
    vkeys: PublicKeys = None,
    url: Url = None,
) -> None:
    """Prove that an event is in the log as it was sealed, or that one checkpoint goes on from another.

    The first is written as C2SP's tlog-proof has it, the second as its tlog-witness has it.

    Example: `onrecord proof support/4711 17`

    Example: `onrecord proof --consistency 1204 5311 --shard 0`
    """
    from onrecord.adapters.seals.store_seals import proofs_of

    if (consistency is None) == (key is None) or (key is None) != (event is None):
        raise typer.BadParameter("name a KEY and a VERSION, or --consistency OLD NEW")
    with open_store(context, url) as store:
        proofs = proofs_of(backend_of(store), seals_given(seals, None, vkeys))
        if consistency is not None:
            text = proofs.of(shard).consistency(*consistency).text()
        else:
            recorded = _event(store, key or "", event or "")
            text = proofs.of(recorded.shard).inclusion(recorded).text()
        write_pieces(store, file, [text])


def evidence(
    context: typer.Context,
    file: OutputFile,
    key: Annotated[
        str | None, typer.Argument(help="The conversation's key or its id.", show_default=False)
    ] = None,
    tenant: Annotated[
        bool, typer.Option("--tenant", help="All conversations of the tenant instead.")
    ] = False,
    since: Since = None,
    until: Until = None,
    seal: Annotated[
        bool, typer.Option("--seal", help="Seal the log first, with the key in $ONRECORD_SEAL_KEY.")
    ] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Leave out what is not sealed; the file says so.")
    ] = False,
    seals: Seals = None,
    vkeys: PublicKeys = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Write one file that proves what was said, to whoever has the public key.

    It holds events, documents, the requests as they were sent, and all proofs. `onrecord-verify` checks it
    without Onrecord. `--since` and `--until` go with `--tenant`: conversations with an event in that time,
    from their beginning on. A file that is there stays.

    Example: `onrecord evidence support/4711 --out 4711.evidence`

    Example: `onrecord evidence --tenant --since 2026-03-03 --until 2026-03-04 --out march.evidence`
    """
    from onrecord.adapters.seals.store_seals import UNSTAMPED, proofs_of, sealer_of
    from onrecord.adapters.transfer.evidence import Evidence, ends_of

    if tenant == (key is not None):
        raise typer.BadParameter("name a KEY, or say --tenant")
    if not tenant and (since or until):
        raise typer.BadParameter("--since and --until go with --tenant")
    if since and until and until <= since:
        raise typer.BadParameter("--until is not behind --since")
    with open_store(context, url) as store:
        backend, sealing = backend_of(store), seals_given(seals, None, vkeys)
        scope, ends = _scope(store, key, since, until), ends_of(backend)
        if seal:
            sealer = sealer_of(backend, sealing)
            sealer.seal()
            if sealer.unstamped:
                output.note(f"onrecord: {UNSTAMPED}: {sealer.unstamped}")
        bundle = Evidence(backend, proofs_of(backend, sealing), scope, ends, partial)
        bundle.must_be_sealed()
        written = write_pieces(store, file, bundle.lines())
        note_ciphertext(
            store, "the bundle proves encrypted events as they are stored, and shows no text"
        )
    if partial:
        left_out = f"{counted(bundle.left_out, 'event')} left out: no checkpoint covers them."
        output.note(left_out)
    if written is None:
        return
    if as_json:
        unsealed = {"unsealed": bundle.left_out} if partial else {}
        output.json_line({"file": str(file), "bytes": written, **unsealed})
    else:
        output.sentence(
            f"The evidence is in {file}, {size(written)}: check it with onrecord-verify."
        )


def _scope(store: Store, key: str | None, since: datetime | None, until: datetime | None) -> Scope:
    from onrecord.adapters.transfer.evidence import Scope
    from onrecord.domain.header import microseconds_of

    if key is not None:
        return Scope(store.tenant, require_conversation(store, key).conversation_id)
    times = (None if time is None else microseconds_of(time) for time in (since, until))
    return Scope(store.tenant, None, *times)


def _event(store: Store, key: str, event: str) -> RecordedEvent:
    """Return the event of a version, or of an id, as it is stored; InvalidInput where there is none."""
    from onrecord.adapters.encryption.encrypted_log import stored_of

    conversation, backend = require_conversation(store, key), stored_of(backend_of(store))
    if event.isdecimal():
        version = int(event)
        found = backend.read(conversation.conversation_id, after=version - 1, until=version)
    else:
        wanted = _id(event)
        events = backend.read(conversation.conversation_id)
        found = (each for each in events if each.event_id == wanted)
    if (recorded := next(found, None)) is None:
        last = counted(conversation.head.version, "event")
        raise InvalidInput(f"{conversation} has no such event: it has {last}")
    return recorded


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no version, and no id of an event") from None


def move(
    context: typer.Context,
    into: Annotated[
        str,
        typer.Option(
            callback=store_url, metavar="URL", help="The new log, made if it is not there yet."
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
    options = _Moving(tenant, subjects, acting_name(actor), dry_run)
    has_others = _move(old, into, options, as_json=as_json)
    if dry_run:
        return
    output.note(
        f"The old log stays, in clear: {shown(old)}, its views, its spool, its backups, and exports of it. "
        "If programs still write to it, stop them and run this again."
    )
    output.note(
        "Other tenants are in the old log, too: keep it until they are moved."
        if has_others
        else "Run --verify, and `onrecord verify` of the new log with its keys, then destroy the old one."
    )


class _Moving(NamedTuple):
    tenant: UUID | None
    subjects: Path | None
    actor: str
    dry_run: bool


def _move(old: str, into: str, options: _Moving, *, as_json: bool) -> bool:
    """Move a log, or say what would be moved; return whether it has tenants beside the one named."""
    from onrecord.adapters.app import connect, is_there
    from onrecord.adapters.seals.trust import seals_of
    from onrecord.adapters.terminal.move_listings import write_moved
    from onrecord.adapters.transfer import moves
    from onrecord.adapters.transfer.moved_conversations import first_tenants, subjects_in

    tenant, file, actor, dry_run = options
    if not dry_run and settings().encryption.keys is None:
        raise InvalidInput("the new log would be in clear: set ONRECORD_KEYS and ONRECORD_KEK")
    with ExitStack() as opening:
        source = backend_of(opening.enter_context(connect(old, keys="", kek="")))
        subjects = {} if file is None else subjects_in(file, source, tenant)
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
        has_others = tenant is not None and bool(first_tenants(source) - {tenant})
    write_moved(found, as_json=as_json, is_plan=dry_run)
    return has_others


def _check_move(old: str, new: str, tenant: UUID | None, *, as_json: bool) -> None:
    from onrecord.adapters.app import connect
    from onrecord.adapters.terminal.move_listings import write_bound, write_textless
    from onrecord.adapters.transfer import moves

    with ExitStack() as opening:
        source, destination = (
            backend_of(opening.enter_context(store))
            for store in (connect(old, keys="", kek=""), connect(new))
        )
        progress = opening.enter_context(output.progress_of("Comparing"))
        checked = moves.check(source, destination, tenant=tenant, progress=progress)
    write_bound(checked.facts, as_json=as_json)
    write_textless(checked.textless)
