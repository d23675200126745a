"""The arguments and options that several commands of `onrecord` share, and how they are read."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from onrecord.projections.api import listed, names

_DAYS: Final = re.compile(r"([1-9][0-9]{0,4})d", re.ASCII)

HISTORY_DATABASES: Final = ("camunda-agent", "openai-agents-session", "simonw-llm")
"""Databases in which other programs keep histories."""


def known_api(name: str) -> str:
    """Return the name of an API; an error with the names that there are for any other."""
    return _one_of(name, names())


def history_form(name: str) -> str:
    """Return the name of a form of histories; an error with those that there are for any other."""
    return _one_of(name, (*names(), *HISTORY_DATABASES))


def store_url(url: str | None) -> str | None:
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
        callback=store_url,
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

SideBranches = Annotated[
    bool, typer.Option("--lines", help="Show side branches too, and the state of each.")
]

Limit = Annotated[int, typer.Option(min=1, max=1_000, metavar="N", help="Show at most N entries.")]
After = Annotated[
    str | None, typer.Option(metavar="CURSOR", help="Go on where the last page ended.")
]
_SINCE = "From that time on: a day or a time, in UTC unless it says otherwise."
Since = Annotated[datetime | None, typer.Option(metavar="TIME", parser=time_given, help=_SINCE)]
Until = Annotated[
    datetime | None, typer.Option(metavar="TIME", parser=time_given, help="Before that time.")
]
ConversationOption = Annotated[
    str | None,
    typer.Option(
        "--conversation", "-c", metavar="KEY", help="Of this conversation only: its key, or its id."
    ),
]
Actor = Annotated[str | None, typer.Option(metavar="NAME", help="Who did it, by name.")]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="Of this model only.")]
Tool = Annotated[str | None, typer.Option(metavar="NAME", help="Of this tool only.")]
Policy = Annotated[
    str | None, typer.Option(metavar="VERSION", help="Under this version of the policy.")
]
Deployment = Annotated[str | None, typer.Option(metavar="NAME", help="By this deployment.")]
