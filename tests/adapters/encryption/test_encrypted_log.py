"""A log that is encrypted where it is appended to and decrypted where it is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.domain.encryption.bodies import ENCRYPTED, encrypted_header
from onrecord.domain.encryption.subjects import named_subject
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageUnavailable
from onrecord.domain.events import ConversationForked
from onrecord.domain.header import ClientHeader, header_bytes, parse_header
from onrecord.domain.log import Append, Duplicate, Mismatch, Recorded
from tests.adapters.encryption.places import erase
from tests.contract.encrypted_places import EncryptedPlace
from tests.contract.places import MemoryPlace
from tests.factories import TENANT, appending, drafted, prompt, started


@pytest.fixture
def log(tmp_path: Path) -> EncryptedLog:
    opened = EncryptedPlace(MemoryPlace(), tmp_path).open()
    assert isinstance(opened, EncryptedLog)
    return opened


def about(append: Append, *names: str) -> Append:
    return append._replace(events=tuple(each._replace(subjects=names) for each in append.events))


def key_names(log: EncryptedLog, append: Append) -> set[str | None]:
    """What the events of an append are under."""
    ids = {event.event_id for event in append.events}
    stored = log.stored.read(append.conversation_id)
    return {each.client_header().key_id for each in stored if each.event_id in ids}


def test_a_header_under_keys_is_the_canonical_one() -> None:
    header = ClientHeader(
        event_id=uuid4(),
        tenant=TENANT,
        conversation_id=uuid4(),
        type="message.recorded",
        schema_version=1,
        occurred_at=1,
        actor='"codec":"json","format":1,',
        metadata={"codec": "json", "key": "k"},
    )
    stored = encrypted_header(header_bytes(header), "a" * 32)
    assert parse_header(stored) == header._replace(codec=ENCRYPTED, key_id="a" * 32)
    assert stored == header_bytes(parse_header(stored))


def test_what_is_stored_has_no_text_and_what_is_read_has_it(log: EncryptedLog) -> None:
    conversation = uuid4()
    log.append([appending(conversation, started(), prompt("the canary sings"))])
    stored = list(log.stored.read(conversation))
    assert not any(b"canary" in (event.body or b"") for event in stored)
    assert [event.event() for event in log.read(conversation)] == [
        started(),
        prompt("the canary sings"),
    ]
    assert [told.event() for told in log.tell(conversation, exchange=1)] == [
        prompt("the canary sings")
    ]


def test_a_message_told_again_is_known_in_spite_of_another_nonce(log: EncryptedLog) -> None:
    conversation = uuid4()
    append = appending(conversation, started(), prompt())
    assert log.append([append]) == [Recorded(1, 2, 2)]
    assert log.append([append]) == [Duplicate(1, 2)]
    other = drafted(prompt("other"), conversation, event_id=append.events[1].event_id)
    assert log.append([appending(conversation, other)]) == [Mismatch(0)]


def test_a_fork_is_under_the_keys_of_its_origin(log: EncryptedLog) -> None:
    origin, fork = uuid4(), uuid4()
    first = appending(origin, started())
    log.append([about(first, "ana")])
    forked = appending(fork, started("fork"), ConversationForked(origin=origin, version=1))
    log.append([forked])
    later = appending(fork, prompt())
    log.append([later])
    known = key_names(log, first)
    assert None not in known
    assert key_names(log, forked) == key_names(log, later) == known


def test_a_conversation_has_the_subjects_of_its_first_event(log: EncryptedLog) -> None:
    conversation = uuid4()
    log.append([about(appending(conversation, started()), "ana", "ben")])
    log.append([about(appending(conversation, prompt()), "ben", "ana")])
    with pytest.raises(InvalidInput, match="other subjects"):
        log.append([about(appending(conversation, prompt()), "ana")])


def test_the_appends_of_a_batch_to_a_new_conversation_are_under_one_key(log: EncryptedLog) -> None:
    conversation, fork = uuid4(), uuid4()
    first = about(appending(conversation, started()), "ana")
    later = appending(conversation, prompt())
    forked = appending(fork, started("fork"), ConversationForked(origin=conversation, version=1))
    log.append([first, later, forked])
    known = key_names(log, first)
    assert None not in known
    assert key_names(log, later) == key_names(log, forked) == known


def test_a_batch_that_begins_under_a_destroyed_key_is_recorded_in_order_under_a_new_one(
    log: EncryptedLog,
) -> None:
    before, conversation, other = uuid4(), uuid4(), uuid4()
    append = about(appending(before, started()), "ana")
    log.append([append])
    (gone,) = key_names(log, append)
    assert gone is not None
    Operators(log.stored, TENANT).destroy_key(gone, uuid4(), "ann")
    first = about(appending(conversation, started("new")), "ana")
    later = appending(conversation, prompt())._replace(expected_version=1)
    beside = appending(other, started("other"))
    verdicts = log.append([first, beside, later])
    assert [(each.first, each.last) for each in verdicts if isinstance(each, Recorded)] == [
        (1, 1),
        (1, 1),
        (2, 2),
    ]
    assert key_names(log, first) == key_names(log, later) != {gone}
    assert [event.event() for event in log.read(conversation)] == [started("new"), prompt()]


def test_the_keys_of_what_was_just_begun_are_not_looked_up_in_the_log(
    log: EncryptedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = uuid4()
    first, later = appending(conversation, started()), appending(conversation, prompt())
    log.append([about(first, "ana")])
    asked: list[Sequence[UUID]] = []
    monkeypatch.setattr(log.stored, "first_events", asked.append)
    log.append([later])
    assert asked == []
    assert key_names(log, later) == key_names(log, first)


def test_what_a_destroyed_key_encrypted_is_read_as_erased(log: EncryptedLog) -> None:
    conversation = uuid4()
    append = about(appending(conversation, started(), prompt()), "ana")
    log.append([append])
    assert log.keys is not None
    erase(log.keys, named_subject(TENANT, "ana"))
    assert [(event.salt, event.body) for event in log.read(conversation)] == [(None, None)] * 2
    assert log.append([append]) == [Duplicate(1, 2)]


def test_without_keys_nothing_is_read_nor_appended(log: EncryptedLog) -> None:
    conversation = uuid4()
    log.append([appending(conversation, started())])
    locked = EncryptedLog(log.stored, None)
    assert locked.head(conversation).version == 1
    with pytest.raises(StorageUnavailable, match="ONRECORD_KEYS"):
        list(locked.read(conversation))
    with pytest.raises(StorageUnavailable, match="ONRECORD_KEYS"):
        locked.append([appending(conversation, prompt())])


def test_what_is_encrypted_already_is_not_appended(log: EncryptedLog) -> None:
    conversation = uuid4()
    foreign = drafted(started(), conversation)
    header = encrypted_header(foreign.header, "a" * 32)
    with pytest.raises(InvalidInput, match="encrypted already"):
        log.append([appending(conversation, foreign._replace(header=header))])
    assert log.head(conversation).version == 0


def test_a_changed_header_is_named(log: EncryptedLog) -> None:
    conversation = uuid4()
    log.append([appending(conversation, started())])
    (stored,) = log.stored.read(conversation)
    with pytest.raises(CorruptRecord, match="was changed"):
        log.readable(stored._replace(header=stored.header.replace(b"2026", b"2025")))
