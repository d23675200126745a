"""`onrecord approvals`, `approve`, `deny`: calls of tools that wait for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from onrecord.adapters.cli.program import AsJson, Key, Url, acting_name, opened
from onrecord.adapters.store import Store
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.output import named
from onrecord.domain import jsontext
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from onrecord.adapters.conversation.approvals import PendingApproval

Call = Annotated[str, typer.Argument(help="The id of the call, as `onrecord approvals` shows it.")]
Actor = Annotated[
    str | None,
    typer.Option(help="Who decides.", show_default="$ONRECORD_ACTOR, else who is logged in"),
]


def approvals(
    context: typer.Context,
    key: Annotated[
        str | None, typer.Argument(help="Of this conversation only: its key or its id.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the calls of tools that wait until a person grants or denies them.

    Piped: key, id of the call, tool, arguments, since when, `unsure` where it may have been made.

    Example: `onrecord approvals`
    """
    with opened(context, url) as store:
        for of_key, pending in _pending(store, key):
            if as_json:
                output.json_line(_document(of_key, pending))
            elif output.is_drawn():
                output.sentence(output.flat(_sentence(of_key, pending)))
            else:
                output.plain(*_columns(of_key, pending))


def approve(
    context: typer.Context,
    key: Key,
    call: Call,
    reason: Annotated[str | None, typer.Option(help="Why, in words.")] = None,
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Let a call of a tool be made, once: the next run of its `ToolRunner` makes it.

    Example: `onrecord approve support/4711 toolu_1 --reason "a known customer"`
    """
    with opened(context, url) as store:
        conversation = store.conversation(named(store, key).require_key())
        conversation.approve(call, reason=reason, actor=acting_name(actor))
        _report(call, "granted", as_json=as_json)


def deny(
    context: typer.Context,
    key: Key,
    call: Call,
    reason: Annotated[str, typer.Option(help="Why, in words: the model reads it.")],
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Let a call of a tool not be made: its result says so, and why.

    Example: `onrecord deny support/4711 toolu_1 --reason "too much"`
    """
    with opened(context, url) as store:
        conversation = store.conversation(named(store, key).require_key())
        conversation.deny(call, reason=reason, actor=acting_name(actor))
        _report(call, "denied", as_json=as_json)


def _pending(store: Store, key: str | None) -> Iterator[tuple[str, PendingApproval]]:
    """Yield what waits in one conversation, or in all that have open calls."""
    if key is None:
        keys = [
            listed.key
            for listed in store.conversations()
            if listed.key is not None and not listed.head.closed
        ]
    else:
        keys = [named(store, key).require_key()]
    return ((of, each) for of in keys for each in store.conversation(of).approvals())


def _report(call: str, decision: str, *, as_json: bool) -> None:
    if as_json:
        output.json_line({"call": call, "decision": decision})
    else:
        output.sentence(output.flat(f"The call {call} is {decision}."))


def _sentence(key: str, pending: PendingApproval) -> str:
    arguments = jsontext.write(pending.call.arguments).decode()
    doubt = " It was begun, and nobody knows whether it was made." if pending.unsure else ""
    asked = f"{key}: {pending.call.name} {arguments}, call {pending.call.id}"
    return f"{asked}, since {output.moment(pending.requested_at)}.{doubt}"


def _columns(key: str, pending: PendingApproval) -> tuple[object, ...]:
    call = pending.call
    arguments = jsontext.write(call.arguments).decode()
    doubt = "unsure" if pending.unsure else ""
    return key, call.id, call.name, arguments, timestamp(pending.requested_at), doubt


def _document(key: str, pending: PendingApproval) -> dict[str, object]:
    return {
        "key": key,
        "call": pending.call.id,
        "tool": pending.call.name,
        "arguments": pending.call.arguments,
        "requested_at": timestamp(pending.requested_at),
        "unsure": pending.unsure,
    }
