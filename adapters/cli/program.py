"""The program `onrecord`: the options that its commands share, and what stands before any command."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, cast
from uuid import UUID

import typer
from typer.core import TyperCommand, TyperGroup

from onrecord.adapters.presentation.control_characters import escaped_lines
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.reads import record_page
from onrecord.adapters.terminal.view_pages import Listing, show
from onrecord.domain.errors import InvalidInput
from onrecord.projections.api import listed, names

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.adapters.terminal.view_pages import CaughtUpPage

EntryT = TypeVar("EntryT")

_DAYS: Final = re.compile(r"([1-9][0-9]{0,4})d", re.ASCII)

SESSIONS: Final = ("camunda-agent", "openai-agents-session", "simonw-llm")
"""Databases in which other programs keep histories."""


# The arguments and options that several commands of `onrecord` share.


def known_api(name: str) -> str:
    """Return the name of an API; an error with the names that there are for any other."""
    return _one_of(name, names())


def history_form(name: str) -> str:
    """Return the name of a form of histories; an error with those that there are for any other."""
    return _one_of(name, (*names(), *SESSIONS))


def place(url: str | None) -> str | None:
    """Return where the store is; wrong usage for an empty text, which names no store."""
    if url is not None and not url.strip():
        raise typer.BadParameter("the URL is empty: name the store, or leave the option out")
    return url


def _one_of(name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}.")
    return name


def time_given(text: str) -> datetime:
    """Return a day or a time, in UTC without a zone; wrong usage for what is none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time: write 2026-03-31 or 2026-03-31T09:30"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def age_given(text: str) -> timedelta:
    """Return a number of days, such as `400d`; wrong usage for what is none."""
    days = _DAYS.fullmatch(text)
    if text.strip("0") == "d" and text != "d":
        raise typer.BadParameter(f"{text!r} is too short: at least 1d")
    if days is None:
        raise typer.BadParameter(f"{text!r} is no number of days: write 400d")
    return timedelta(days=int(days[1]))


class Thinking(StrEnum):
    """What becomes of signed thinking."""

    KEEP = "keep"
    DROP = "drop"


class Strategy(StrEnum):
    """Which of the last messages a window by messages keeps."""

    MESSAGE_WINDOW = "message-window"
    SLIDING_WINDOW = "sliding-window"


Api = Annotated[
    str, typer.Option(metavar="API", parser=known_api, help=f"The wire format: {listed()}.")
]
Key = Annotated[str, typer.Argument(help="The conversation's key or its id.")]
Url = Annotated[
    str | None,
    typer.Option(
        callback=place,
        help="Where the store is: `sqlite:///file.db`, `postgresql://user@host/database`.",
        show_default="$ONRECORD_URL, else sqlite:///onrecord.db",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON; its keys do not change.")]
Projections = Annotated[
    list[str] | None,
    typer.Option(
        "--projection",
        metavar="MODULE:NAME",
        help="Know this projection of your own too. May be given several times.",
        show_default=False,
    ),
]
At = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="VERSION", help="The state at that version.", show_default="the last"
    ),
]


STANDARD_INPUT: Final = Path("-")
"""How a command line names the input that is no file, and the output."""


def existing_file(path: str | Path, advice: str = "") -> Path:
    """Return the path of a file that is there; wrong usage for others."""
    file = Path(path)
    if file.is_dir():
        raise typer.BadParameter(f"{file} is a folder: name a file in it")
    if not file.is_file():
        if file.exists():
            raise typer.BadParameter(f"{file} is not a regular file{advice}")
        raise typer.BadParameter(f"there is no file {file}")
    return file


def readable(path: Path) -> Path:
    """Return the path of a file that is there, or of standard input; wrong usage for others."""
    return path if path == STANDARD_INPUT else existing_file(path, "; `-` reads standard input")


InputFile = Annotated[Path, typer.Argument(callback=readable, help="`-`: standard input.")]

Lines = Annotated[
    bool, typer.Option("--lines", help="Show side branches too, and the state of each.")
]


# The program `onrecord`: what stands before any command, and the store that one works on.
#
# Nothing is imported here that only one command needs, so that `--help` stays quick.


def _flags_without_type(options: list[Any]) -> list[Any]:
    """Return options; one that is on or off takes no value, so its help names no type of one."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    return options


class Command(TyperCommand):
    """A command of `onrecord`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        return _flags_without_type(super().get_params(ctx))


class CommandGroup(TyperGroup):
    """Commands of `onrecord` that begin with one word."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options that go before any command."""
        return _flags_without_type(super().get_params(ctx))


class _Program(CommandGroup):
    """The command line; what was typed wrong is details without the control codes that are in it."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read the arguments before the command."""
        with _escaped_errors():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """Read the command's arguments, and run it."""
        with _escaped_errors():
            return super().invoke(ctx)


@contextmanager
def _escaped_errors() -> Generator[None]:
    try:
        yield
    except _UsageError as exc:
        details = vars(exc)
        details["message"] = escaped_lines(details["message"])
        raise


app: Final = typer.Typer(
    cls=_Program,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


_UsageError: Final = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""Newer releases of Typer have a click of their own, and no public name for its errors."""

_ABOUT: Final = """The verbatim record of what agents said and did.

On a terminal the output is drawn. Piped, or with NO_COLOR, each entry is one line, with tabs between
its columns. With `--json` the output is JSON. `--url` goes before or after a command that uses
a store.

`onrecord demo` shows all of it; it needs no key and no setup.
"""


def _say_version(wanted: bool) -> None:
    if wanted:
        from onrecord import __version__

        typer.echo(f"onrecord {__version__}")
        raise typer.Exit


@app.callback(help=_ABOUT)
def onrecord(
    context: typer.Context,
    url: Url = None,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Remember where the store is, for the command that follows."""
    command = cast("TyperGroup", context.command).get_command(
        context, context.invoked_subcommand or ""
    )
    if url is not None and command and all(option.name != "url" for option in command.params):
        raise typer.BadParameter(
            f"{context.invoked_subcommand} uses no store that you name: leave --url out"
        )
    context.obj = url


@contextmanager
def opened(context: typer.Context, url: str | None, *, made: bool = False) -> Generator[Store]:
    """Open the store; only a command that writes makes one."""
    from onrecord.adapters.app import connect, is_there, shown
    from onrecord.adapters.settings import settings
    from onrecord.adapters.store import tenancy_of
    from onrecord.adapters.streams.event_reading import uncounted
    from onrecord.adapters.terminal.reads import record_conversation
    from onrecord.domain.errors import StorageUnavailable

    place = url or context.obj
    if not made and not is_there(place):
        raise StorageUnavailable(
            f"there is no store at {shown(place or settings().url)}: name one with --url or "
            "ONRECORD_URL, make one with `onrecord migrate`, or see `onrecord demo --keep`"
        )
    with connect(place) as store:
        tenancy_of(store).count = uncounted  # Who is at a terminal is no program.
        if store.access.mode != "off":
            command = str(context.info_name)
            record_conversation(store, command, context.params, acting_name(None))
        yield store


def note_ciphertext(store: Store, meaning: str) -> None:
    """Say what it means that a store is encrypted, where it is."""
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog
    from onrecord.adapters.store import backend_of

    if isinstance(backend_of(store), EncryptedLog):
        output.note(f"The store is encrypted: {meaning}.")


def write_pieces(
    store: Store, file: Path | None, pieces: Iterable[bytes], *, replace: bool | None = None
) -> int | None:
    """Write pieces to a file, and return how many bytes; None where they went to standard output.

    A file is written whole or not at all. One that is there stays, unless `replace` says that it goes; None
    where the command has no such option. The files of the store itself stay in any case.
    """
    from onrecord.adapters.storage.atomic_files import write_atomically
    from onrecord.adapters.store import backend_of, tenancy_of
    from onrecord.adapters.upkeep.files import files_of

    if file is None or file == STANDARD_INPUT:
        for piece in pieces:
            output.raw(piece)
        return None
    files_of(store.url, backend_of(store), tenancy_of(store).spool).must_not_have(file)
    try:
        return write_atomically(file, pieces, replace=bool(replace))
    except FileExistsError as exc:
        otherwise = "choose another name" if replace is None else "choose another, or say --force"
        raise InvalidInput(f"{file} is there already: {otherwise}") from exc
    except OSError as exc:
        raise InvalidInput(f"{file} cannot be written: {exc.strerror}") from exc


def acting_name(actor: str | None) -> str:
    """Return who acts at a terminal: who is named, else `$ONRECORD_ACTOR`, else who is logged in."""
    from onrecord.adapters.settings import local_actor

    return actor or local_actor()


def registered(store: Store, references: Sequence[str] | None) -> list[str]:
    """Let a store know projections by the modules that have them; return their names."""
    from onrecord.adapters.views.own_projections import load_projection

    if references and "" not in sys.path:
        sys.path.insert(0, "")  # A module in this folder is found, as `python -m` finds it.
    return [store.views.register(load_projection(reference)) for reference in references or ()]


def show_and_record(
    context: typer.Context,
    store: Store,
    listing: Listing[EntryT],
    page: CaughtUpPage[EntryT],
    *,
    as_json: bool,
) -> None:
    """Show a page of a view, once it is recorded that somebody reads it."""
    ids = (getattr(entry, "conversation_id", None) for entry in page.page)
    record_read(context, store, len(page.page), [each for each in ids if each is not None])
    show(store, listing, page, as_json=as_json)


def record_read(
    context: typer.Context, store: Store, entries: int, conversations: Sequence[UUID] = ()
) -> None:
    """Record that whoever is at the terminal is shown so many entries of conversations by a command."""
    if store.access.mode == "off":
        return
    command, options = str(context.info_name), context.params
    record_page(store, command, options, entries, conversations, acting_name(None))
