"""The commands about what surrounds a tool's call: their arguments and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onrecord.adapters.cli.commands.options import AsJson, At, Key, Url, readable, spoken
from onrecord.adapters.cli.commands.program import opened


def _spoken(name: str | None) -> str | None:
    return None if name is None else spoken(name)


def tools(
    context: typer.Context,
    key: Key,
    at: At = None,
    api: Annotated[
        str | None,
        typer.Option(
            metavar="API",
            callback=_spoken,
            help="The JSON that tells this API of them.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every declaration, the first one first.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the tools in force: what each takes, where it comes from, since which version.

    Piped: name, what it takes, description, origin, name and version of its source, digest of that,
    version of the declaration. With `--all` version, time, digest, sources, tools.

    Example: `onrecord tools support/4711 --api gemini`
    """
    from onrecord.adapters.cli.tools import history, tools

    if everything and api is not None:
        raise typer.BadParameter("--api tells of the tools in force: leave --all out.")
    with opened(context, url) as store:
        if everything:
            history(store, key, at, as_json=as_json)
        else:
            tools(store, key, at, api=api, as_json=as_json)


def _readable(file: Path | None) -> Path | None:
    return None if file is None else readable(file)


def capabilities(
    api: Annotated[
        str | None,
        typer.Argument(
            metavar="API",
            callback=_spoken,
            help="The wire format.",
            show_default="all",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Whom it is about.", show_default="every entry"),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=_readable,
            help="What lies over the entries that come with Onrecord.",
            show_default="$ONRECORD_CAPABILITIES",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which documents an API and a model take, where and how large, and which entry says so.

    Piped: API, entry, kinds of documents in messages, in results, the most bytes of a kind, what else
    it does, tokens it reads, tokens it writes.

    Example: `onrecord capabilities openai-chat gpt-4o-mini`
    """
    from onrecord.adapters.cli.capabilities import show

    show(api, model, file, as_json=as_json)


def documents(
    context: typer.Context,
    key: Key,
    at: At = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write each into a file there; none is written over."),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the documents of a conversation: whose each is, what it is, and its short id.

    Piped: version, origin (user, operator, signal, tool, rejected, provider), tool, call, place in
    the result, name, media type, bytes, short id (of one at an address that), file.

    Example: `onrecord documents support/4711 --save papers`
    """
    from onrecord.adapters.cli.documents import documents

    with opened(context, url) as store:
        documents(store, key, at, save=save, as_json=as_json)


def _entries(given: list[str] | None) -> list[str] | None:
    for entry in given or ():
        name, equals, _ = entry.partition("=")
        if not (name and equals):
            raise typer.BadParameter("an entry is a name, `=` and a value.")
    return given


def context(
    context: typer.Context,
    key: Key,
    entries: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", callback=_entries, help="Carry this; may be repeated."
        ),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Carry that no more; may be repeated."),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show what a conversation carries for its tools, or change it; no model is told of it.

    It stands in the log in clear, and is never erased: no secret, nothing personal. Piped: name,
    value.

    Example: `onrecord context support/4711 --set tenant_id=acme`
    """
    from onrecord.adapters.cli import documents as carried

    given = dict(entry.split("=", 1) for entry in entries or ())
    with opened(context, url) as store:
        carried.context(store, key, given, unset or (), as_json=as_json)
