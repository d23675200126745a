"""Requests as a terminal shows them: their reports, what replays prove, what changed between two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.request_documents import diff_document
from onrecord.adapters.presentation.sizes_and_times import size
from onrecord.adapters.streams.lineage import keys_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.domain.errors import counted
from onrecord.domain.log import Log
from onrecord.projections.api import known_api
from onrecord.projections.apis.request import Request, Where
from onrecord.projections.history.history import NoteKind
from onrecord.projections.history.timeline import Timeline
from onrecord.projections.matching.template import Outcome, Sent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from onrecord.projections.history.history import Note
    from onrecord.projections.matching.request_diff import EventChange, RequestDiff


_LONG: Final = 200
_SHOWN: Final = 48
_ONE: Final = {"input": "item", "contents": "content"}
"""What one is called of those that a member of a request holds."""
_DEEDS: Final[dict[NoteKind, str]] = {
    "repaired": "yellow",
    "left out": "red",
    "moved": "cyan",
    "translated": "magenta",
    "noted": "dim",
}

_WAYS: Final[dict[Where, str]] = {"inline": "green", "behind": "cyan", "words": "red"}


def draw(console: Console, made: Request) -> None:
    """Draw a request as JSON with its long strings shortened, then its report."""
    output.draw_json(console, _shortened(dict(made.body)))
    draw_report(console, made)


def draw_report(console: Console, made: Request) -> None:
    """Draw what a request holds, each note of its report, and where documents go."""
    from rich.table import Table
    from rich.text import Text

    sizes = (f"{name} {size(len(part))}" for name, part in made.body_parts().items())
    messages = counted(*message_count(made))
    console.print(Text.assemble((messages, "bold"), (f"  {', '.join(sizes)}", "dim")))
    if not made.report:
        console.print(Text("everything goes as it was recorded", "green"))
    notes = Table.grid(padding=(0, 2))
    notes.add_column(justify="right", style="dim", min_width=3)
    for note in made.report:
        place = "" if note.version is None else str(note.version)
        why = Text.assemble(flat(note.why), (f"  {note.rule}", "dim"))
        notes.add_row(place, Text(note.deed, _DEEDS[note.deed]), why)
    console.print(notes)
    _draw_routes(console, made)


def _draw_routes(console: Console, made: Request) -> None:
    """Draw where each document of a request goes, and which entry of the capabilities decided."""
    from rich.table import Table
    from rich.text import Text

    routes = Table.grid(padding=(0, 2))
    routes.add_column(justify="right", style="dim", min_width=3)
    for route in made.report.routes:
        what = f"{route.media_type} of a {route.holder} {route.why}"
        line = Text.assemble(flat(what), (f"  {route.row}", "dim"))
        routes.add_row(str(route.version), Text(route.where, _WAYS[route.where]), line)
    if made.report.routes:
        console.print(routes)


def message_count(made: Request) -> tuple[int, str]:
    """Return how many messages a request holds, and what its API calls one of them."""
    messages = known_api(made.api).messages
    return len(made.body[messages]), _ONE.get(messages, "message")


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _LONG:
            return f"{value[:_SHOWN]}… ({len(value):,} characters)"
        case dict():
            members = cast("dict[str, Any]", value).items()
            return {name: _shortened(member) for name, member in members}
        case list():
            return [_shortened(item) for item in cast("list[Any]", value)]
        case _:
            return value


# What replays prove: that the bytes of the requests that were sent are still known.


def summary(outcomes: Iterable[Outcome]) -> str:
    """Return what all replays together prove, in a sentence."""
    all_of_them = list(outcomes)
    if not all_of_them:
        return "No request was sent."
    whole = sum(outcome.is_whole for outcome in all_of_them)
    again = sum(outcome.is_rendered is True for outcome in all_of_them)
    recipes = sum(outcome.is_rendered is not None for outcome in all_of_them)
    total = counted(len(all_of_them), "request")
    rendered = f"; {again} of {recipes} rendered again, byte for byte" if recipes else ""
    return f"{whole} of {total} hash to what was sent{rendered}."


def draw_requests(requests: Iterable[Sent]) -> None:
    """Draw requests that were sent as a table."""
    drawn = _table()
    for sent in requests:
        drawn.add_row(*_cells(sent))
    if drawn.row_count:
        output.console().print(drawn)
    else:
        output.sentence(summary(()))


def replay_table(outcomes: Iterable[Outcome]) -> Table:
    """Return the outcomes as a table to draw."""
    from rich.text import Text

    drawn = _table()
    drawn.add_column("replay", overflow="fold")
    for outcome in outcomes:
        style = "green" if outcome.is_proven else "bold red"
        drawn.add_row(*_cells(outcome.sent), Text(flat(proof(outcome)), style))
    return drawn


def _table() -> Table:
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    drawn.add_column("at", justify="right", no_wrap=True)
    drawn.add_column("sent to", overflow="ellipsis", no_wrap=True)
    drawn.add_column("size", justify="right", no_wrap=True)
    drawn.add_column("SHA-256", no_wrap=True)
    return drawn


def _cells(sent: Sent) -> tuple[str, ...]:
    template = sent.event.template
    model = flat(sent.event.model or sent.event.api)
    return str(sent.version), model, size(template.size), f"{template.sha256[:12]}…"


def columns(sent: Sent) -> tuple[object, ...]:
    """Return the plain columns of a request: version, API, model, size, digest."""
    template = sent.event.template
    return (sent.version, sent.event.api, sent.event.model, template.size, template.sha256)


def proof(outcome: Outcome) -> str:
    """Return how a request was verified, in a few words."""
    if outcome.remark:
        return outcome.remark if not outcome.is_whole else f"whole; {outcome.remark}"
    return "rendered again" if outcome.is_rendered else "whole"


# What changed between two requests: drawn as a table, plain between tabs, or as one JSON
# document.

_COLUMNS: Final = (
    Column("change"),
    Column("version", Kind.COUNT),
    Column("what"),
    Column("why", Kind.NAME),
    Column("text", Kind.TEXT),
    Column("recorded in", Kind.KEY),
)


def show_diff(diff: RequestDiff, log: Log, conversation_id: UUID, *, as_json: bool) -> None:
    """Write what changed; of an event of a fork's origin the key of that.

    Versions of a fork and of its origin may be the same numbers.
    """
    if as_json:
        output.json_line(diff_document(diff))
        return
    owners = {change.event.conversation_id for change in diff.events} - {conversation_id}
    origins = {owner: str(owner) for owner in owners} | keys_of(log, owners)
    events = (_row(change, origins.get(change.event.conversation_id)) for change in diff.events)
    show_rows(_COLUMNS, [*_settings(diff), *events])
    if diff.is_empty:
        output.note("nothing changed")


def _settings(diff: RequestDiff) -> Iterator[tuple[Cell, ...]]:
    if diff.instructions is not None:
        yield "removed", None, "instructions", None, diff.instructions.before or "none", None
        yield "added", None, "instructions", None, diff.instructions.after or "none", None
    if diff.tools is not None:
        tools = (
            ("added", diff.tools.added),
            ("removed", diff.tools.removed),
            ("changed", diff.tools.changed),
        )
        for change, names in tools:
            yield from ((change, None, "tool", None, name, None) for name in names)


def _row(change: EventChange, origin: str | None) -> tuple[Cell, ...]:
    event = change.event
    rows = list(Timeline(side_lines=True).rows(event))
    text = "; ".join(row.text for row in rows)
    why = change.reason or _other_form(change)
    return change.change, event.version, event.type, why, text, origin


def _other_form(change: EventChange) -> str:
    before = _said(note for note in change.before if note not in change.after)
    after = _said(note for note in change.after if note not in change.before)
    return f"before: {before}; after: {after}"


def _said(notes: Iterable[Note]) -> str:
    """Return what a report says of an event that the other does not say."""
    return ", ".join(f"{note.deed}, {note.why} [{note.rule}]" for note in notes) or "nothing else"
