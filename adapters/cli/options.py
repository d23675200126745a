"""The arguments and options that several commands of `onrecord` share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from onrecord.projections.api import listed, names

SESSIONS: Final = ("camunda-agent", "openai-agents-session", "simonw-llm")
"""Databases in which other programs keep histories."""


def known_api(name: str) -> str:
    """Return the name of an API; an error with the names that there are for any other."""
    return _one_of(name, names())


def known_api_or_none(name: str | None) -> str | None:
    """Return the name of an API, if one was given, as `known_api` does."""
    return None if name is None else known_api(name)


def history_form(name: str | None) -> str | None:
    """Return the name of a form of histories; an error with those that there are for any other."""
    return None if name is None else _one_of(name, (*names(), *SESSIONS))


def place(url: str | None) -> str | None:
    """Return where the store is; wrong usage for an empty text, which names no store."""
    if url is not None and not url.strip():
        raise typer.BadParameter("the URL is empty: name the store, or leave the option out")
    return url


def _one_of(name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}.")
    return name


class Thinking(StrEnum):
    """What becomes of signed thinking."""

    KEEP = "keep"
    DROP = "drop"


class Strategy(StrEnum):
    """Which of the last messages a window by messages keeps."""

    MESSAGE_WINDOW = "message-window"
    SLIDING_WINDOW = "sliding-window"


Api = Annotated[
    str, typer.Option(metavar="API", callback=known_api, help=f"The wire format: {listed()}.")
]
Key = Annotated[str, typer.Argument(help="The conversation's key; its id does as well.")]
Url = Annotated[
    str | None,
    typer.Option(
        callback=place,
        help="Where the store is: `sqlite:///file.db`, `postgresql://user@host/database`.",
        show_default="$ONRECORD_URL, else sqlite:///onrecord.db",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON; its keys stay as they are.")]
At = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="VERSION", help="As it was at that version.", show_default="the last"
    ),
]


def readable(file: Path) -> Path:
    """Return the path of a file that is there, or of standard input; wrong usage for others."""
    if file.is_dir():
        raise typer.BadParameter(f"{file} is a folder: name a file in it")
    if file != Path("-") and not file.is_file():
        raise typer.BadParameter(f"there is no file {file}")
    return file


Lines = Annotated[
    bool, typer.Option("--lines", help="Show side branches too, and the state of each.")
]
