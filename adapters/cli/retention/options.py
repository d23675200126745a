"""What the commands of holds and retention classes share: their options, and what makes a group of them."""

from __future__ import annotations

from typing import Annotated

import typer

from onrecord.adapters.cli.program import CommandGroup

Actor = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Who does it; this is kept for good.",
        show_default="$ONRECORD_ACTOR, else who is logged in",
    ),
]
Why = Annotated[str, typer.Option(metavar="TEXT", help="Why; this is kept for good.")]
KeyIfAny = Annotated[
    str | None,
    typer.Argument(help="The conversation's key or its id.", show_default="all"),
]


def new_group() -> typer.Typer:
    """Return a new group of commands that begin with one word."""
    return typer.Typer(
        cls=CommandGroup,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
