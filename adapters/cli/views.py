"""The commands that read views: `overview`, `search`, `audit`, `in-force`, `usage`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from onrecord.adapters.cli.access import show_and_record
from onrecord.adapters.cli.program import (
    AsJson,
    Url,
    acting_name,
    opened,
    time_given,
    write_pieces,
)
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.output import named, size
from onrecord.adapters.terminal.view_listings import (
    AUDIT_ENTRIES,
    HITS,
    IN_FORCE,
    OVERVIEW,
    usage_listing,
)
from onrecord.adapters.terminal.view_pages import Listing, caught_up
from onrecord.projections.views.audit_facts import OUTCOMES

if TYPE_CHECKING:
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.reading import Views
    from onrecord.projections.views.usage import ModelUsage


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day: write 2026-11-21") from None


Limit = Annotated[int, typer.Option(min=1, max=1_000, metavar="N", help="Show at most N entries.")]
After = Annotated[
    str | None, typer.Option(metavar="CURSOR", help="Go on where the last page ended.")
]
_SINCE = "From that time on: a day or a time, in UTC unless it says otherwise."
Since = Annotated[datetime | None, typer.Option(metavar="TIME", parser=time_given, help=_SINCE)]
Until = Annotated[
    datetime | None, typer.Option(metavar="TIME", parser=time_given, help="Before that time.")
]
ConversationOption = Annotated[
    str | None,
    typer.Option(
        "--conversation", "-c", metavar="KEY", help="Of this conversation only: its key, or its id."
    ),
]
Actor = Annotated[str | None, typer.Option(metavar="NAME", help="Who did it, by name.")]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="Of this model only.")]
Tool = Annotated[str | None, typer.Option(metavar="NAME", help="Of this tool only.")]
Policy = Annotated[
    str | None, typer.Option(metavar="VERSION", help="Under this version of the policy.")
]
Deployment = Annotated[str | None, typer.Option(metavar="NAME", help="By this deployment.")]


def show_page(
    context: typer.Context,
    url: str | None,
    listing: Listing[Any],
    query: Callable[[Views, Callable[[str | None], UUID | None]], Page[Any]],
    *,
    as_json: bool,
) -> None:
    """Show the page that a query gives; it gets the views, and the ids of conversations by name."""
    with opened(context, url) as store:

        def id_of(name: str | None) -> UUID | None:
            # A key may look like an id, so an id is looked for as a key first.
            return None if name is None else named(store, name).conversation_id

        page = caught_up(store, lambda: query(store.views, id_of))
        show_and_record(context, store, listing, page, as_json=as_json)


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


def audit(
    context: typer.Context,
    conversation: ConversationOption = None,
    actor: Actor = None,
    on_behalf_of: Annotated[
        str | None, typer.Option(metavar="NAME", help="For whom it was done, by name.")
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Such as `tool_call.recorded`.")
    ] = None,
    model: Model = None,
    tool: Tool = None,
    policy: Policy = None,
    deployment: Deployment = None,
    document: Annotated[
        str | None,
        typer.Option(metavar="ID", help="What holds or sent it: its short id, or its SHA-256."),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="WORDS", help="What says these words, as a search has it.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="WORD", help=f"How it went: {', '.join(OUTCOMES)}.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="NAME[=VALUE]", help="Of conversations that have this label."),
    ] = None,
    request: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="VERSION",
            help="Of `--conversation`: the exact request that this event came from.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all of it to a new file: `.html` to print, `.jsonl` or `.parquet`.",
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what and when, with which model or tool; no content but with `--request`.

    Erasures too: who and why, how much, and which forks stay. Piped: time, the actor's
    name (once it is forgotten, the first digits of its digest), key, version, type, model, tool,
    what an erasure says, for whom it was done, how it went. All filters combine.

    Example: `onrecord audit --actor ann --since 2026-11-01`

    Example: `onrecord audit --label category=health --report march.html`
    """
    if request is not None:
        _write_request(context, url, conversation, request, as_json=as_json)
        return
    name, equals, value = (label or "").partition("=")
    filters: dict[str, Any] = {
        "actor": actor,
        "on_behalf_of": on_behalf_of,
        "type": type_,
        "model": model,
        "tool": tool,
        "policy": policy,
        "deployment": deployment,
        "document": document,
        "text": text,
        "outcome": outcome,
        "label": None if label is None else name,
        "label_value": value if equals else None,
        "since": since,
        "until": until,
    }
    if report is not None:
        if after is not None:
            raise typer.BadParameter("--report holds all pages: leave --after out.")
        named_filters = {"conversation": conversation, **filters}
        _write_report(context, url, report, named_filters, as_json=as_json)
        return
    show_page(
        context,
        url,
        AUDIT_ENTRIES,
        lambda views, id_of: views.audit(
            conversation=id_of(conversation), **filters, limit=limit, after=after
        ),
        as_json=as_json,
    )


def _write_report(
    context: typer.Context,
    url: str | None,
    file: Path,
    filters: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    """Write the whole audit to a new file, in the format that its name ends with."""
    from onrecord.adapters.reports.audit_report import AuditReport
    from onrecord.adapters.reports.formats import written_as
    from onrecord.adapters.settings import settings

    pieces_of = written_as(file)
    with opened(context, url) as store:
        report = AuditReport(store, filters, acting_name(None), settings().seals)
        written = write_pieces(store, file, pieces_of(report))
    if written is None:
        return
    count = report.tally.count
    if as_json:
        output.json_line({"file": str(file), "bytes": written, "entries": count})
        return
    entries = "1 entry" if count == 1 else f"{count:,} entries"
    output.sentence(f"The report has {entries}. It is in {file}, {size(written)}.")
    for remark in report.remarks:
        output.note(remark)


def _write_request(
    context: typer.Context, url: str | None, key: str | None, version: int, *, as_json: bool
) -> None:
    """Write the request that an event came from, byte for byte, its digest being checked."""
    from onrecord.adapters.conversation.rendering import request_behind
    from onrecord.adapters.terminal.request_listings import request_document

    if key is None:
        raise typer.BadParameter("--request is of a conversation: give --conversation too.")
    with opened(context, url) as store:
        conversation = store.get(named(store, key).conversation_id)
        sent, body = request_behind(conversation, version)
    if as_json:
        output.json_line(request_document(sent) | {"body": body.decode()})
        return
    output.raw(body)
    if sys.stdout.isatty():
        output.sentence("")
    output.note(f"request {sent.version}, as it was sent: SHA-256 {sent.event.template.sha256}")


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
