"""The program `onrecord`: what stands before any command.

Nothing is imported here that only one command needs, so that `--help` stays quick.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any, Final, cast

import typer
from typer.core import TyperCommand, TyperGroup

from onrecord.adapters.cli.program.options import Url
from onrecord.adapters.presentation.control_characters import escaped_lines


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
