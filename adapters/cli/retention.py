"""`onrecord holds`, `retention`, `expire`, and `forget` of many: what is kept, and what goes when."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final, TypedDict
from uuid import UUID

import typer

from onrecord.adapters.cli.program.application import Command, CommandGroup
from onrecord.adapters.cli.program.options import AsJson, Url, age_given
from onrecord.adapters.cli.program.stores import acting_name, open_store
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.store import backend_of
from onrecord.adapters.streams.lineage import keys_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.retention_listings import (
    CLASS_COLUMNS,
    HOLD_COLUMNS,
    class_document,
    class_row,
    class_target,
    disposition_writer,
    hold_document,
    hold_row,
    note_summary,
    show_due,
)
from onrecord.adapters.terminal.tables import show_rows
from onrecord.domain.errors import InvalidInput

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.adapters.upkeep.dispositions import DispositionResult
    from onrecord.domain.operators import RetentionClass

Actor = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Who does it; this is kept for good.",
        show_default="$ONRECORD_ACTOR, else who is logged in",
    ),
]
Why = Annotated[str, typer.Option(metavar="TEXT", help="Why; this is kept for good.")]
KeyIfAny = Annotated[
    str | None,
    typer.Argument(help="The conversation's key or its id.", show_default="all"),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[=VALUE]",
        help="Of the conversations that were annotated so.",
        show_default=False,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="List what would go and what a hold keeps; erase nothing.")
]

_GROUP: Final = {
    "cls": CommandGroup,
    "no_args_is_help": True,
    "rich_markup_mode": "markdown",
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
holds: Final = typer.Typer(**_GROUP)  # type: ignore[arg-type]
retention: Final = typer.Typer(**_GROUP)  # type: ignore[arg-type]


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
    with open_store(context, url, create=everything) as store:
        which = None if key is None else require_conversation(store, key).conversation_id
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
    with open_store(context, url) as store:
        which = None if key is None else require_conversation(store, key).conversation_id
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
    with open_store(context, url) as store:
        is_new = store.retention.lift_hold(hold, reason=reason, actor=acting_name(actor))
    if as_json:
        output.json_line({"id": str(hold), "lifted": is_new})
    else:
        output.sentence(
            f"{hold} {'is lifted' if is_new else 'was lifted before; nothing changed'}."
        )


@retention.callback()
def of_retention(context: typer.Context, url: Url = None) -> None:
    """Set and list retention classes: how long conversations are kept behind their last event.

    A class is a deadline for `onrecord expire`, not a hold: `onrecord forget` erases before it. Who set a class, when, and which rule it follows is recorded
    for good.

    Example: `onrecord retention set six-months --rule "EU AI Act 19(1)"`
    """
    context.obj = url or context.obj


def _class_given(text: str) -> RetentionClass:
    if text[:1].isdigit():
        return age_given(text).days
    match text:
        case "six-months" | "six-years" | "unlimited":
            return text
        case _:
            raise typer.BadParameter(
                f"{text!r} is not one of six-months, six-years, unlimited, and no number of days (400d)."
            )


class _Target(TypedDict):
    which: UUID | None
    label: str | None
    value: str | None


def _target(store: Store, key: str | None, label: str | None) -> _Target:
    """Return what a class is of: a conversation, a label with its value or with any, or the tenant."""
    which = None if key is None else require_conversation(store, key).conversation_id
    name, equals, value = (label or "").partition("=")
    return {"which": which, "label": name or None, "value": value if equals else None}


def _must_be_one(key: str | None, label: str | None) -> None:
    if key is not None and label is not None:
        raise typer.BadParameter("a class is of a conversation or of a label: leave one out")


@retention.command(name="set", cls=Command)
def set_(
    context: typer.Context,
    keep: Annotated[
        str,
        typer.Argument(
            metavar="CLASS", help="`six-months`, `six-years`, `unlimited`, or days: `400d`."
        ),
    ],
    key: KeyIfAny = None,
    rule: Annotated[
        str, typer.Option(metavar="TEXT", help="Which rule it follows; this is kept for good.")
    ] = ...,  # type: ignore[assignment]
    label: Label = None,
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Set the retention class of the tenant, of a conversation, or of a label.

    That of the conversation counts before that of a label, and that before the tenant's. It is a
    deadline for `onrecord expire`: only a legal hold keeps a conversation from `onrecord forget`.

    Example: `onrecord retention set six-years --label category=health --rule "HIPAA 164.316(b)(2)"`
    """
    class_ = _class_given(keep)
    _must_be_one(key, label)
    with open_store(context, url, create=key is None) as store:
        entry = store.retention.set_class(
            class_, rule=rule, actor=acting_name(actor), **_target(store, key, label)
        )
        keys = keys_of(backend_of(store), filter(None, (entry.fact.conversation_id,)))
    if as_json:
        output.json_line(class_document(entry))
    else:
        output.sentence(f"{class_target(entry, keys)}: {entry}.")


@retention.command(cls=Command)
def clear(
    context: typer.Context,
    key: KeyIfAny = None,
    reason: Why = ...,  # type: ignore[assignment]
    label: Label = None,
    actor: Actor = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Take the retention class of the tenant, of a conversation, or of a label back.

    A conversation goes by the class of a label or the tenant then. What has none does not expire.

    Example: `onrecord retention clear support/4711 --reason "set by mistake"`
    """
    _must_be_one(key, label)
    with open_store(context, url) as store:
        of = _target(store, key, label)
        is_new = store.retention.clear_class(reason=reason, actor=acting_name(actor), **of)
    if as_json:
        conversation = None if of["which"] is None else str(of["which"])
        named_so = {"label": of["label"], "value": of["value"]}
        output.json_line({"conversation": conversation, **named_so, "cleared": is_new})
    else:
        done = "the class is taken back" if is_new else "there was no class; nothing changed"
        output.sentence(f"{key or label or 'all'}: {done}.")


@retention.command(name="list", cls=Command)
def list_classes(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """List the retention classes of the tenant, of labels and of conversations.

    Piped: of what, the class, the rule that it follows, when it was set, by whom.
    """
    with open_store(context, url) as store:
        found = store.retention.classes()
        of = (entry.fact.conversation_id for entry in found)
        keys = keys_of(backend_of(store), filter(None, of))
    if as_json:
        for entry in found:
            output.json_line(class_document(entry))
    else:
        show_rows(CLASS_COLUMNS, [class_row(entry, keys) for entry in found])


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
    with open_store(context, url) as store:
        if dry_run:
            show_due(store.retention.due(expired=True), as_json=as_json)
            return
        with output.progress_of("Expiring") as progress:
            done = store.retention.expire(
                archive,
                actor=acting_name(actor),
                each=disposition_writer(as_json=as_json),
                progress=progress,
            )
    _end(done, as_json=as_json)


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
        show_due(store.retention.due(**asdict(query)), as_json=as_json)
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
    _end(done, as_json=as_json)


def _end(done: DispositionResult, *, as_json: bool) -> None:
    note_summary(done, as_json=as_json)
    if done.left:
        raise typer.Exit(1)
