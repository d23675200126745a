"""The commands that change what the history is: their arguments and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onrecord.adapters.cli.commands.options import AsJson, At, Key, Url, readable
from onrecord.adapters.cli.commands.program import opened

Reason = Annotated[str | None, typer.Option(help="Why, in words.")]
Version = Annotated[int, typer.Argument(min=1, help="The version of the event.")]


def fork(
    context: typer.Context,
    key: Key,
    new_key: Annotated[str, typer.Argument(help="The key of the fork.")],
    at: At = None,
    reason: Reason = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Begin a conversation that goes on from another one; nothing is copied.

    Example: `onrecord fork support/4711 support/4711/tried-otherwise --at 17`
    """
    from onrecord.adapters.cli import history

    with opened(context, url) as store:
        history.fork(store, key, new_key, at=at, reason=reason, as_json=as_json)


def regenerate(context: typer.Context, key: Key, url: Url = None, as_json: AsJson = False) -> None:
    """Give up the last answer: the next request asks again, byte for byte as before.

    All behind the last prompt, or the last results of tools. `onrecord show --lines` still has it.

    Example: `onrecord regenerate support/4711`
    """
    from onrecord.adapters.cli import history

    with opened(context, url) as store:
        history.regenerate(store, key, as_json=as_json)


def edit(
    context: typer.Context,
    key: Key,
    version: Version,
    text: Annotated[str, typer.Argument(help="The prompt instead; `-`: standard input.")],
    document: Annotated[
        list[Path] | None, typer.Option(help="A file that comes with it; may be repeated.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Put another prompt in the place of one; what followed it is given up, not lost.

    Example: `onrecord edit support/4711 12 "Can it come on Saturday?"`
    """
    from onrecord.adapters.cli import history

    documents = [readable(path) for path in document or ()]
    with opened(context, url) as store:
        history.edit(store, key, version, text, documents, as_json=as_json)


def compact(
    context: typer.Context,
    key: Key,
    summary: Annotated[str, typer.Argument(help="Your summary; `-`: standard input.")],
    until: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="VERSION",
            help="The last that it stands for.",
            show_default="the end of the exchanges that are over",
        ),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Let your own summary stand for what was said, in every request from here on.

    Redact it to have all back.

    Example: `onrecord compact support/4711 "The parcel is late." --until 17`
    """
    from onrecord.adapters.cli import history

    with opened(context, url) as store:
        history.compact(store, key, summary, until=until, as_json=as_json)


def redact(
    context: typer.Context,
    key: Key,
    version: Version,
    reason: Reason = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Leave an event out of every request from here on; the record keeps it.

    `onrecord forget` erases what was said.

    Example: `onrecord redact support/4711 12`
    """
    from onrecord.adapters.cli import history

    with opened(context, url) as store:
        history.redact(store, key, version, reason=reason, as_json=as_json)
