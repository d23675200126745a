"""The commands that read views: their arguments and their help; viewing.py says what they show."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from onrecord.adapters.cli.commands.options import AsJson, Key, Url
from onrecord.adapters.cli.commands.program import opened

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.reading import Views
    from onrecord.projections.views.usage import ModelUsage


def _time(text: str | None) -> datetime | None:
    """Return a time; one without a zone is meant in UTC."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time: write 2026-11-21 or 2026-11-21T09:30"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day: write 2026-11-21") from None


Limit = Annotated[int, typer.Option(min=1, max=1_000, metavar="N", help="At most so many.")]
After = Annotated[
    str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")
]
_SINCE = "From then on: a day or a time, in UTC unless it says otherwise."
Since = Annotated[str | None, typer.Option(metavar="TIME", help=_SINCE)]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Before then.")]
Conversation = Annotated[
    str | None,
    typer.Option(
        "--conversation", "-c", metavar="KEY", help="In this one only: its key, or its id."
    ),
]
Actor = Annotated[str | None, typer.Option(metavar="NAME", help="By whom: as ONRECORD_ACTOR was.")]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="Of this model only.")]
Tool = Annotated[str | None, typer.Option(metavar="NAME", help="Of this tool only.")]


def meant(store: Store, name: str | None) -> UUID | None:
    """Return the conversation that is meant by a key or by an id: a key may look like one."""
    from onrecord.adapters.cli.output import named

    return None if name is None else named(store, name).conversation_id


def overview(
    context: typer.Context,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="This one only.")] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="API", help="In which this API answered.")
    ] = None,
    model: Model = None,
    actor: Actor = None,
    closed: Annotated[
        bool | None,
        typer.Option("--closed/--open", help="Closed ones only, or those that are not."),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show conversations at a glance: how each begins, who took part, what it came to.

    Piped: key, title, exchanges, tool calls, tokens, models, time of the last event.

    Example: `onrecord overview --model claude-sonnet-5 --since 2026-11-01`
    """
    from onrecord.adapters.cli.views import OVERVIEW, shown

    filters = {"key": key, "provider": provider, "model": model, "actor": actor}
    with opened(context, url) as store:
        shown(
            store,
            OVERVIEW,
            lambda views: views.conversations(
                **filters,
                closed=closed,
                since=_time(since),
                until=_time(until),
                limit=limit,
                after=after,
            ),
            as_json=as_json,
        )


def search(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(help='Words; "in quotes" one behind the other; -not this.')
    ],
    conversation: Conversation = None,
    role: Annotated[
        str | None, typer.Option(metavar="WHO", help="Said by: user, assistant, tool, ...")
    ] = None,
    tool: Tool = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Find what was said, what tools were asked and what they gave; the latest first.

    All words must occur. Piped: key, version, time, said by, tool, text around the first word.

    Example: `onrecord search '"depot north" -parcel'`
    """
    from onrecord.adapters.cli.views import HITS, shown

    with opened(context, url) as store:
        shown(
            store,
            HITS,
            lambda views: views.search(
                text,
                conversation=meant(store, conversation),
                role=role,
                tool=tool,
                since=_time(since),
                until=_time(until),
                limit=limit,
                after=after,
            ),
            as_json=as_json,
        )


def audit(
    context: typer.Context,
    conversation: Conversation = None,
    actor: Actor = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Such as `tool_call.recorded`.")
    ] = None,
    model: Model = None,
    tool: Tool = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what and when, with which model or tool, and nothing of what was said.

    Erasures too: who and why, how much, and which forks stay. Piped: time, first digits of the
    actor's keyed digest, key, version, type, model, tool, what an erasure says.

    Example: `onrecord audit --actor ann --since 2026-11-01`
    """
    from onrecord.adapters.cli.views import DEEDS, shown

    with opened(context, url) as store:
        shown(
            store,
            DEEDS,
            lambda views: views.audit(
                conversation=meant(store, conversation),
                actor=actor,
                type=type_,
                model=model,
                tool=tool,
                since=_time(since),
                until=_time(until),
                limit=limit,
                after=after,
            ),
            as_json=as_json,
        )


def usage(
    context: typer.Context,
    api: Annotated[str | None, typer.Option(metavar="API", help="Of this API only.")] = None,
    model: Model = None,
    since: Annotated[str | None, typer.Option(metavar="DAY", help="From that day on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Before that day.")] = None,
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What tokens cost.", show_default="$ONRECORD_PRICES"),
    ] = None,
    total: Annotated[bool, typer.Option("--total", help="All those days together.")] = False,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the tokens that each model used, day by day (UTC), the last day first.

    Piped: day, API, model, responses, tokens in, tokens out, of those in: read from a cache, written
    to one; of those out: reasoning; dollars, where the model has a price (docs/views.md).

    Example: `onrecord usage --since 2026-11-01 --total`
    """
    from onrecord.adapters.cli.views import shown, usage_listing
    from onrecord.adapters.settings import prices_given

    if total and after is not None:
        raise typer.BadParameter("--total shows all at once: leave --after out.")
    first, last = _day(since), _day(until)
    listing = usage_listing(prices_given(prices))

    def asked(views: Views) -> Page[ModelUsage]:
        if total:
            return views.usage_total(api=api, model=model, since=first, until=last)
        return views.usage(api=api, model=model, since=first, until=last, limit=limit, after=after)

    with opened(context, url) as store:
        shown(store, listing, asked, as_json=as_json)


def calls(
    context: typer.Context,
    conversation: Conversation = None,
    name: Annotated[str | None, typer.Option(metavar="TOOL", help="Of this tool only.")] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="`tool`, or `server tool`: a provider's own.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(metavar="STATUS", help="open, unawaited, done, failed or cancelled."),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option("--arguments", metavar="SHA256", help="With arguments of this digest."),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the calls of tools: what each was asked, what it gave, how long that took.

    Piped: time, key, version, tool, status, seconds, arguments, result.

    Example: `onrecord calls --status failed --since 2026-11-21`
    """
    from onrecord.adapters.cli.views import CALLS, shown

    with opened(context, url) as store:
        shown(
            store,
            CALLS,
            lambda views: views.tool_calls(
                conversation=meant(store, conversation),
                name=name,
                kind=kind,
                status=status,
                arguments_digest=digest,
                since=_time(since),
                until=_time(until),
                limit=limit,
                after=after,
            ),
            as_json=as_json,
        )


def window(
    context: typer.Context,
    key: Key,
    exchanges: Annotated[
        int, typer.Option(min=1, max=1_000, metavar="N", help="The last so many.")
    ] = 20,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the last exchanges of a conversation: what was asked, and what was answered last.

    Piped: number, version of the prompt, time, tool calls, tokens, prompt, answer; the latest first.

    Example: `onrecord window support/4711 --exchanges 5`
    """
    from onrecord.adapters.cli.output import named
    from onrecord.adapters.cli.views import EXCHANGES, shown

    with opened(context, url) as store:
        found = named(store, key).conversation_id
        shown(
            store,
            EXCHANGES,
            lambda views: views.window(found, exchanges=exchanges, after=after),
            as_json=as_json,
        )
