"""The program `onrecord`: what stands before any command, and the store that one works on.

Nothing is imported here that only one command needs, so that `--help` stays quick.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup

from onrecord.adapters.cli.options import Url
from onrecord.adapters.terminal import output

if TYPE_CHECKING:
    from onrecord.adapters.store import Store


class _Program(TyperGroup):
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
        details["message"] = output.escaped_lines(details["message"])
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
its columns. With `--json` the output is JSON. `--url` goes before or after the command.

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
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    """Remember where the store is, for the command that follows."""
    context.obj = url


@contextmanager
def opened(context: typer.Context, url: str | None, *, made: bool = False) -> Generator[Store]:
    """Open the store; only a command that writes makes one."""
    from onrecord.adapters.app import connect, is_there, shown
    from onrecord.adapters.settings import settings
    from onrecord.domain.errors import StorageUnavailable

    place = url or context.obj
    if not made and not is_there(place):
        raise StorageUnavailable(
            f"there is no store at {shown(place or settings().url)}: name one with --url or "
            "ONRECORD_URL, make one with `onrecord migrate`, or see `onrecord demo --keep`"
        )
    with connect(place) as store:
        yield store
