"""`onrecord seal-key`, `seal`, `checkpoint`: they sign what a log came to, and show what was signed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from onrecord.adapters.cli.program.options import AsJson, Url
from onrecord.adapters.cli.program.stores import open_store
from onrecord.adapters.settings import settings
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from uuid import UUID

    from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals

Authority = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Believe timestamps by the certificates in this PEM file.",
        show_default=False,
    ),
]

_SIZES: Final = 8
"""How many sizes a message lists."""

_COLUMNS: Final = (
    *(Column("shard", Kind.COUNT), Column("size", Kind.COUNT), Column("root", Kind.KEY)),
    *(Column("sealed", Kind.TIME), Column("place", Kind.NAME)),
)


def seal_key(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Make the key that seals this store, and print its public key.

    The private key goes into FILE, which only you may read. Write the public key down where nobody
    changes it: who checks the store needs it. Whoever has the key and the places of the seals can
    rewrite the log and seal it anew, so FILE must not lie beside the database, nor in its backups.
    Piped: the public key, and nothing else.

    Example: `onrecord seal-key /etc/onrecord/seal.key`
    """
    from onrecord.adapters.seals.key_files import make_key_file
    from onrecord.domain.seals.checkpoint import key_name_of

    with open_store(context, url) as store:
        log_id = _log_id(store)
    key = make_key_file(file, key_name_of(log_id))
    if _is_beside(file, store.url):
        output.note(
            f"onrecord: {file} lies beside the database: move it to another folder, which no backup of the "
            "database holds"
        )
    if as_json:
        output.json_line({"log": str(log_id), "file": str(file), "public_key": str(key.public)})
        return
    output.sentence(str(key.public))
    output.note("Write this public key down elsewhere: it is ONRECORD_SEAL_VKEY of who checks.")
    output.note(f"To seal, set ONRECORD_SEAL_KEY={file.absolute()} and ONRECORD_SEALS to a place.")
    output.note("Keep that file, and the place, away from the database and from its backups.")


def seal(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """Seal the log now: sign what each of its shards came to, and keep that outside the database.

    `ONRECORD_SEALS` names the place, a folder or an URL such as `s3://bucket/seals`, or several with
    spaces between them. `ONRECORD_SEAL_KEY` names the file that `onrecord seal-key` wrote. A log that
    does not go on from its last seal is not sealed: exit code 1. Piped: shard, size, root, when it
    was sealed, places.

    Example: `onrecord seal`
    """
    with open_store(context, url) as store:
        sealed = store.seal()
    _warn_unpinned()
    places = _places()
    if as_json:
        for each in sealed:
            output.json_line(_document(each, places))
    else:
        show_rows(_COLUMNS, [_row(each, places) for each in sealed])


def checkpoint(
    context: typer.Context,
    shard: Annotated[int, typer.Option(min=0, metavar="SHARD", help="Of this shard.")] = 0,
    at: Annotated[
        int | None,
        typer.Option(min=0, metavar="SIZE", help="The one of this size.", show_default="the last"),
    ] = None,
    authority: Authority = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Print a checkpoint as it was signed: a note after C2SP, which others' tools verify.

    It is read from the first place that `ONRECORD_SEALS` names and that has it. Its signature is checked with the
    keys of `ONRECORD_SEAL_VKEY`, else with the public key of the one in `ONRECORD_SEAL_KEY`. With `--authority`
    standard error says when the timestamp beside it was made; exit code 1 where there is none that holds.

    Example: `onrecord checkpoint --at 1204`
    """
    with open_store(context, url) as store:
        log_id = _log_id(store)
    sealed, seals = _found(log_id, shard, at)
    stamped_at = None if authority is None else _stamped_at(sealed, seals, authority)
    if as_json:
        note, document = sealed.note.decode(), _document(sealed, [str(seals.place)])
        output.json_line(document | {"note": note, "stamped_at": stamped_at})
    else:
        output.raw(sealed.note)
        if stamped_at is not None:
            output.note(f"An authority saw it at {stamped_at}.")
    if not settings().seals.public_keys:
        output.note(
            "onrecord: checked with the public key of the private key, not with one that was written "
            "down: set ONRECORD_SEAL_VKEY"
        )


def _stamped_at(sealed: SealedCheckpoint, seals: ShardSeals, authority: Path) -> str:
    """Return when an authority saw a checkpoint; InvalidInput where it has no timestamp."""
    from onrecord.adapters.seals.timestamps import TrustedAuthority

    response = seals.timestamp(sealed.checkpoint.size)
    if response is None:
        raise InvalidInput(f"the checkpoint has no timestamp at {seals.place}")
    try:
        return timestamp(TrustedAuthority(authority).stamped_at(response, sealed.note))
    except CorruptRecord as exc:
        raise CorruptRecord(f"the timestamp of the checkpoint at {seals.place}: {exc}") from None


def _found(log_id: UUID, shard: int, size: int | None) -> tuple[SealedCheckpoint, ShardSeals]:
    """Return a checkpoint, and the seals of the place that has it; InvalidInput where none has."""
    from onrecord.adapters.seals.checkpoints import ShardSeals
    from onrecord.adapters.seals.places import place_at
    from onrecord.adapters.seals.store_seals import places_of
    from onrecord.adapters.seals.trust import trusted_keys

    keys = trusted_keys(settings().seals).keys
    kept = [ShardSeals(place_at(url), log_id, shard, keys) for url in places_of(settings().seals)]
    for seals in kept:
        sealed = seals.last() if size is None else seals.at(size)
        if sealed is not None:
            return sealed, seals
    if size is None:
        raise InvalidInput(f"no checkpoint of shard {shard} is there: `onrecord seal` makes one")
    raise InvalidInput(
        f"no checkpoint of size {size:,} of shard {shard} is there: {_sizes_said(kept, size)}"
    )


def _sizes_said(kept: list[ShardSeals], size: int) -> str:
    """Say which sizes have a checkpoint: those that are nearest to a size, if there are many."""
    sizes = {there for seals in kept for there in seals.sizes()}
    if not sizes:
        return "the shard was never sealed"
    nearest = sorted(sorted(sizes, key=lambda there: abs(there - size))[:_SIZES])
    listed = ", ".join(f"{there:,}" for there in nearest)
    return f"the {'nearest' if len(sizes) > _SIZES else 'only'} sizes that were sealed are {listed}"


def _is_beside(file: Path, url: str) -> bool:
    """Whether a file lies in the folder of an SQLite database."""
    from onrecord.adapters.storage.sqlite.url import path_of

    return url.startswith("sqlite:") and path_of(url).resolve().parent == file.resolve().parent


def _warn_unpinned() -> None:
    """Say that those who check do not believe what was just signed, where that is so."""
    from onrecord.adapters.seals.key_files import read_key_file
    from onrecord.adapters.seals.trust import pinned_keys

    known = settings().seals
    if known.key is None or not (pinned := pinned_keys(known)):
        return
    own = read_key_file(known.key).public
    if own not in pinned:
        output.note(
            f"onrecord: the key that signed is not among those in ONRECORD_SEAL_VKEY, so `onrecord verify` "
            f"does not believe it: add {own}"
        )


def _log_id(store: Store) -> UUID:
    from onrecord.domain.seals.checkpoint import log_id_of

    if store.url.startswith(("http://", "https://")):
        raise InvalidInput("a log is sealed where it is: give the URL of the service's own store")
    return log_id_of(backend_of(store).digest)


def _places() -> list[str]:
    from onrecord.adapters.seals.places import place_at

    return [str(place_at(each)) for each in settings().seals.places]


def _row(sealed: SealedCheckpoint, places: list[str]) -> tuple[Cell, ...]:
    checkpoint = sealed.checkpoint
    return (
        checkpoint.shard,
        checkpoint.size,
        str(checkpoint.root),
        checkpoint.sealed_at,
        " ".join(places),
    )


def _document(sealed: SealedCheckpoint, places: list[str]) -> dict[str, object]:
    checkpoint = sealed.checkpoint
    return {
        "log": str(checkpoint.log_id),
        "shard": checkpoint.shard,
        "size": checkpoint.size,
        "root": str(checkpoint.root),
        "incarnation": str(checkpoint.incarnation),
        "sealed_at": timestamp(checkpoint.sealed_at),
        "places": places,
    }
