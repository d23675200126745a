"""`onrecord holds`: what nobody may erase until somebody says so."""

from __future__ import annotations

from typing import Annotated, Final
from uuid import UUID

import typer

from onrecord.adapters.cli.program import AsJson, Command, Url, acting_name, opened
from onrecord.adapters.cli.retention.options import Actor, KeyIfAny, Why, new_group
from onrecord.adapters.store import backend_of
from onrecord.adapters.streams.lineage import keys_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.output import named
from onrecord.adapters.terminal.retention_listings import HOLD_COLUMNS, hold_document, hold_row
from onrecord.adapters.terminal.tables import show_rows

holds: Final = new_group()


@holds.callback()
def of_holds(context: typer.Context, url: Url = None) -> None:
    """Place, list and lift legal holds: what one keeps is not erased, whoever asks.

    Who placed and lifted it, when and why is recorded for good.

    Example: `onrecord holds place support/4711 --matter "Smith v. Example" --reason "claim of 3 March"`
    """
    context.obj = url or context.obj


@holds.command(cls=Command)
def place(
    context: typer.Context,
    key: KeyIfAny = None,
    matter: Annotated[
        str, typer.Option(metavar="NAME", help="The case; this is kept for good.")
    ] = ...,  # type: ignore[assignment]
    reason: Why = ...,  # type: ignore[assignment]
    everything: Annotated[
        bool, typer.Option("--all", help="Keep all conversations of the tenant.")
    ] = False,
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Place a legal hold on a conversation, or on all of them.

    Piped: the id of the hold.

    Example: `onrecord holds place support/4711 --matter "Smith v. Example" --reason "claim of 3 March"`
    """
    if (key is None) != everything:
        raise typer.BadParameter("name a conversation, or say --all")
    with opened(context, url, made=everything) as store:
        which = None if key is None else named(store, key).conversation_id
        hold = store.retention.place_hold(
            which, matter=matter, reason=reason, actor=acting_name(actor)
        )
    if as_json:
        output.json_line(hold_document(hold))
    else:
        output.sentence(str(hold.hold_id))


@holds.command(name="list", cls=Command)
def list_holds(
    context: typer.Context,
    key: KeyIfAny = None,
    lifted: Annotated[
        bool, typer.Option("--lifted", help="List those too that were lifted.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the legal holds in force: all, or those that keep one conversation.

    Piped: id, matter, what it is on, when it was placed, by whom, why, when it was lifted.
    """
    with opened(context, url) as store:
        which = None if key is None else named(store, key).conversation_id
        found = store.retention.holds(which, lifted=lifted)
        keys = keys_of(backend_of(store), filter(None, (hold.conversation_id for hold in found)))
    if as_json:
        for hold in found:
            output.json_line(hold_document(hold))
    else:
        show_rows(HOLD_COLUMNS, [hold_row(hold, keys) for hold in found])


@holds.command(cls=Command)
def lift(
    context: typer.Context,
    id_: Annotated[
        str, typer.Argument(metavar="ID", help="The hold's id: `onrecord holds list` shows it.")
    ],
    reason: Why,
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Lift a legal hold, for good.

    Example: `onrecord holds lift 4f4e5248-5482-8efd-a31c-4e1331d6f8c6 --reason "settled"`
    """
    try:
        hold = UUID(id_)
    except ValueError:
        raise typer.BadParameter("an id is a UUID: `onrecord holds list` shows them") from None
    with opened(context, url) as store:
        is_new = store.retention.lift_hold(hold, reason=reason, actor=acting_name(actor))
    if as_json:
        output.json_line({"id": str(hold), "lifted": is_new})
    else:
        output.sentence(
            f"{hold} {'is lifted' if is_new else 'was lifted before; nothing changed'}."
        )
