"""`onrecord keys`: the keys of `onrecord serve`. `kek`, `rotate-keys`: those of an encrypted log."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID

import typer

from onrecord.adapters.cli.program.application import Command, CommandGroup
from onrecord.adapters.cli.program.options import AsJson, Url
from onrecord.adapters.cli.program.stores import acting_name, open_store
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.domain.errors import InvalidInput, counted
from onrecord.domain.header import microseconds_of, timestamp

if TYPE_CHECKING:
    from onrecord.domain.log import Backend
    from onrecord.domain.operators import KeyRole
    from onrecord.projections.history.key_records import KeyEntry

_COLUMNS: Final = (
    *(Column("id", Kind.KEY), Column("name", Kind.NAME), Column("role"), Column("tenants")),
    *(Column("status"), Column("issued", Kind.TIME), Column("issued by", Kind.NAME)),
    *(Column("expires"), Column("used", Kind.TIME)),
)
_DAYS: Final = re.compile(r"([1-9][0-9]{0,4})d", re.ASCII)
_ALL: Final = "all"
_ONE: Final = "one"


def _expiry(text: str) -> datetime:
    """Return when a key expires: so many days from now, or a day or a time, in UTC without a zone."""
    if days := _DAYS.fullmatch(text):
        return datetime.now(UTC) + timedelta(days=int(days[1]))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time: write 90d, 2027-03-31 or 2027-03-31T09:30"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _keeping(store: Store) -> Backend:
    """Return the log of a store that keeps its own keys; InvalidInput for that of a service."""
    if store.url.startswith(("http://", "https://")):
        raise InvalidInput(
            "keys are made and revoked where the log is: give the URL of the service's own store"
        )
    return backend_of(store)


def _role(text: str) -> KeyRole:
    match text:
        case "read" | "write" | "operate":
            return text
        case _:
            raise typer.BadParameter(f"{text!r} is not one of read, write, operate.")


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter("an id is a UUID: `onrecord keys list` shows them") from None


def _tenant(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter("a tenant is a UUID") from None


Tenant = Annotated[
    UUID | None,
    typer.Option(
        metavar="UUID",
        parser=_tenant,
        help="Whose keys.",
        show_default="$ONRECORD_TENANT, else none",
    ),
]
Actor = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Who does it; this is kept for good.",
        show_default="$ONRECORD_ACTOR, else who is logged in",
    ),
]


keys: Final = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@keys.callback()
def remember(context: typer.Context, url: Url = None) -> None:
    """Issue, list and revoke the keys of `onrecord serve`.

    Each request to the server needs a key, from the first one on that is issued. A key is for one
    tenant and one role. Who issued and revoked it is recorded for good.

    Example: `onrecord keys issue "the support runtime" --expires 90d`
    """
    context.obj = url or context.obj


@keys.command(cls=Command)
def issue(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Who or what the key is for; this is kept for good.")],
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            parser=_role,
            help="`read`; `write`, which reads too; or `operate`, which does all.",
        ),
    ] = "write",
    tenant: Tenant = None,
    all_tenants: Annotated[
        bool,
        typer.Option("--all-tenants", help="Let it name any tenant; only with --role operate."),
    ] = False,
    expires: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            parser=_expiry,
            help="When it expires: `90d`, or a day or a time in UTC.",
            show_default="never",
        ),
    ] = None,
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Issue a key, and print it once: the store keeps only a hash of its secret.

    Piped: the key, and nothing else.

    Example: `onrecord keys issue "the support runtime" --role read --expires 90d`
    """
    from onrecord.adapters.upkeep.keys import issue_key

    with open_store(context, url, create=True) as store:
        key = issue_key(
            _keeping(store),
            tenant or store.tenant,
            name,
            actor=acting_name(actor),
            role=_role(role),
            all_tenants=all_tenants,
            expires_at=None if expires is None else microseconds_of(expires),
        )
    if as_json:
        output.json_line({"id": str(key.key_id), "key": key.token})
        return
    output.sentence(key.token)
    output.note("This key cannot be shown again. A program sends it as `Authorization: Bearer`.")
    if expires is None:
        of_tenant = f" --tenant {tenant}" if tenant else ""
        revoke = f"onrecord keys revoke {key.key_id}{of_tenant}"
        output.note(f"It never expires: `{revoke}` takes it back.")


@keys.command(name="list", cls=Command)
def list_(
    context: typer.Context,
    tenant: Tenant = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the keys of a tenant: whose they are, what they may do, and when they were used last.

    A use is noted once an hour at most. Piped: id, name, role, `one` or `all` tenants, `valid`,
    `expired` or `revoked`, when it was issued, by whom, when it expires, when it was used last.

    Example: `onrecord keys list`
    """
    from onrecord.adapters.upkeep.keys import moment, service_keys

    with open_store(context, url) as store:
        listed = list(service_keys(_keeping(store), tenant or store.tenant))
    now = moment()
    if as_json:
        for entry in listed:
            output.json_line(_document(entry, now))
    else:
        show_rows(_COLUMNS, [_row(entry, now) for entry in listed])


@keys.command(cls=Command)
def revoke(
    context: typer.Context,
    id_: Annotated[
        str, typer.Argument(metavar="ID", help="The key's id: `onrecord keys list` shows it.")
    ],
    reason: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Why; this is kept for good.", show_default="you are asked"
        ),
    ] = None,
    tenant: Tenant = None,
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Take a key back, for good. Servers refuse it within five seconds.

    Example: `onrecord keys revoke 4f4e524b-5482-8efd-a31c-4e1331d6f8c6 --reason "lost"`
    """
    from onrecord.adapters.upkeep.keys import revoke_key

    key = _id(id_)
    with open_store(context, url) as store:
        because = _reason() if reason is None else reason
        is_new = revoke_key(
            _keeping(store), tenant or store.tenant, key, reason=because, actor=acting_name(actor)
        )
    if as_json:
        output.json_line({"id": str(key), "revoked": is_new})
    elif is_new:
        output.sentence(f"{key} is revoked.")
    else:
        output.sentence(f"{key} was revoked before; nothing changed.")


def _reason() -> str:
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is there to ask why: say it with --reason")
    reason: str = typer.prompt("Why? (it is kept for good, so name nobody)", err=True)
    return reason


def _row(entry: KeyEntry, now: int) -> tuple[Cell, ...]:
    issued = entry.issued
    return (
        str(entry.key_id),
        issued.name,
        issued.role,
        _ALL if issued.all_tenants else _ONE,
        entry.status(now),
        issued.at,
        issued.actor,
        None if issued.expires_at is None else timestamp(issued.expires_at),
        entry.used_at,
    )


def _document(entry: KeyEntry, now: int) -> dict[str, object]:
    issued, revocation = entry.issued, entry.revocation
    return {
        "id": str(entry.key_id),
        "name": issued.name,
        "role": issued.role,
        "tenant": str(issued.tenant),
        "all_tenants": issued.all_tenants,
        "status": entry.status(now),
        "issued_at": timestamp(issued.at),
        "issued_by": issued.actor,
        "expires_at": _time(issued.expires_at),
        "used_at": _time(entry.used_at),
        "revoked_at": None if revocation is None else timestamp(revocation.at),
        "revoked_by": None if revocation is None else revocation.actor,
        "reason": None if revocation is None else revocation.reason,
    }


def _time(moment: int | None) -> str | None:
    return None if moment is None else timestamp(moment)


def kek(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
    as_json: AsJson = False,
) -> None:
    """Make a key-encryption key for an encrypted log, in FILE, which only you may read.

    The keys of subjects are wrapped under it in the key store. Whoever has both reads the log, and without
    either nobody does. So keep FILE and the key store apart from each other, from the log, and from its backups.
    Piped: the name of its generation.

    Example: `onrecord kek ~/onrecord-kek/kek`
    """
    from onrecord.adapters.encryption.key_file import new_key_file

    generation = new_key_file(file).current()
    if as_json:
        output.json_line({"file": str(file), "generation": generation})
        return
    output.sentence(generation)
    output.note(
        f"Set ONRECORD_KEK={file.absolute()} and ONRECORD_KEYS to where the keys are to be."
    )
    output.note("Both are as precious as the log: back them up apart from it, and from each other.")


def rotate_keys(
    context: typer.Context,
    finish: Annotated[
        bool,
        typer.Option(
            "--finish", help="Do what is left of one that was begun; the new key is there already."
        ),
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Wrap the keys of an encrypted log under a new key-encryption key, and retire those before.

    No event changes. Backups of the key store and of the key-encryption key from before no longer serve: back
    both up anew, and copy a key file to the other machines that use it. Where the key is in the environment,
    put the new one before the others, then use --finish.

    Example: `onrecord rotate-keys`
    """
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog

    with open_store(context, url) as store:
        log = backend_of(store)
        if not isinstance(log, EncryptedLog) or log.keys is None:
            raise InvalidInput("no keys are named: set ONRECORD_KEYS and ONRECORD_KEK")
        done = log.keys.finish() if finish else log.keys.rotate()
    if done.retired:
        output.note(log.keys.backups_due(done.undoable_until))
    until = None if done.undoable_until is None else timestamp(done.undoable_until)
    if as_json:
        members = {"rewrapped": done.rewrapped, "retired": list(done.retired)}
        output.json_line({**members, "undoable_until": until})
        return
    output.sentence(
        f"{counted(done.rewrapped, 'key')} wrapped anew, {counted(len(done.retired), 'generation')} retired."
    )
    if until is not None:
        output.note(f"The owner of the KMS can bring them back until {until}.")
