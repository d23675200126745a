"""How legal holds, retention classes and what became of conversations are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from onrecord.adapters.upkeep.dispositions import Disposition
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
    }


def hold_row(hold: HoldEntry) -> tuple[Cell, ...]:
    """Return the row of a hold."""
    placed, on = hold.placed, hold.conversation_id
    lifted = None if hold.lifted is None else hold.lifted.at
    what = "all" if on is None else str(on)
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


def class_target(entry: RetentionEntry) -> str:
    """Return what a retention class is of."""
    fact = entry.fact
    if fact.conversation_id is not None:
        return str(fact.conversation_id)
    if fact.label is None:
        return "all"
    return fact.label if fact.value is None else f"{fact.label}={fact.value}"


def class_row(entry: RetentionEntry) -> tuple[Cell, ...]:
    """Return the row of a retention class."""
    fact = entry.fact
    return class_target(entry), str(fact.keep), fact.rule, fact.at, fact.actor


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
    return "erased" if one.is_erased else "left alone"


def show_disposition(one: Disposition, outcome: str, *, as_json: bool) -> None:
    """Write what became of a conversation, or would."""
    if as_json:
        output.json_line(disposition_document(one))
        return
    kept = None if one.retention is None else str(one.retention)
    output.plain(one.conversation_id, one.key, timestamp(one.moved_at), kept, outcome)
