"""`onrecord retention`: how long conversations are kept behind their last event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, TypedDict
from uuid import UUID

import typer

from onrecord.adapters.cli.program import AsJson, Command, Url, acting_name, age_given, opened
from onrecord.adapters.cli.retention.options import Actor, KeyIfAny, Why, new_group
from onrecord.adapters.store import backend_of
from onrecord.adapters.streams.lineage import keys_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.output import named
from onrecord.adapters.terminal.retention_listings import (
    CLASS_COLUMNS,
    class_document,
    class_row,
    class_target,
)
from onrecord.adapters.terminal.tables import show_rows

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.domain.operators import RetentionClass

Label = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[=VALUE]",
        help="Of the conversations that were annotated so.",
        show_default=False,
    ),
]
retention: Final = new_group()


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


@dataclass(frozen=True, slots=True)
class _Target:
    """What a class is of: a conversation, a label with its value or with any, or the tenant."""

    key: str | None
    label: str | None
    value: str | None

    def names(self, store: Store) -> _Named:
        """Return how a store names it."""
        which = None if self.key is None else named(store, self.key).conversation_id
        return {"which": which, "label": self.label, "value": self.value}

    def __str__(self) -> str:
        """Return it as `onrecord retention list` shows it."""
        if self.key is not None:
            return self.key
        return "all" if self.label is None else "=".join(filter(None, (self.label, self.value)))


class _Named(TypedDict):
    which: UUID | None
    label: str | None
    value: str | None


def _target_given(key: str | None, label: str | None) -> _Target:
    if key is not None and label is not None:
        raise typer.BadParameter(
            "a class is of a conversation or of a label: leave one of them out"
        )
    name, equals, value = (label or "").partition("=")
    return _Target(key, name or None, value if equals else None)


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
    class_, target = _class_given(keep), _target_given(key, label)
    with opened(context, url, made=key is None) as store:
        entry = store.retention.set_class(
            class_, rule=rule, actor=acting_name(actor), **target.names(store)
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
    target = _target_given(key, label)
    with opened(context, url) as store:
        names = target.names(store)
        is_new = store.retention.clear_class(reason=reason, actor=acting_name(actor), **names)
    if as_json:
        which = names.get("which")
        conversation = None if which is None else str(which)
        named_so = {"label": target.label, "value": target.value}
        output.json_line({"conversation": conversation, **named_so, "cleared": is_new})
    else:
        output.sentence(
            f"{target}: {'the class is taken back' if is_new else 'there was no class; nothing changed'}."
        )


@retention.command(name="list", cls=Command)
def list_classes(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """List the retention classes of the tenant, of labels and of conversations.

    Piped: of what, the class, the rule that it follows, when it was set, by whom.
    """
    with opened(context, url) as store:
        found = store.retention.classes()
        of = (entry.fact.conversation_id for entry in found)
        keys = keys_of(backend_of(store), filter(None, of))
    if as_json:
        for entry in found:
            output.json_line(class_document(entry))
    else:
        show_rows(CLASS_COLUMNS, [class_row(entry, keys) for entry in found])
