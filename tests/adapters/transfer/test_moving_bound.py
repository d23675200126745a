"""What binds two logs when one is moved into the other: seals of the old log, and what is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.seals.signing import verified
from onrecord.adapters.transfer import moves
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.log import Append
from onrecord.domain.marks.marked_ids import move_id, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import LogMoved
from onrecord.domain.seals.checkpoint import parse_checkpoint
from onrecord.domain.seals.notes import parse_note
from tests.adapters.transfer.moving_logs import (
    Logs,
    OpenedLogs,
    changed,
    everything,
    logs,
    sealed,
)
from tests.tampering import forging

__all__ = ["logs"]

OTHER = UUID(int=7)


def test_a_checkpoint_of_the_old_log_is_kept_with_what_binds(logs: Logs) -> None:
    place = logs.folder / "seals"
    with logs.opened() as both:
        forging.record(both.source)
        seals = sealed(both, place)
        forging.go_on(both.source)
        (of,) = both.move(seals=seals)
        assert of.bound is not None
        assert of.bound.checkpoint is not None
        note = verified(of.bound.checkpoint.encode(), seals.trusted.keys)
        assert (parse_checkpoint(note.text).size, of.bound.size) == (8, 10)
        assert both.check() == [of.bound]


def test_an_old_log_that_was_changed_under_its_seal_is_not_recorded(logs: Logs) -> None:
    place = logs.folder / "seals"
    with logs.opened() as both:
        forging.record(both.source)
        seals = sealed(both, place)
        id_ = both.source.get(forging.FIRST).conversation_id
    changed(
        logs.rows(logs.old),
        id_,
        lambda row: {**row, "body": row["body"].replace(b"NW-20931", b"NW-20999")},
    )
    with logs.opened() as both:
        with pytest.raises(CorruptRecord, match="not what was sealed at 8 events"):
            both.move(seals=seals)
        assert not everything(both.new.stored)


def test_a_move_of_a_sealed_log_shows_its_progress(logs: Logs) -> None:
    steps: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        steps.append((done, total))

    with logs.opened() as both:
        forging.record(both.source)
        seals = sealed(both, logs.folder / "seals")
        both.move(seals=seals, progress=note)
    assert steps == [(8, 8), (8, 8)]  # It was compared with the seal, then recorded.


def test_a_seal_that_came_behind_the_first_move_is_kept_by_the_next(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        (first,) = both.move()
        seals = sealed(both, logs.folder / "seals")
        (second,) = both.move(seals=seals)
        assert second.is_new
        assert second.bound is not None
        assert second.bound.checkpoint is not None
        assert [of.is_new for of in (*both.move(seals=seals), *both.move())] == [False, False]
        assert both.check() == [first.bound, second.bound]


def _forged(both: OpenedLogs, fact: LogMoved) -> None:
    """Let the new log tell of one more move, behind all that it tells of."""
    operators, stream = operators_of(fact.tenant), move_id(fact.tenant, fact.origin)
    stamp = Stamp(uuid7(), fact.at, bytes(16), operators, stream, None)
    known = both.new.head(stream).version
    both.new.append([Append(operators, stream, (draft_fact(fact, stamp),), known)])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"shard": 9, "root": "0" * 64, "pairs": "0" * 64},
            "shard 9, and the old one has none",
        ),
        ({"size": 999}, "has 8 events, and had 999"),
        ({"left": 77}, "says that 77 conversations .* and 0 are"),
        ({"size": 7}, "not of the first 7 events"),
        ({"checkpoint": "none"}, "no signed note"),
    ],
)
def test_the_check_confirms_nothing_that_it_did_not_compare(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    new_key_file(tmp_path / "kek")
    old, new = (f"sqlite:///{tmp_path / name}.db" for name in ("old", "new"))
    with Logs(old, new, tmp_path).opened() as both:
        forging.record(both.source)
        (of,) = both.move(seals=sealed(both, tmp_path / "seals"))
        assert of.bound is not None
        _forged(both, of.bound.model_copy(update=changes))
        with pytest.raises(CorruptRecord, match=why):
            both.check()


def test_each_checkpoint_that_a_new_log_keeps_is_compared(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        (of,) = both.move(seals=sealed(both, logs.folder / "seals"))
        forging.go_on(both.source)
        (more,) = both.move()
        assert of.bound is not None
        assert of.bound.checkpoint is not None
        assert more.bound is not None
        note = parse_note(of.bound.checkpoint.encode())
        other = parse_checkpoint(note.text)._replace(size=7)
        text = of.bound.checkpoint.replace(note.text, other.text())
        _forged(both, more.bound.model_copy(update={"checkpoint": text}))
        with pytest.raises(CorruptRecord, match="not what was sealed at 7 events"):
            both.check()


def test_events_that_came_behind_the_move_are_no_match(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        both.check()
        forging.go_on(both.source)
        with pytest.raises(InvalidInput, match="2 events of the old log were not moved"):
            both.check()
        with onrecord.connect(logs.old, keys="", kek="", tenant=OTHER) as other:
            other.conversation("another").user("Hello")
        both.move(tenant=UUID(int=0))
        assert moves.check(both.old, both.new, tenant=UUID(int=0)).facts
        with pytest.raises(InvalidInput, match="2 events of the old log were not moved"):
            both.check()
        both.move()
        assert len(both.check()) == 3
