"""The documents of an encrypted log: under the keys of their conversation, wherever it is stored."""

from __future__ import annotations

import io
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.transfer.export import export
from onrecord.adapters.transfer.exported import read_export
from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Blob
from onrecord.domain.encryption.blobs import PIECE_SIZE
from onrecord.domain.encryption.subjects import named_subject
from onrecord.domain.errors import CorruptRecord, InvalidExport, StorageUnavailable
from onrecord.domain.log import Append, BlobMissing, Recorded
from tests.adapters.encryption.places import erase
from tests.contract.encrypted_places import EncryptedPlace
from tests.contract.places import WHERE_THE_LOG_IS, SqlitePlace, prepared
from tests.factories import TENANT, appending, attachment, started
from tests.sqlite_by_hand import Unruled

CANARY = b"the canary sings"
LONG = CANARY * (2 * PIECE_SIZE // len(CANARY)) + CANARY


@pytest.fixture(params=WHERE_THE_LOG_IS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EncryptedLog]:
    for place in prepared(request.param, tmp_path):
        opened = EncryptedPlace(place, tmp_path).open()
        assert isinstance(opened, EncryptedLog)
        yield opened
        opened.close()


def about(append: Append, *names: str) -> Append:
    return append._replace(events=tuple(each._replace(subjects=names) for each in append.events))


def stored_bytes(log: EncryptedLog, conversation: UUID) -> bytes:
    """All bytes of all blobs of a conversation, and their digests, as the storage has them."""
    with log.stored.inventory().moment() as moment:
        head = moment.head(conversation)
        assert head is not None
        blobs = moment.blobs(head)
        chunks = [
            chunk.data for blob in blobs for chunk in log.stored.inventory().chunks(head, blob)
        ]
    return b"".join([*chunks, *(blob.digest or b"" for blob in blobs)])


def read(log: EncryptedLog, conversation: UUID, blob: Blob) -> bytes:
    return b"".join(log.get_blob(conversation, blob))


@pytest.mark.parametrize("data", [b"", CANARY, LONG], ids=["empty", "short", "long"])
def test_a_document_is_stored_encrypted_and_read_as_it_was(log: EncryptedLog, data: bytes) -> None:
    conversation = uuid4()
    blob = log.put_blob(TENANT, conversation, [data])
    assert blob == blob_of(data)
    assert read(log, conversation, blob) == data
    append = appending(conversation, started(), attachment(blob))
    assert log.append([append]) == [Recorded(1, 2, 2)]
    assert log.sweep_blobs(0) == 0
    assert read(log, conversation, blob) == data
    stored = stored_bytes(log, conversation)
    assert CANARY not in stored
    assert bytes.fromhex(blob.sha256) not in stored


def test_equal_documents_of_two_conversations_stand_at_two_addresses(log: EncryptedLog) -> None:
    one, other = uuid4(), uuid4()
    for conversation in (one, other):
        blob = log.put_blob(TENANT, conversation, [CANARY])
        log.append([appending(conversation, started(f"{conversation}"), attachment(blob))])
    assert not set(addresses(log, one)) & set(addresses(log, other))
    assert read(log, one, blob_of(CANARY)) == read(log, other, blob_of(CANARY)) == CANARY


def test_what_was_stored_before_a_conversation_names_its_subjects_goes_with_them(
    log: EncryptedLog,
) -> None:
    conversation = uuid4()
    blob = log.put_blob(TENANT, conversation, [CANARY])
    append = about(appending(conversation, started(), attachment(blob)), "ana")
    another_process = EncryptedLog(log.stored, log.keys)
    assert another_process.append([append]) == [Recorded(1, 2, 2)]
    assert log.sweep_blobs(0) == 1
    assert read(log, conversation, blob) == CANARY
    assert log.keys is not None
    erase(log.keys, named_subject(TENANT, "ana"))
    with pytest.raises(CorruptRecord, match="its key was destroyed"):
        read(log, conversation, blob)


def test_a_reference_to_what_is_not_stored_is_refused(log: EncryptedLog) -> None:
    conversation = uuid4()
    assert log.append([appending(conversation, attachment(blob_of(CANARY)))]) == [BlobMissing(0)]
    with pytest.raises(CorruptRecord, match="missing"):
        read(log, conversation, blob_of(CANARY))


def test_without_keys_no_document_is_stored_nor_read(log: EncryptedLog) -> None:
    conversation = uuid4()
    blob = log.put_blob(TENANT, conversation, [CANARY])
    locked = EncryptedLog(log.stored, None)
    with pytest.raises(StorageUnavailable, match="ONRECORD_KEYS"):
        locked.put_blob(TENANT, conversation, [CANARY])
    with pytest.raises(StorageUnavailable, match="ONRECORD_KEYS"):
        read(locked, conversation, blob)


def addresses(log: EncryptedLog, conversation: UUID) -> list[bytes | None]:
    with log.stored.inventory().moment() as moment:
        head = moment.head(conversation)
        assert head is not None
        return [blob.digest for blob in moment.blobs(head)]


def told(log: EncryptedLog) -> tuple[UUID, Blob]:
    """A conversation with a document."""
    conversation = uuid4()
    blob = log.put_blob(TENANT, conversation, [LONG])
    log.append([appending(conversation, started(), attachment(blob))])
    log.open(TENANT, "support/4711", conversation)
    return conversation, blob


def test_a_log_with_documents_verifies_with_keys_and_without(log: EncryptedLog) -> None:
    told(log)
    whole = verify_log(log)
    assert whole.faults == ()
    locked = verify_log(EncryptedLog(log.stored, None))
    assert locked.faults == ()
    assert any("without a key" in each for each in locked.unchecked)


def test_documents_that_were_swapped_or_changed_are_named(tmp_path: Path) -> None:
    """Without a key only damage shows: whoever swaps two documents leaves each of them whole."""
    log = EncryptedPlace(SqlitePlace(tmp_path), tmp_path).open()
    assert isinstance(log, EncryptedLog)
    conversation = uuid4()
    blobs = [log.put_blob(TENANT, conversation, [CANARY + end]) for end in (b"1", b"2")]
    log.append([appending(conversation, started(), *map(attachment, blobs))])
    log.open(TENANT, "support/4711", conversation)
    locked, hand = EncryptedLog(log.stored, None), Unruled.open(tmp_path / "log.db")
    pieces = [data for (data,) in hand.run("SELECT data FROM blob_piece ORDER BY blob")]
    put = "UPDATE blob_piece SET data = ? WHERE blob = ?"
    for number, data in enumerate(reversed(pieces), 1):
        hand.run(put, data, number)
    assert [fault.version for fault in verify_log(log).faults] == [2, 3]
    assert verify_log(locked).faults == ()
    with pytest.raises(CorruptRecord, match="under another key"):
        read(log, conversation, blobs[0])
    for number, data in enumerate(pieces, 1):
        hand.run(put, data, number)
    assert verify_log(log).faults == ()
    hand.run(put, pieces[1] + b"\0", 2)
    assert [fault.version for fault in verify_log(log).faults] == [3]
    assert len(verify_log(locked).faults) == 1
    hand.close()
    log.close()


def test_an_export_holds_documents_as_they_are_stored(log: EncryptedLog) -> None:
    conversation, blob = told(log)
    for exporting in (log, EncryptedLog(log.stored, None)):
        lines = [json.loads(line) for line in export(exporting, conversation, "support/4711")]
        pieces = [b64decode(line["data"]) for line in lines if "blob" in line]
        assert b"".join(pieces) in stored_bytes(log, conversation)
        assert CANARY not in b"".join(pieces)
        (address,) = {line["blob"] for line in lines if "blob" in line}
        assert [bytes.fromhex(address)] == addresses(log, conversation)
        assert address != blob.sha256
    with pytest.raises(InvalidExport, match="only its own log has the keys"):
        list(read_export(io.BytesIO(b"".join(export(log, conversation, "support/4711")))))
