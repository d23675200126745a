"""The commands of `hansard`: their arguments and their help; the other files do the work.

Nothing is imported here that only one command needs, so that `--help` stays quick.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hansard.adapters.cli.options import (
    AnthropicModel,
    AsJson,
    At,
    DryRun,
    Keep,
    KeptAs,
    Key,
    KeyOfHistory,
    Lines,
    Live,
    OpenAIModel,
    SpokenApi,
    Thinking,
    Url,
    readable,
)

if TYPE_CHECKING:
    from hansard.adapters.store import Store

app: Final = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


_ABOUT: Final = """The verbatim record of what agents said and did.

What a command writes is drawn on a terminal; piped (or with NO_COLOR) it is a line a thing, its
columns between tabs; with `--json` it is JSON. `--url` goes before or after the command.

`hansard demo` shows all of it, with no key and nothing to set up.
"""


def _say_version(wanted: bool) -> None:
    if wanted:
        from hansard import __version__

        typer.echo(f"hansard {__version__}")
        raise typer.Exit


@app.callback(help=_ABOUT)
def hansard(
    context: typer.Context,
    url: Url = None,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    """Remember where the store is, for the command that follows."""
    context.obj = url


@contextmanager
def _store(context: typer.Context, url: str | None, *, made: bool = False) -> Generator[Store]:
    """Open the store; only a command that writes makes one."""
    from hansard.adapters.app import connect, is_there
    from hansard.domain.errors import StorageUnavailable

    place = url or context.obj
    if not made and not is_there(place):
        raise StorageUnavailable(
            "there is no store: name one with --url or HANSARD_URL, or see `hansard demo --keep`"
        )
    with connect(place) as store:
        yield store


@app.command()
def demo(
    live: Live = False,
    model: AnthropicModel = "claude-sonnet-5",
    openai_model: OpenAIModel = "gpt-5.4",
    keep: Keep = False,
    as_json: AsJson = False,
) -> None:
    """Record a conversation with a model server on this machine, then look at it.

    On Anthropic's API, then on to OpenAI's two and back, through the official SDKs; without a key
    (`pip install hansard[anthropic,openai]`). `--live`: exit code 1 if an answer is not as it must be.

    Example: `hansard demo --keep`
    """
    from hansard.adapters.cli.demonstrating import demo
    from hansard.adapters.demo.telling import Telling

    if not demo(Telling(model, openai_model, keep=keep, as_json=as_json), live=live):
        raise typer.Exit(1)


@app.command()
def conversations(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """List the conversations, the one that moved last first.

    Piped: key, version, exchanges, open calls, time of the last event, id of its origin if forked.

    Example: `hansard conversations --url sqlite:///talks.db`
    """
    from hansard.adapters.cli import conversations

    with _store(context, url) as store:
        conversations.conversations(store, as_json=as_json)


@app.command()
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

    Example: `hansard show support/4711 --at 17`
    """
    from hansard.adapters.cli import timeline
    from hansard.adapters.cli.naming import named

    with _store(context, url) as store:
        found = named(store, key)
        until = timeline.until(found, at)
        recorded = timeline.told(store.backend, found, until, everything=lines or as_json)
        stands = timeline.standing(store.backend, found.conversation_id, until) if lines else None
        timeline.show(found, recorded, standing=stands, as_json=as_json)


@app.command()
def request(
    context: typer.Context,
    key: Key,
    api: SpokenApi = "anthropic-messages",
    window: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="The last N exchanges, and the open one.", show_default="all"
        ),
    ] = None,
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

    Example: `hansard request support/4711 --api anthropic-messages --window 20`
    """
    from hansard.adapters.cli.asking import Wish, ask

    with _store(context, url) as store:
        wish = Wish(api, at, window, cache=cache, thinking=thinking.value)
        ask(store, key, wish, as_json=as_json)


@app.command(name="check-request")
def check_request(
    file: Annotated[Path, typer.Argument(callback=readable, help="`-`: standard input.")],
    api: SpokenApi,
    as_json: AsJson = False,
) -> None:
    """Check a request, a JSON object in a file, against what the provider would refuse.

    The types of the API's SDK, if it is installed, and the provider's rules of order and pairs,
    each breach with the provider's own words. Nothing is sent. Exit code 1 if a rule is broken, 2
    if the file cannot be read. Piped: JSON pointer, rule, what the provider says, what to do.

    Example: `hansard request support/4711 | hansard check-request - --api anthropic-messages`
    """
    from hansard.adapters.cli.checking import check

    if not check(file, api, as_json=as_json):
        raise typer.Exit(1)


@app.command()
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

    Example: `hansard replay support/4711 --verify`
    """
    from hansard.adapters.cli.replaying import replayed

    with _store(context, url) as store:
        if not replayed(store, key, verify=verify, as_json=as_json):
            raise typer.Exit(1)


@app.command()
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

    Example: `hansard tail --json | grep tool_call`
    """
    from hansard.adapters.cli.tailing import tail

    with _store(context, url) as store:
        tail(store, from_start=from_start, as_json=as_json)


@app.command()
def forget(
    context: typer.Context,
    key: Key,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Erase what was said in a conversation, for good.

    Texts, documents and the key go; that something was recorded, and its digest, stay: the log
    still verifies. Forks of it stay (`hansard conversations` marks them), and their requests repeat
    it: forget them too. Backups are not reached, nor what a provider keeps.

    Example: `hansard forget support/4711`
    """
    from hansard.adapters.cli.forgetting import forget

    with _store(context, url) as store:
        forget(store, key, sure=yes, as_json=as_json)


@app.command()
def verify(
    context: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(help="The conversation's key, or its id.", show_default="the whole store"),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Check that the store still holds what it committed to.

    Every digest and leaf, every document, the order of positions and versions, and where each
    conversation stands. Exit code 1 if something does not hold. Piped: conversation, version,
    fault.

    Example: `hansard verify`
    """
    from hansard.adapters.cli.verifying import verify

    with _store(context, url) as store:
        if not verify(store, key, as_json=as_json):
            raise typer.Exit(1)


@app.command()
def sweep(
    context: typer.Context,
    older_than: Annotated[
        float, typer.Option(min=0, metavar="HOURS", help="Spare what came since.")
    ] = 24,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents that no event refers to.

    They stay where a program ended between storing a document and saying what it belongs to.
    Run it now and then; what may still be on its way is spared.

    Example: `hansard sweep --older-than 48`
    """
    from hansard.adapters.cli.sweeping import sweep

    with _store(context, url) as store:
        sweep(store, older_than, as_json=as_json)


@app.command()
def export(
    context: typer.Context,
    key: Key,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", dir_okay=False, metavar="FILE", help="Write to a file."),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Write a conversation as JSON lines: the exact bytes of its events and documents.

    Example: `hansard export support/4711 -o 4711.jsonl`
    """
    from hansard.adapters.cli.transfer import export_to

    with _store(context, url) as store:
        export_to(store, key, output, as_json=as_json)


@app.command(name="import")
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
    """Record what `hansard export` wrote, event by event as it was.

    All of the file is verified first. Importing it again changes nothing.

    With `--api`: the messages that another program kept, as JSON or JSON lines, in SQLite sessions
    of the OpenAI Agents SDK, or in the log of `llm`. What is dubious is said on standard error.
    Piped: key, outcome, events, how many are new, how many doubts, why it was refused; exit code 1
    if one was.

    Example: `hansard import 4711.jsonl --url postgresql://me@host/talks`

    Example: `hansard import messages.json --api openai-chat --key support/4711`
    """
    from hansard.adapters.cli import transfer

    if api is not None and (check or new_key is not None):
        raise typer.BadParameter("--check and --as are for exports: use --dry-run and --key")
    if api is None and (dry_run or key is not None):
        raise typer.BadParameter("--dry-run and --key go with --api: use --check and --as")
    if api is not None:
        from hansard.adapters.cli.histories import Wish, import_histories

        wish = Wish(api, file, key, dry_run=dry_run, as_json=as_json)
        if not import_histories(url or context.obj, wish):
            raise typer.Exit(1)
        return
    if check:
        transfer.check_file(file, as_json=as_json)
        return
    with _store(context, url, made=True) as store:
        transfer.import_from(store, file, new_key, as_json=as_json)


@app.command()
def migrate(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """Bring a store of an older Hansard to this one's schema; it only adds.

    Example: `hansard migrate --url postgresql://owner@host/talks`
    """
    from hansard.adapters.cli.migrating import migrate

    migrate(url or context.obj, as_json=as_json)
