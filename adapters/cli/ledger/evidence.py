"""`onrecord proof` and `evidence`: what shows others that nothing was changed or left out."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from onrecord.adapters.cli.program import (
    STANDARD_INPUT,
    AsJson,
    Url,
    opened,
    write_pieces,
)
from onrecord.adapters.cli.views import Since, Until
from onrecord.adapters.settings import seals_given
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.output import named, size
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
    with opened(context, url) as store:
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
    with opened(context, url) as store:
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
        return Scope(store.tenant, named(store, key).conversation_id)
    times = (None if time is None else microseconds_of(time) for time in (since, until))
    return Scope(store.tenant, None, *times)


def _event(store: Store, key: str, event: str) -> RecordedEvent:
    """Return the event of a version, or of an id, as it is stored; InvalidInput where there is none."""
    from onrecord.adapters.encryption.encrypted_log import stored_of

    conversation, backend = named(store, key), stored_of(backend_of(store))
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
