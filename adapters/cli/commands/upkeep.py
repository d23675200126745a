"""The commands that keep a store: their arguments and their help; the other files do the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onrecord.adapters.cli.commands.options import (
    AsJson,
    DryRun,
    KeptAs,
    Key,
    KeyOfHistory,
    Url,
    readable,
)
from onrecord.adapters.cli.commands.program import opened


def forget(
    context: typer.Context,
    key: Key,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Why: kept for good.", show_default="you are asked"),
    ] = None,
    actor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who erases: kept for good.",
            show_default="$ONRECORD_ACTOR, else who is logged in",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Erase what was said in a conversation, for good.

    Texts, documents and the key go; that something was recorded, and its digest, stay: the log
    still verifies; the key is free for another conversation. Who erased it, when and why is recorded, and `onrecord audit` shows it; neither
    can be erased. Forks of it stay and are named: the requests that were sent there repeat it, so
    forget them too (`onrecord conversations` marks them). Backups are not reached, nor what a
    provider keeps.

    Example: `onrecord forget support/4711 --reason "asked to, ticket 88"`
    """
    from onrecord.adapters.cli.forgetting import forget
    from onrecord.adapters.settings import settings

    with opened(context, url) as store:
        forget(store, key, reason, actor or settings().actor, sure=yes, as_json=as_json)


def verify(
    context: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(help="The conversation's key, or its id.", show_default="the whole store"),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(metavar="SHARD:SIZE:HEX", help="Compare with a root that was written down."),
    ] = None,
    views: Annotated[
        bool, typer.Option("--views", help="Compare the views with what the events come to.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Check that the store still holds what it committed to.

    Every table of the log: digests and leaves, documents, the order of positions and versions,
    where each conversation stands, and whose it is. Then it prints what it could not check, and a
    root for each shard: write it down elsewhere, and later compare with `--root`. Exit code 1 if
    something does not hold, or the log was cut. `--views` folds the events again, and compares what
    comes of them with the rows that views keep. Piped: conversation, version, fault.

    Example: `onrecord verify`
    """
    from onrecord.adapters.cli.upkeep import verify
    from onrecord.domain.header import parse_root

    roots = [parse_root(text) for text in root or ()]
    with opened(context, url) as store:
        if not verify(store, key, roots, views=views, as_json=as_json):
            raise typer.Exit(1)


def sweep(
    context: typer.Context,
    older_than: Annotated[
        float, typer.Option(min=0, metavar="HOURS", help="Spare what came since.")
    ] = 24,
    rewrite: Annotated[
        bool,
        typer.Option(
            "--rewrite/--no-rewrite", help="Write anew what may hold pieces of what was forgotten."
        ),
    ] = True,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents that no event refers to, and what `forget` left in files.

    Documents stay where a program ended between storing one and saying what it belongs to; what may still
    be on its way is spared. Pieces of what was forgotten stay in free space until the files are
    written anew: that needs room for two more copies. On PostgreSQL it is done as the log's owner, and
    nobody can use a table while it is written. Run it now and then, at a quiet hour.

    Example: `onrecord sweep --older-than 48`
    """
    from onrecord.adapters.cli.upkeep import sweep

    with opened(context, url) as store:
        sweep(store, older_than, rewrite=rewrite, as_json=as_json)


def export(
    context: typer.Context,
    key: Key,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            dir_okay=False,
            metavar="FILE",
            help="Write to a file; `-`: standard output.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Write a conversation as JSON lines: the exact bytes of its events and documents.

    A file is written whole or not at all, and only its owner can read it.

    Example: `onrecord export support/4711 -o 4711.jsonl`
    """
    from onrecord.adapters.cli.transfer import export_to

    with opened(context, url) as store:
        export_to(store, key, output, replace=force, as_json=as_json)


def import_(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(callback=readable, help="`-`: standard input."),
    ],
    new_key: Annotated[
        str | None, typer.Option("--as", metavar="KEY", help="Give an export another key.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Verify an export, and record nothing.")
    ] = False,
    api: KeptAs = None,
    key: KeyOfHistory = None,
    dry_run: DryRun = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Record what `onrecord export` wrote, as it was; or what other programs kept.

    All of an export is verified first. Importing it again changes nothing.

    With `--api`: the messages that another program kept, as JSON or JSON lines, in SQLite sessions
    of the OpenAI Agents SDK, or in the log of `llm`. What is dubious is said on standard error.
    Piped: key, outcome, events, how many are new, how many doubts, why it was refused; exit code 1
    if one was.

    Example: `onrecord import 4711.jsonl --url postgresql://me@host/talks`

    Example: `onrecord import messages.json --api openai-chat --key support/4711`
    """
    from onrecord.adapters.cli import transfer

    if api is not None and (check or new_key is not None):
        raise typer.BadParameter("--check and --as are for exports: use --dry-run and --key")
    if api is None and (dry_run or key is not None):
        raise typer.BadParameter("--dry-run and --key go with --api: use --check and --as")
    if api is not None:
        from onrecord.adapters.cli.transfer import Wish, import_histories

        wish = Wish(api, file, key, dry_run=dry_run, as_json=as_json)
        if not import_histories(url or context.obj, wish):
            raise typer.Exit(1)
        return
    if check:
        transfer.check_file(file, as_json=as_json)
        return
    transfer.import_from(url or context.obj, file, new_key, as_json=as_json)


def migrate(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """Bring a store of an older Onrecord to this one's schema; it only adds.

    Example: `onrecord migrate --url postgresql://owner@host/talks`
    """
    from onrecord.adapters.cli.upkeep import migrate

    migrate(url or context.obj, as_json=as_json)
