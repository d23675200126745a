"""How legal holds, retention classes and what became of conversations are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.domain.errors import counted
from onrecord.domain.header import timestamp
from onrecord.projections.retention.retention_records import class_text

if TYPE_CHECKING:
    from onrecord.adapters.upkeep.dispositions import Disposition, DispositionResult
    from onrecord.projections.retention.hold_records import HoldEntry
    from onrecord.projections.retention.retention_records import RetentionEntry

HOLD_COLUMNS: Final = (
    *(Column("id", Kind.KEY), Column("matter", Kind.NAME), Column("on", Kind.NAME)),
    *(Column("placed", Kind.TIME), Column("placed by", Kind.NAME), Column("reason")),
    Column("lifted", Kind.TIME),
)
CLASS_COLUMNS: Final = (
    *(Column("of", Kind.NAME), Column("class"), Column("rule"), Column("set", Kind.TIME)),
    Column("set by", Kind.NAME),
)
_DISPOSITION_COLUMNS: Final = (
    Column("id", Kind.KEY, is_extra=True),
    *(Column("conversation", Kind.KEY), Column("last moved", Kind.TIME)),
    *(Column("class", Kind.NAME), Column("outcome", Kind.NAME)),
)


def disposition_document(one: Disposition) -> dict[str, object]:
    """Return what became of a conversation, as JSON."""
    archive = one.archive
    return {
        "conversation": str(one.conversation_id),
        "key": one.key,
        "events": one.events,
        "moved_at": timestamp(one.moved_at),
        "retention": None if one.retention is None else class_document(one.retention),
        "hold": None if one.hold is None else hold_document(one.hold),
        "archive": None if archive is None else {"path": archive.path, "sha256": archive.sha256},
        "erased": one.is_erased,
        "early": one.is_early,
        "fault": one.fault,
    }


def hold_row(hold: HoldEntry, keys: Mapping[UUID, str]) -> tuple[Cell, ...]:
    """Return the row of a hold; `keys` are those of conversations by their ids."""
    placed, on = hold.placed, hold.conversation_id
    lifted = None if hold.lifted is None else hold.lifted.at
    what = "all" if on is None else keys.get(on, str(on))
    return str(hold.hold_id), placed.matter, what, placed.at, placed.actor, placed.reason, lifted


def hold_document(hold: HoldEntry) -> dict[str, object]:
    """Return a hold as JSON."""
    placed, lifted = hold.placed, hold.lifted
    return {
        "id": str(hold.hold_id),
        "conversation": None if placed.conversation_id is None else str(placed.conversation_id),
        "matter": placed.matter,
        "reason": placed.reason,
        "placed_by": placed.actor,
        "placed_at": timestamp(placed.at),
        "lifted_by": None if lifted is None else lifted.actor,
        "lifted_at": None if lifted is None else timestamp(lifted.at),
        "lifted_for": None if lifted is None else lifted.reason,
    }


def class_target(entry: RetentionEntry, keys: Mapping[UUID, str]) -> str:
    """Return what a retention class is of; `keys` are those of conversations by their ids."""
    fact = entry.fact
    if fact.conversation_id is not None:
        return keys.get(fact.conversation_id, str(fact.conversation_id))
    if fact.label is None:
        return "all"
    return fact.label if fact.value is None else f"{fact.label}={fact.value}"


def class_row(entry: RetentionEntry, keys: Mapping[UUID, str]) -> tuple[Cell, ...]:
    """Return the row of a retention class; `keys` are those of conversations by their ids."""
    fact = entry.fact
    return class_target(entry, keys), class_text(fact.keep), fact.rule, fact.at, fact.actor


def class_document(entry: RetentionEntry) -> dict[str, object]:
    """Return a retention class as JSON."""
    fact = entry.fact
    return {
        "conversation": None if fact.conversation_id is None else str(fact.conversation_id),
        "label": fact.label,
        "value": fact.value,
        "class": fact.keep,
        "rule": fact.rule,
        "set_by": fact.actor,
        "set_at": timestamp(fact.at),
    }


def disposition_outcome(one: Disposition) -> str:
    """Say what became of a conversation."""
    if one.hold is not None:
        return f"kept by {one.hold}"
    if one.is_erased:
        return "erased"
    return "left alone" if one.fault is None else f"left alone: {one.fault}"


def due_outcome(one: Disposition) -> str:
    """Say what would become of a conversation."""
    if one.hold is not None or one.fault is not None:
        return disposition_outcome(one)
    return "would go, though its class has not run out" if one.is_early else "would go"


def show_dispositions(
    found: Iterable[Disposition], outcome: Callable[[Disposition], str], *, as_json: bool
) -> None:
    """Draw what would become of conversations as a table on a terminal, else write a line each."""
    if as_json or not output.is_drawn():
        for one in found:
            _show_disposition(one, outcome(one), as_json=as_json)
        return
    show_rows(_DISPOSITION_COLUMNS, [_row(one, outcome(one)) for one in found])


def _row(one: Disposition, outcome: str) -> tuple[Cell, ...]:
    kept = None if one.retention is None else str(one.retention)
    return str(one.conversation_id), one.key, one.moved_at, kept, outcome


def disposition_writer(*, as_json: bool) -> Callable[[Disposition], None]:
    """Return what writes what became of each conversation, as it happens."""
    return lambda one: _show_disposition(one, disposition_outcome(one), as_json=as_json)


def _show_disposition(one: Disposition, outcome: str, *, as_json: bool) -> None:
    """Write what became of a conversation, or would."""
    if as_json:
        output.json_line(disposition_document(one))
        return
    kept = None if one.retention is None else str(one.retention)
    output.plain(one.conversation_id, one.key, timestamp(one.moved_at), kept, outcome)


def show_due(due: Iterable[Disposition], *, as_json: bool) -> None:
    """Show what would become of conversations, and how many would go."""
    counts = Counter[str]()

    def outcome(one: Disposition) -> str:
        counts["goes"] += one.hold is None and one.fault is None
        counts["kept"] += one.hold is not None
        return due_outcome(one)

    show_dispositions(due, outcome, as_json=as_json)
    if not as_json:
        would_go = counted(counts["goes"], "conversation")
        output.note(f"{would_go} would go; holds keep {counts['kept']:,}. Nothing was erased.")


def note_summary(done: DispositionResult, *, as_json: bool) -> None:
    """Say on standard error how many conversations went, and what is still on the disk."""
    if not as_json:
        erased = f"{counted(done.erased, 'conversation')} erased, {done.archived:,} archived"
        output.note(f"{erased}; holds keep {done.kept:,}; {done.left:,} left alone.")
    for sentence in done.residue:
        output.note(f"onrecord: {sentence}")
