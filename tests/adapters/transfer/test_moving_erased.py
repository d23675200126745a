"""Events that one of two logs has no text of any more: an erasure explains it, or the check names them."""

from __future__ import annotations

import pytest

from onrecord.adapters.transfer import moves
from onrecord.adapters.transfer.moved_conversations import ORIGIN_ERASED, ORIGIN_LEFT
from onrecord.domain.encryption.bodies import key_name_in
from onrecord.domain.errors import ConversationOnHold, CorruptRecord
from tests.adapters.transfer.moving_logs import Logs, logs
from tests.tampering import forging
from tests.tampering.rows import Rows

__all__ = ["logs"]


def _nulled(rows: Rows, position: int) -> None:
    """Take the text of an event by SQL: its digest and its leaf stay."""
    row = next(row for row in rows.rows("event") if row["position"] == position)
    rows.delete("event", row)
    rows.insert("event", {**row, "salt": None, "body": None})
    rows.close()


@pytest.mark.parametrize("log", ["old", "new"])
def test_a_text_that_is_gone_without_an_erasure_is_no_match(logs: Logs, log: str) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        id_ = both.source.get(forging.FIRST).conversation_id
    _nulled(logs.rows(getattr(logs, log)), 2)
    named = f"version 2 of the conversation {id_} .* {log} log, and no erasure there tells of it"
    with logs.opened() as both:
        for again in (both.check, both.move):
            with pytest.raises(CorruptRecord, match=named):
                again()


def test_a_conversation_that_no_erasure_took_is_not_left_out(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
    _nulled(logs.rows(logs.old), 1)
    with (
        logs.opened() as both,
        pytest.raises(CorruptRecord, match=r"position 1 .*no erasure there"),
    ):
        both.move()


def test_a_key_that_is_destroyed_without_an_erasure_is_no_match(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        id_ = both.source.get(forging.FIRST).conversation_id
        (first,) = both.new.stored.first_events([id_])
        assert both.new.keys is not None
        both.new.keys.destroy([key_name_in(first.header) or ""])
        for again in (both.check, both.move):
            with pytest.raises(CorruptRecord, match=f"conversation {id_} .*no erasure there"):
                again()


def test_what_erasures_took_is_compared_without_text_and_counted(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        both.store.forget(forging.FIRST, reason="asked", actor="ana")
        both.store.subjects.erase("customer-812", reason="asked", rule="GDPR 17", actor="ana")
        assert moves.check(both.old, both.new).textless == 8
        assert [of.textless for of in both.move()] == [8]


def test_what_was_erased_in_the_new_log_does_not_come_back_by_a_fork(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        both.store.subjects.erase("customer-812", reason="asked", rule="GDPR 17", actor="ana")
        both.source.get(forging.SECOND).fork("fork")
        both.source.get("fork").fork("fork/fork")
        forks = [both.source.get(key).conversation_id for key in ("fork", "fork/fork")]
        (of,) = both.move()
        assert of.left_out == dict(zip(forks, (ORIGIN_ERASED, ORIGIN_LEFT), strict=True))
        assert [both.new.head(fork).version for fork in forks] == [0, 0]
        assert both.check()


@pytest.mark.parametrize("is_on_all", [False, True])
def test_a_fork_under_a_hold_is_not_left_out(logs: Logs, is_on_all: bool) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.source.get(forging.FIRST).fork("fork")
        fork = both.source.get("fork").conversation_id
        both.source.forget(forging.FIRST, reason="asked", actor="ana")
        both.source.retention.place_hold(
            None if is_on_all else "fork", matter="Smith", reason="claim", actor="ana"
        )
        named = f"{fork} is left out, .* keeps it"
        with pytest.raises(ConversationOnHold, match=named):
            moves.plan(both.old, both.new)
        with pytest.raises(ConversationOnHold, match=named):
            both.move()
        assert not moves.moves_in(both.new)
        assert not list(both.store.retention.holds())
