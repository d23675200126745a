"""The commands that read views: `overview`, `search`, `in-force`, `usage`."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onrecord.adapters.cli.program.options import (
    Actor,
    After,
    AsJson,
    ConversationOption,
    Deployment,
    Limit,
    Model,
    Policy,
    Since,
    Tool,
    Until,
    Url,
)
from onrecord.adapters.cli.program.shown_pages import show_page
from onrecord.adapters.terminal.view_listings import HITS, IN_FORCE, OVERVIEW, usage_listing

if TYPE_CHECKING:
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.reading import Views
    from onrecord.projections.views.usage import ModelUsage


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day: write 2026-11-21") from None


def overview(
    context: typer.Context,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="This conversation only.")] = None,
    provider: Annotated[
        str | None,
        typer.Option(metavar="API", help="Only conversations in which this API answered."),
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
    """Show conversations at a glance: title, participants, counts.

    Piped: key, title, exchanges, tool calls, tokens, models, time of the last event,
    names of the actors.

    Example: `onrecord overview --model claude-sonnet-5 --since 2026-11-01`
    """
    filters = {"key": key, "provider": provider, "model": model, "actor": actor}
    show_page(
        context,
        url,
        OVERVIEW,
        lambda views, _: views.conversations(
            **filters, closed=closed, since=since, until=until, limit=limit, after=after
        ),
        as_json=as_json,
    )


def search(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help='Words; "a phrase in quotes"; -not this.')],
    conversation: ConversationOption = None,
    role: Annotated[
        str | None, typer.Option(metavar="WHO", help="Who said it: user, assistant, tool, ...")
    ] = None,
    tool: Tool = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Search messages, calls of tools and their results; the latest first.

    All words must occur. Piped: key, version, time, said by, tool, text around the first word.

    Example: `onrecord search '"depot north" -parcel'`
    """
    show_page(
        context,
        url,
        HITS,
        lambda views, id_of: views.search(
            text,
            conversation=id_of(conversation),
            role=role,
            tool=tool,
            since=since,
            until=until,
            limit=limit,
            after=after,
        ),
        as_json=as_json,
    )


def in_force(
    context: typer.Context,
    policy: Policy = None,
    deployment: Deployment = None,
    instructions: Annotated[
        str | None, typer.Option(metavar="SHA256", help="Where these instructions were set.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="SHA256", help="Where these tools were declared.")
    ] = None,
    capabilities: Annotated[
        str | None, typer.Option(metavar="SHA256", help="Where requests were rendered by these.")
    ] = None,
    model: Model = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show which conversations ran under a rule.

    Give one of `--policy`, `--deployment`, `--instructions`, `--tools`, `--capabilities`, `--model`.
    The digests are `sha256` of `onrecord audit --json`. Piped: key, events that name the rule, the
    versions and the times of the first and the last of them.

    Example: `onrecord in-force --policy 2026-11`
    """
    rules = {"policy": policy, "deployment": deployment, "model": model}
    digests = {"instructions": instructions, "tools": tools, "capabilities": capabilities}
    if sum(rule is not None for rule in (*rules.values(), *digests.values())) != 1:
        raise typer.BadParameter(f"give one of --{', --'.join(rules | digests)}")
    show_page(
        context,
        url,
        IN_FORCE,
        lambda views, _: views.in_force(
            **rules, **digests, since=since, until=until, limit=limit, after=after
        ),
        as_json=as_json,
    )


def usage(
    context: typer.Context,
    api: Annotated[str | None, typer.Option(metavar="API", help="Of this API only.")] = None,
    model: Model = None,
    since: Annotated[
        date | None, typer.Option(metavar="DAY", parser=_day, help="From that day on.")
    ] = None,
    until: Annotated[
        date | None, typer.Option(metavar="DAY", parser=_day, help="Before that day.")
    ] = None,
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
    """Show the tokens of each model by day (UTC), the last day first.

    Piped: day, API, model, responses, tokens in, tokens out, of those in: read from a cache, written
    to one; of those out: reasoning; dollars, where the model has a price (docs/views.md).

    Example: `onrecord usage --since 2026-11-01 --total`
    """
    from onrecord.adapters.settings import prices_given

    if total and after is not None:
        raise typer.BadParameter("--total shows all at once: leave --after out.")
    days = {"since": since, "until": until}

    def query(views: Views, _: object) -> Page[ModelUsage]:
        if total:
            return views.usage_total(api=api, model=model, **days)
        return views.usage(api=api, model=model, **days, limit=limit, after=after)

    show_page(context, url, usage_listing(prices_given(prices)), query, as_json=as_json)
