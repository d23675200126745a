"""A timeline on the screen, in plain columns, or as JSON lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.presentation.sizes_and_times import ago, moment
from onrecord.adapters.streams.history_changes import HistoryChanges, with_redactions
from onrecord.adapters.streams.lineage import (
    Compaction,
)
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.side_branch_instructions import with_instructions
from onrecord.domain.errors import counted
from onrecord.domain.header import timestamp
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.timeline import Row, as_recorded, timeline
from onrecord.projections.history.timeline_text import Mark, Speaker

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from onrecord.adapters.presentation.actors import ShownActors


STYLES: Final[Mapping[Speaker, str]] = {
    "user": "bold cyan",
    "assistant": "bold green",
    "system": "magenta",
    "tool": "yellow",
    "provider": "blue",
    "record": "dim",
    "outside": "bold blue",
}
_MARKS: Final[Mapping[Mark, str]] = {
    "error": "bold red",
    "cancelled": "red",
    "interrupted": "bold yellow",
    "opaque": "bold magenta",
    "unread": "bold magenta",
    "erased": "dim",
    "redacted": "bold yellow",
    "linked": "blue",
    "aside": "blue",
    "given up": "blue",
    "rejected": "bold yellow",
    "interrupts": "bold yellow",
}
_PEOPLE: Final = frozenset({"user", "tool", "outside", "system"})
"""Speakers for whom somebody acts: on a terminal it is said who."""

_LABEL_WIDTH: Final = 15
_FOLDED_TO: Final = 3
_GAP: Final = "  "


def show(
    conversation: NamedConversation,
    recorded: Iterable[RecordedEvent],
    changes: HistoryChanges,
    actors: ShownActors,
    *,
    linked: Callable[[], Mapping[int, int]] = dict[int, int],
    instructions: Mapping[int, str] | None = None,
) -> None:
    """Write the timeline of a conversation.

    With side branches where `instructions` are given: those that requests on them went with, by
    version. `linked` is asked at the first item of a framework: it tells which items were recorded off
    the wire too, and at which version.
    """
    all_lines = instructions is not None
    standing = changes.losses if all_lines else as_recorded
    read = actors.noted(recorded)
    rows = map(actors.named, timeline(read, side_lines=all_lines, standing=standing))
    marked = with_redactions(with_instructions(rows, instructions or {}), changes.redacted)
    marked = _with_links(marked, linked)
    if output.is_drawn():
        draw(output.console(), conversation, marked, changes.compaction)
    else:
        for row in marked:
            output.plain(*columns(row))


def _with_links(rows: Iterable[Row], linked: Callable[[], Mapping[int, int]]) -> Iterator[Row]:
    links: Mapping[int, int] | None = None
    for row in rows:
        if not row.is_item:
            yield row
            continue
        links = linked() if links is None else links
        version = links.get(row.version)
        marks = row.marks if version is None else (*row.marks, "linked")
        yield replace(row, marks=marks, linked=version)


def columns(row: Row) -> tuple[object, ...]:
    """Return a row's plain columns: version, time, speaker, kind, marks, version answered, text, actor."""
    marks = ",".join(_said(mark, row) for mark in row.marks)
    moment = timestamp(row.recorded_at)
    return (row.version, moment, row.speaker, row.kind, marks, row.answers, row.text, row.actor)


def _said(mark: Mark, row: Row) -> str:
    return f"{mark} to {row.linked}" if mark == "linked" else mark


def draw(
    console: Console,
    conversation: NamedConversation,
    rows: Iterable[Row],
    compaction: Compaction | None = None,
) -> None:
    """Draw the timeline: versions at the left, a line a block, long text folded.

    A line shows where what a summary stands for ends.
    """
    output.draw_title(console, conversation, _about(conversation))
    width = max(3, len(str(conversation.head.version)))
    rows = iter(rows)
    exchange = 0
    version = 0
    for row in rows:
        if row.kind == "line":
            _draw_lines(console, chain((row,), rows), width)
            return
        if compaction is not None and row.version > compaction.event.until:
            summary = f"the summary of version {compaction.recorded.version}"
            console.print(_heading(console, f"{summary} stands for what was said above"))
            compaction = None
        if row.exchange != exchange:
            exchange = row.exchange
            since = ago(row.recorded_at, time.time_ns() // 1000)
            when = f"{moment(row.recorded_at)} · {since}"
            console.print(_heading(console, f"exchange {exchange} · {when}"))
        draw_row(console, row, f"{row.version if row.version != version else '':>{width}}")
        version = row.version


def _draw_lines(console: Console, lines: Iterable[Row], width: int) -> None:
    from rich.text import Text

    console.print(_heading(console, "side branches"))
    for row in lines:
        place = f"from version {row.version:>{width}}"
        console.print(Text.assemble((place, "dim"), _GAP, flat(row.text)))


def draw_row(console: Console, row: Row, place: str) -> None:
    """Draw one row, `place` at its left."""
    from rich.text import Text

    room = max(20, console.width - len(place) - _LABEL_WIDTH - 2 * len(_GAP))
    for number, line in enumerate(_folded(console, _marked_text(row), room)):
        first = number == 0
        label = f"{_label(row) if first else '':<{_LABEL_WIDTH}}"
        console.print(
            Text.assemble(
                (place if first else " " * len(place), "dim"),
                _GAP,
                (label, "dim" if _is_thinking(row) else STYLES[row.speaker]),
                _GAP,
                line,
            ),
            no_wrap=True,
            overflow="ellipsis",
        )


def _marked_text(row: Row) -> Text:
    from rich.text import Text

    text = Text()
    if row.actor is not None and row.speaker in _PEOPLE:
        text.append(f"{flat(row.actor)}: ", "italic")
    for mark in row.marks:
        text.append(f"[{_said(mark, row)}]", _MARKS[mark]).append(" ")
    return text.append(flat(row.text), _text_style(row))


def _text_style(row: Row) -> str:
    if _is_thinking(row):
        return "dim italic"
    return "dim" if row.speaker == "record" else ""


def _is_thinking(row: Row) -> bool:
    return row.kind in {"thinking", "unfinished thinking"}


def _label(row: Row) -> str:
    """Return who speaks, or what it is where that says more."""
    if row.kind == "result":
        return f"└ result of {row.answers}" if row.answers else "└ result"
    label = row.speaker if row.kind == "text" else flat(row.kind)
    return label if len(label) <= _LABEL_WIDTH else f"{label[: _LABEL_WIDTH - 1]}…"


def _folded(console: Console, text: Text, room: int) -> Iterator[Text]:
    """Yield the first lines of a text; the last of them says how much more there is."""
    from rich.text import Text

    limit = room * (_FOLDED_TO + 1)
    start = text[:limit]
    lines = start.wrap(console, room)
    if len(lines) <= _FOLDED_TO and len(text) <= limit:
        yield from lines
        return
    shown = lines[:_FOLDED_TO]
    left = len(text) - sum(len(line) for line in shown)
    more = f" … {counted(left, 'character')} more"
    last = shown[-1]
    last.truncate(room - len(more))
    left = len(text) - sum(len(line) for line in shown)
    yield from shown[:-1]
    yield Text.assemble(last, (f" … {counted(left, 'character')} more", "dim"))


def _about(conversation: NamedConversation) -> str:
    head = conversation.head
    about = (
        counted(head.version, "event"),
        counted(head.exchange, "exchange"),
        f"{counted(head.input_tokens, 'token')} in, {head.output_tokens:,} out",
        f"{counted(len(head.open_calls), 'call')} open" if head.open_calls else "",
        "closed" if head.closed else "",
    )
    return " · ".join(filter(None, about))


def _heading(console: Console, text: str) -> Text:
    from rich.text import Text

    heading = f"── {text} "
    return Text(heading + "─" * max(0, console.width - len(heading)), "dim")
