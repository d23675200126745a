"""Attacks on an encrypted log by whoever may write anything to its database, or to its key store.

`verify` finds each of them with the keys, and most without: it names the first event that is wrong. No
reader ever gets what was said in another conversation: they get their own texts, or a typed error.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.encryption.local_keys import new_local_key
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import CorruptRecord, InvalidInput, OnrecordError, StorageUnavailable
from onrecord.domain.events import ConversationForked
from onrecord.domain.log import Recorded
from tests.factories import appending, started
from tests.tampering import forging
from tests.tampering.encrypted import (
    AGAIN,
    ALL,
    ANA,
    BEN,
    CLEO,
    LATER,
    PROMPT,
    Encrypted,
    Spoken,
    faults_of,
    id_in,
    places,
    record,
    with_members,
    words,
)
from tests.tampering.rows import Row, drawn
from tests.tampering.sqlite_rows import SqliteRows

WHERE = ("sqlite", "postgres")
DERIVED = {"exchange", "opens_exchange", "points", "pointer", "once"}
"""The columns of an event that follow from its body: without the keys nobody can tell."""


@pytest.fixture(scope="module", params=WHERE)
def attacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Encrypted]:
    """A store that each test leaves as it was."""
    yield from places(request.param, tmp_path_factory.mktemp("encrypted"))


@pytest.fixture(params=WHERE)
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Encrypted]:
    """A store for one test alone."""
    yield from places(request.param, tmp_path)


@pytest.fixture
def keys(attacked: Encrypted, tmp_path: Path) -> Path:
    """A copy of the key store and of the key-encryption key, to be changed."""
    return copied(attacked.folder, tmp_path / "keys")


def copied(folder: Path, to: Path) -> Path:
    to.mkdir()
    for file in (*folder.glob("keys.db*"), folder / "kek"):
        shutil.copy(file, to)
    return to


def test_what_nobody_touched_is_heard_and_verifies_with_the_keys_and_without(
    attacked: Encrypted,
) -> None:
    assert attacked.must_hear_their_own() == []
    assert [attacked.heard(spoken) for spoken in ALL] == [
        [f"{words(spoken)}{what}" for what in (PROMPT, LATER, "document")] for spoken in ALL
    ]
    verified, locked = attacked.both()
    assert (verified.is_whole, verified.faults, locked.is_whole) == (True, (), True)
    assert any("12 encrypted events without a key" in each for each in locked.unchecked)


def test_any_change_of_any_column_of_any_encrypted_event_is_found(attacked: Encrypted) -> None:
    unnoticed, unnoticed_without_keys = list[str](), set[str]()
    tried = 0
    for tampering in drawn(attacked.rows, "event"):
        try:
            tampering.do(attacked.rows)
        except (apsw.Error, psycopg.Error):
            continue  # The database itself refuses it.
        else:
            tried += 1
            with_keys, without = attacked.noticed()
            if not with_keys:
                unnoticed.append(tampering.column)
            if not without:
                unnoticed_without_keys.add(tampering.column)
            attacked.must_hear_their_own(readers=[ANA, CLEO])
        finally:
            attacked.rows.undo("event")
    assert unnoticed == []
    assert unnoticed_without_keys <= DERIVED
    assert tried > 10


PAIRS = {"of one conversation": ANA, "of two": AGAIN, "of two tenants": CLEO}
SWAPS: dict[str, tuple[str, ...]] = {
    "salts and bodies": ("salt", "body"),
    "headers": ("header",),
    "all that is read": ("header", "salt", "body"),
    "whole events": ("event_id", "header", "salt", "body"),
}


def swapped(one: Row, other: Row, names: Sequence[str]) -> list[Row]:
    return [with_members(one, other, names), with_members(other, one, names)]


@pytest.mark.parametrize("pair", PAIRS)
def test_swapped_ciphertexts_are_named_and_read_by_nobody(attacked: Encrypted, pair: str) -> None:
    readers = (ANA, PAIRS[pair])
    one, other = attacked.events(ANA)[PROMPT], attacked.events(PAIRS[pair])[LATER]
    version, position = (attacked.ids[ANA], 2), f"position {one['position']} is the first"
    for name, names in SWAPS.items():
        is_read = name == "whole events" and pair == "of one conversation"
        changed = swapped(one, other, names)
        try:
            attacked.put(changed)
            for verified in attacked.both():
                assert version in faults_of(verified)
            must_be_corrupt(attacked, readers, is_read=is_read)
            # With all hashes made anew the seals tell.
            attacked.put([forging.hashed(row) for row in changed])
            verified, locked = attacked.both()
            assert any(position in fault.why for fault in locked.faults)
            assert is_read or version in faults_of(verified)
            must_be_corrupt(attacked, readers, is_read=is_read)
        finally:
            attacked.rows.undo("event")


def must_be_corrupt(attacked: Encrypted, readers: Sequence[Spoken], *, is_read: bool) -> None:
    """Whoever reads what was swapped is told so; texts of one conversation in another order are its own."""
    refused = attacked.must_hear_their_own(readers=readers)
    expected = [] if is_read else [CorruptRecord] * len(set(readers))
    assert [type(error) for error in refused] == expected


@pytest.mark.parametrize("member", ["key", "codec"])
def test_a_key_id_or_a_codec_of_another_event_is_named(attacked: Encrypted, member: str) -> None:
    one, other = attacked.events(ANA)[PROMPT], attacked.events(BEN)[PROMPT]
    names = {"key": (key_name(one), key_name(other)), "codec": (b'"json+aes-256-gcm"', b'"json"')}
    header = one["header"].replace(*names[member])
    assert header != one["header"]
    for changed in ({**one, "header": header}, forging.hashed({**one, "header": header})):
        try:
            attacked.put([changed])
            verified, locked = attacked.both()
            assert (attacked.ids[ANA], 2) in faults_of(verified)
            assert not locked.is_whole
            must_be_corrupt(attacked, [ANA], is_read=False)
        finally:
            attacked.rows.undo("event")


def key_name(row: Row) -> bytes:
    _, _, named = row["header"].partition(b'"key":"')
    name: bytes = named.partition(b'"')[0]
    return name


def test_an_older_ciphertext_that_is_played_again_is_named(attacked: Encrypted) -> None:
    old, new = attacked.events(ANA)[PROMPT], attacked.events(ANA)[LATER]
    for names in (("salt", "body"), ("header", "salt", "body")):
        try:
            attacked.put([forging.hashed(with_members(new, old, names))])
            verified, locked = attacked.both()
            assert (attacked.ids[ANA], 3) in faults_of(verified)
            position = f"position {new['position']} is the first"
            assert any(position in fault.why for fault in locked.faults)
            must_be_corrupt(attacked, [ANA], is_read=False)
        finally:
            attacked.rows.undo("event")


def test_swapped_documents_are_named_and_read_by_nobody(attacked: Encrypted) -> None:
    (table,) = {"blob_piece", "blob_chunk"} & set(attacked.rows.tables())
    documents = documents_of(attacked, table)
    for other in (AGAIN, BEN, CLEO):
        try:
            for one, put in ((ANA, other), (other, ANA)):
                attacked.rows.change(table, documents[one], "data", documents[put]["data"])
            faults = faults_of(attacked.verify())
            named = {spoken for spoken in ALL if (attacked.ids[spoken], 2) in faults}
            assert named == {ANA, other}
            must_be_corrupt(attacked, [ANA, other], is_read=False)
        finally:
            attacked.rows.undo(table)


@pytest.mark.parametrize("other", [AGAIN, BEN, CLEO])
def test_a_key_that_leads_to_another_conversation_tells_nothing_of_it(
    attacked: Encrypted, other: Spoken
) -> None:
    rows = {id_in(row["conversation_id"]): row for row in attacked.rows.rows("conversation_key")}
    one, put = rows[attacked.ids[ANA]], rows[attacked.ids[other]]
    try:
        for row in (one, put):
            attacked.rows.delete("conversation_key", row)
        for row in swapped(one, put, ["conversation_id"]):
            attacked.rows.insert("conversation_key", row)
        wrong = {attacked.ids[ANA], attacked.ids[other]}
        assert {id_ for id_, _ in faults_of(attacked.verify())} >= wrong
        must_be_corrupt(attacked, [ANA, other], is_read=False)
    finally:
        attacked.rows.undo("conversation_key")


def documents_of(attacked: Encrypted, table: str) -> dict[Spoken, Row]:
    """The row with the bytes of each conversation's document."""
    rows = attacked.rows.rows(table)
    of, id_ = ("blob", "number") if table == "blob_piece" else ("blob_id", "blob_id")
    found: dict[Spoken, Row] = {}
    for blob in attacked.rows.rows("blob"):
        (spoken,) = (each for each in ALL if attacked.ids[each] == id_in(blob["conversation_id"]))
        (found[spoken],) = (row for row in rows if row[of] == blob[id_])
    return found


# Attacks on the key store, and on what encrypts its keys.


@pytest.mark.parametrize("member", ["key_id", "subject", "wrapped"])
def test_a_key_in_the_place_of_another_subjects_is_named(
    attacked: Encrypted, keys: Path, member: str
) -> None:
    with closing(SqliteRows(keys / "keys.db")) as by_hand:
        names = {key_name(attacked.events(one)[0]).decode() for one in (ANA, BEN)}
        ana, ben = (row for row in by_hand.rows("subject_key") if row["key_id"] in names)
        for row in (ana, ben):
            by_hand.delete("subject_key", row)
        for row in swapped(ana, ben, (member,)):
            by_hand.insert("subject_key", row)
    verified, locked = attacked.both(keys)
    faults = faults_of(verified)
    wrong = {spoken for spoken in ALL if (attacked.ids[spoken], 1) in faults}
    assert wrong == {ANA, AGAIN, BEN}
    refused = attacked.must_hear_their_own(keys)
    assert [type(error) for error in refused] == [CorruptRecord] * 3
    assert locked.is_whole


def test_a_key_that_was_taken_away_is_missing_and_not_erased(
    attacked: Encrypted, keys: Path
) -> None:
    with closing(SqliteRows(keys / "keys.db")) as by_hand:
        name = key_name(attacked.events(BEN)[0]).decode()
        (row,) = (row for row in by_hand.rows("subject_key") if row["key_id"] == name)
        by_hand.delete("subject_key", row)
    assert {(attacked.ids[BEN], version) for version in (1, 2, 3)} <= faults_of(
        attacked.verify(keys)
    ).keys()
    (refused,) = attacked.must_hear_their_own(keys)
    assert isinstance(refused, CorruptRecord)
    assert "has no key" in str(refused)


def test_two_key_stores_that_were_swapped_give_nothing(
    attacked: Encrypted, keys: Path, tmp_path: Path
) -> None:
    """Another log's are refused; where somebody writes this log's id into them, its keys are missing."""
    other = f"sqlite:///{tmp_path / 'other.db'}"
    new_key_file(tmp_path / "kek")
    record(other, tmp_path)
    with closing(SqliteRows(keys / "keys.db")) as own:
        (meta,) = own.rows("meta")
    for kek in (tmp_path / "kek", keys / "kek"):
        swapped_keys = copied(tmp_path, tmp_path / f"swapped-{kek.parent.name}")
        shutil.copy(kek, swapped_keys)
        refused = attacked.must_hear_their_own(swapped_keys)
        assert [str(error).endswith("name this log's own") for error in refused] == [True] * 4
        with closing(SqliteRows(swapped_keys / "keys.db")) as by_hand:
            (row,) = by_hand.rows("meta")
            by_hand.change("meta", row, "log", meta["log"])
        refused = attacked.must_hear_their_own(swapped_keys)
        assert [type(error) for error in refused] == [StorageUnavailable] * 4
        with pytest.raises(StorageUnavailable, match="no key of this log"):
            attacked.verify(swapped_keys)


def test_a_wrong_missing_rotated_or_cut_key_encryption_key_gives_nothing(
    attacked: Encrypted, keys: Path
) -> None:
    kek, own = keys / "kek", (keys / "kek").read_text("ascii")
    wrong = new_local_key().text()
    renamed = f"{own.partition('.')[0]}.{wrong.partition('.')[2]}"
    expected: dict[str | None, type[OnrecordError]] = {
        f"{wrong}\n": StorageUnavailable,
        f"{renamed}\n": InvalidInput,
        own[:-9]: InvalidInput,
        "": InvalidInput,
        None: StorageUnavailable,
    }
    for text, error in expected.items():
        kek.unlink()
        if text is not None:
            kek.touch(0o600)
            kek.write_text(text, "ascii")
        refused = attacked.must_hear_their_own(keys)
        assert [type(each) for each in refused] == [error] * 4
        with pytest.raises(error):
            attacked.verify(keys)
        kek.touch(0o600)  # For the next one, or for its own again.
    kek.write_text(own, "ascii")
    with attacked.opened(keys=keys) as store:
        log = backend_of(store)
        assert isinstance(log, EncryptedLog)
        assert log.keys is not None
        log.keys.rotate()
    assert attacked.must_hear_their_own(keys) == []
    assert attacked.verify(keys).is_whole
    kek.write_text(own, "ascii")
    refused = attacked.must_hear_their_own(keys)
    assert [type(each) for each in refused] == [StorageUnavailable] * 4


def test_a_fork_of_another_tenants_conversation_tells_nothing_of_it(fresh: Encrypted) -> None:
    """Who has the database, or a key of the service, appends that a conversation goes on from another."""
    forged = Spoken(CLEO.tenant, "forged", "cleo")
    forking = ConversationForked(origin=fresh.ids[ANA], version=2)
    with fresh.opened(CLEO) as store:
        log = backend_of(store)
        id_ = log.open(forged.tenant, forged.key)
        append = appending(id_, started(forged.key), forking, tenant=forged.tenant)
        (verdict,) = log.append([append])
    assert isinstance(verdict, Recorded)
    assert isinstance(fresh.heard(forged), CorruptRecord)


def test_backups_of_before_an_erasure_give_nothing_back(fresh: Encrypted, tmp_path: Path) -> None:
    before, rows = copied(fresh.folder, tmp_path / "before"), forging.backup_of(fresh.rows)
    assert fresh.must_hear_their_own(before) == []
    with fresh.opened() as store:
        assert store.subjects.erase("ana", reason="asked to", rule="GDPR 17").conversations == 2
    erased = {ANA, AGAIN}
    assert len(fresh.must_hear_their_own()) == len(erased)
    assert fresh.verify().is_whole
    shutil.copy(fresh.folder / "kek", before)
    # The key store alone was put back: the log has nothing of hers, and the rest is under a retired key.
    assert len(fresh.must_hear_their_own(before)) == 4
    # The log too.
    forging.put_back(fresh.rows, rows)
    forging.unmark(fresh.rows)
    refused = fresh.must_hear_their_own(before)
    assert [type(error) for error in refused] == [StorageUnavailable] * 4
    # The log alone: its key is destroyed, and the others read on.
    assert [fresh.heard(spoken) == [] for spoken in ALL] == [spoken in erased for spoken in ALL]
    assert fresh.must_hear_their_own() == []
