"""A log that is marked as encrypted takes nothing in clear that a conversation says, whoever appends it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import cast
from uuid import uuid4

import psycopg
import pytest
from uuid_utils.compat import uuid7

from onrecord.adapters.encryption.encrypted_log import StoredLog
from onrecord.adapters.encryption.readable_log import is_marked_encrypted
from onrecord.adapters.storage.append import PIECE_SIZE
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.storage.eventsourcing.stored_events import OTHER_CODEC
from onrecord.adapters.storage.sqlite.sqlite import Sqlite
from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.encryption.keys import subject_key
from onrecord.domain.errors import StorageReadOnly
from onrecord.domain.log import Append, Conflict, Duplicate, Recorded
from tests.contract.places import Place, prepared
from tests.contract.test_destroyed_keys import begun
from tests.factories import TENANT
from tests.ledger import verified_log
from tests.patience import PATIENCE
from tests.postgres_places import POSTGRES_PLACES, PostgresPlace

KEY = subject_key(bytes(32)).key_id
ODD = {"codec": "json", "z": "1"}
"""Metadata of an encrypted event that look as if it were in clear."""


@pytest.fixture(params=["memory", "sqlite", max(POSTGRES_PLACES)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from prepared(request.param, tmp_path)


@pytest.fixture
def log(place: Place) -> Iterator[StoredLog]:
    opened = cast("StoredLog", place.open())
    yield opened
    opened.close()


def of_another_application() -> Append:
    append = begun(None)
    (event,) = append.events
    header = event.header.replace(b'"codec":"json"', b'"codec":"%s"' % OTHER_CODEC.encode())
    return append._replace(events=(event._replace(header=header, type="refund.requested"),))


def test_a_marked_log_takes_nothing_in_clear_that_a_conversation_says(log: StoredLog) -> None:
    Operators(log, TENANT).destroy_key("a" * 43, uuid4(), "ann")
    log.append([of_another_application()])
    assert (log.is_encrypted(), log.mark_encrypted(), log.is_encrypted()) == (False, True, True)
    before = verified_log(log)
    for batch in ([begun(None)], [begun(KEY), begun(None), begun(KEY)]):
        with pytest.raises(StorageReadOnly, match="name its keys by"):
            log.append(batch)
    assert verified_log(log) == before
    Operators(log, TENANT).destroy_key("b" * 43, uuid4(), "ann")
    taken = log.append([of_another_application(), begun(KEY, metadata=ODD)])
    assert [type(verdict) for verdict in taken] == [Recorded, Recorded]
    assert log.mark_encrypted()


@pytest.mark.parametrize("size", [5, PIECE_SIZE + 5])
def test_a_marked_log_takes_no_document_in_clear(log: StoredLog, size: int) -> None:
    assert log.put_blob(TENANT, uuid7(), [bytes(size)]).size == size
    assert log.mark_encrypted()
    with pytest.raises(StorageReadOnly, match="name its keys by"):
        log.put_blob(TENANT, uuid7(), [bytes(size)])


def test_a_log_whose_conversations_are_in_clear_is_not_marked(log: StoredLog) -> None:
    log.append([begun(None, metadata={"codec": "json+aes-256-gcm", "z": "1"})])
    assert (log.mark_encrypted(), log.is_encrypted()) == (False, False)
    log.append([begun(None)])
    log.append([begun(KEY)])
    faults = [fault.why for fault in verify_log(log).faults if "encrypted" in fault.why]
    assert ["mark that the log is encrypted is gone" in why for why in faults] == [True, False]
    assert "2 events of conversations are in clear, the first at position " in faults[1]
    # One encrypted event outweighs those that somebody added without keys.
    assert (log.mark_encrypted(), is_marked_encrypted(log)) == (True, True)


def test_what_is_in_clear_in_a_marked_log_stays_and_is_appended_again_to_no_effect(
    log: StoredLog,
) -> None:
    known = begun(None)
    log.append([known, begun(KEY)])
    assert (log.mark_encrypted(), log.mark_encrypted()) == (True, True)
    before = verified_log(log)
    (event,) = begun(None).events
    stale = known._replace(events=(event,))
    assert log.append([known, known, stale]) == [Duplicate(1, 1), Duplicate(1, 1), Conflict(1)]
    new = begun(KEY)
    for behind in (known, stale, new):
        with pytest.raises(StorageReadOnly, match="name its keys by"):
            on = stale._replace(conversation_id=behind.conversation_id, expected_version=1)
            log.append([behind, on])
    assert verified_log(log) == before


def test_a_log_that_somebody_marked_with_nothing_but_clear_events_is_marked(
    log: StoredLog, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append([begun(None)])
    if isinstance(log, Sqlite):
        with log.file.writing() as session:
            session.run("mark_encrypted")
    elif isinstance(place, PostgresPlace):
        with psycopg.connect(place.url, autocommit=True) as connection:
            connection.execute("UPDATE onrecord.shard_lock SET encrypted = true")
    else:

        def in_clear(streams: object) -> bool:
            return False

        with monkeypatch.context() as patch:
            patch.setattr("onrecord.adapters.storage.memory.memory.are_in_clear", in_clear)
            log.mark_encrypted()
    assert (log.is_encrypted(), log.mark_encrypted(), log.is_encrypted()) == (True, True, True)


def test_a_conversation_in_clear_comes_before_the_mark_or_not_at_all(
    log: StoredLog, place: Place
) -> None:
    """Whoever opened the log before, and however the two meet."""
    opened = place.open()
    # Each log in memory is another one.
    other = opened if opened.incarnation() == log.incarnation() else log
    barrier = Barrier(4)

    def say() -> bool:
        barrier.wait(PATIENCE)
        try:
            return isinstance(other.append([begun(None)])[0], Recorded)
        except StorageReadOnly:
            return False

    def mark() -> bool:
        barrier.wait(PATIENCE)
        return log.mark_encrypted()

    with ThreadPoolExecutor(4) as pool:
        marks = [pool.submit(mark) for _ in range(2)]
        said = [pool.submit(say) for _ in range(2)]
        is_marked = {each.result(PATIENCE) for each in marks}
        was_said = any(each.result(PATIENCE) for each in said)
    assert is_marked == {log.is_encrypted()} == {not was_said}
    opened.close()
