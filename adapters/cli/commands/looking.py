"""The commands that look: their arguments and their help; the other files do the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onrecord.adapters.cli.commands.options import (
    AsJson,
    At,
    Key,
    Lines,
    SpokenApi,
    Strategy,
    Thinking,
    Url,
    readable,
)
from onrecord.adapters.cli.commands.program import opened


def conversations(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """List the conversations, the one that moved last first.

    Piped: key, version, exchanges, open calls, time of the last event, id of its origin if forked.

    Example: `onrecord conversations --url sqlite:///talks.db`
    """
    from onrecord.adapters.cli import conversations

    with opened(context, url) as store:
        conversations.conversations(store, as_json=as_json)


def show(
    context: typer.Context,
    key: Key,
    at: At = None,
    lines: Lines = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the timeline of a conversation: versions at the left, a line a block.

    Piped: version, time, speaker, kind, marks, version that it answers, text. With `--json` every
    event as it is stored, side lines included.

    Example: `onrecord show support/4711 --at 17`
    """
    from onrecord.adapters.cli import timeline
    from onrecord.adapters.cli.output import named

    with opened(context, url) as store:
        found = named(store, key)
        until = timeline.until(found, at)
        recorded = timeline.told(store.backend, found, until, everything=lines or as_json)
        stands = timeline.standing(store.backend, found.conversation_id, until) if lines else None
        timeline.show(found, recorded, standing=stands, as_json=as_json)


def request(
    context: typer.Context,
    key: Key,
    api: SpokenApi = "anthropic-messages",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Whom it is for.", show_default="the model that answered last"
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="The last N exchanges, and the open one.", show_default="all"
        ),
    ] = None,
    messages: Annotated[
        int | None,
        typer.Option(metavar="N", help="The last N messages instead.", show_default="all"),
    ] = None,
    strategy: Annotated[
        Strategy, typer.Option(help="Which messages `--messages` keeps.")
    ] = Strategy.MESSAGE_WINDOW,
    at: At = None,
    cache: Annotated[bool, typer.Option("--cache", help="Place cache marks.")] = False,
    thinking: Annotated[
        Thinking, typer.Option(help="`drop` leaves out all that is signed.")
    ] = Thinking.KEEP,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the next request, and what was done to the record to make it.

    Piped: the request as compact JSON; the report goes to standard error.

    Example: `onrecord request support/4711 --api anthropic-messages --window 20`
    """
    from onrecord.adapters.cli.requests import Wish, ask, window_wished

    if window is not None and messages is not None:
        raise typer.BadParameter("--window counts exchanges, --messages messages: give one of them")
    with opened(context, url) as store:
        kept = window_wished(window, messages, strategy.value)
        wish = Wish(api, model, at, kept, cache=cache, thinking=thinking.value)
        ask(store, key, wish, as_json=as_json)


def check_request(
    file: Annotated[Path, typer.Argument(callback=readable, help="`-`: standard input.")],
    api: SpokenApi,
    as_json: AsJson = False,
) -> None:
    """Check a request, a JSON object in a file, against what the provider would refuse.

    The types of the API's SDK, if it is installed, and the provider's rules of order and pairs,
    each breach with the provider's own words. Nothing is sent. Exit code 1 if a rule is broken, 2
    if the file cannot be read. Piped: JSON pointer, rule, what the provider says, what to do.

    Example: `onrecord request support/4711 | onrecord check-request - --api anthropic-messages`
    """
    from onrecord.adapters.cli.capabilities import check

    if not check(file, api, as_json=as_json):
        raise typer.Exit(1)


def replay(
    context: typer.Context,
    key: Key,
    verify: Annotated[
        bool, typer.Option("--verify", help="Make each again and compare it with what was sent.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the requests that were sent; prove that the record holds their very bytes.

    Exit code 1 if a request no longer comes to what was sent. Piped: version, API, model, size,
    digest, how it was verified.

    Example: `onrecord replay support/4711 --verify`
    """
    from onrecord.adapters.cli.requests import replayed

    with opened(context, url) as store:
        if not replayed(store, key, verify=verify, as_json=as_json):
            raise typer.Exit(1)


def tail(
    context: typer.Context,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Begin with the first event of the log.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show events as they are recorded, until Ctrl-C.

    Piped: the key, then the columns of `show`.

    Example: `onrecord tail --json | grep tool_call`
    """
    from onrecord.adapters.cli.conversations import tail

    with opened(context, url) as store:
        tail(store, from_start=from_start, as_json=as_json)
