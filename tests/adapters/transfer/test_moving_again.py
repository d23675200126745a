"""A log that is moved again: what was changed between two moves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import pytest

from onrecord import Store
from onrecord.adapters.transfer import moves
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.log import RecordedEvent
from tests.adapters.transfer.moving_logs import (
    Logs,
    OpenedLogs,
    logs,
)
from tests.tampering import forging

__all__ = ["logs"]


def _placed(both: OpenedLogs, key: str) -> tuple[list[str], list[str]]:
    """The matters of the holds in force on a conversation, in the old log and in the new one."""
    id_ = both.source.get(key).conversation_id
    old, new = (
        sorted(
            hold.placed.matter for hold in store.retention.holds() if hold.conversation_id == id_
        )
        for store in (both.source, both.store)
    )
    return old, new


def _lift(store: Store, matter: str) -> None:
    hold = next(hold for hold in store.retention.holds() if hold.placed.matter == matter)
    store.retention.lift_hold(hold.hold_id, reason="settled", actor="judge")


def test_holds_that_changed_between_two_moves_are_as_in_the_old_log(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)

        def place(store: Store, matter: str, actor: str = "judge") -> None:
            store.retention.place_hold(forging.FIRST, matter=matter, reason="claim", actor=actor)

        place(both.source, "Smith")
        place(both.source, "Jones")
        both.move()
        assert _placed(both, forging.FIRST)[1] == ["Jones", "Smith"]
        _lift(both.source, "Smith")
        place(both.store, "of the new log")
        both.move()
        assert _placed(both, forging.FIRST) == (["Jones"], ["Jones", "of the new log"])
        lifted = [hold.lifted for hold in both.store.retention.holds(lifted=True) if hold.lifted]
        assert [(fact.actor, fact.reason) for fact in lifted] == [("judge", "settled")]
        for store in (both.source, both.store):
            _lift(store, "Jones")
        place(both.source, "Jones")
        both.move()
        assert _placed(both, forging.FIRST) == (["Jones"], ["Jones", "of the new log"])
        place(both.source, "Jones", "other")
        place(both.source, "Jones")
        place(both.store, "Smith")  # Later than it was lifted: it is the new log's own.
        both.move()
        both.move()
        assert _placed(both, forging.FIRST) == (
            ["Jones"] * 3,
            [*["Jones"] * 3, "Smith", "of the new log"],
        )


def test_classes_that_changed_between_two_moves_are_as_in_the_old_log(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)

        def set_class(store: Store, label: str, keep: Any, rule: str = "x") -> None:
            store.retention.set_class(keep, rule=rule, label=label, actor="ana")

        def classes(store: Store) -> dict[str | None, object]:
            return {entry.fact.label: entry.keep for entry in store.retention.classes()}

        for label in ("depot", "cleared", "own"):
            set_class(both.source, label, "six-years")
        both.move()
        assert classes(both.store) == classes(both.source)
        set_class(both.source, "depot", "six-months")
        both.source.retention.clear_class(label="cleared", reason="no more", actor="ana")
        set_class(both.store, "own", 30, "set in the new log")
        both.move()
        assert classes(both.store) == {"depot": "six-months", "own": 30}
        set_class(both.source, "depot", "six-years")
        set_class(both.source, "cleared", "unlimited")
        both.move()
        assert classes(both.store) == {"depot": "six-years", "cleared": "unlimited", "own": 30}


def test_a_plan_counts_as_the_move_does_and_reads_no_event_of_the_new_log(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        both.source.get(forging.FIRST).user("Later")
        both.source.get(forging.SECOND).user("Later, and kept")
        for store in (both.source, both.store):
            store.forget(forging.FIRST, reason="asked", actor="ana")
        reads = list[UUID]()
        read = both.new.stored.read

        def counted(conversation_id: UUID, **bounds: Any) -> Iterable[RecordedEvent]:
            reads.append(conversation_id)
            return read(conversation_id, **bounds)

        monkeypatch.setattr(both.new.stored, "read", counted)
        planned = [(of.events, of.recorded) for of in moves.plan(both.old, both.new)]
        assert reads == []
        assert planned == [(of.events, of.recorded) for of in both.move()] == [(9, 1)]


def test_a_conversation_that_went_on_in_both_logs_is_named_by_its_key(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        for store in (both.store, both.source):
            store.get(forging.FIRST).user("Later")
        with pytest.raises(
            CorruptRecord, match=f"'{forging.FIRST}' was gone on with in both logs: move into a new"
        ):
            both.move()


def test_a_conversation_that_was_forgotten_in_the_new_log_alone_is_named(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        id_ = both.source.get(forging.FIRST).conversation_id
        both.store.forget(forging.FIRST, reason="asked", actor="ana")
        both.source.get(forging.FIRST).user("Later")
        with pytest.raises(InvalidInput, match=f"{id_} '{forging.FIRST}' was forgotten in the new"):
            both.move()
        both.source.forget(forging.FIRST, reason="asked", actor="ana")
        both.move()
        assert both.check()
