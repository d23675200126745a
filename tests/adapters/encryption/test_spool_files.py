"""What waits in the spool of an encrypted log is encrypted as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import pytest

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.spool_files import EncryptedFiles
from onrecord.adapters.recording.spool import RecordingWarning, Spool
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.wire.blob_bytes import FileBytes, Scratch, filed, pieces_of
from onrecord.domain.blobs import blob_of
from onrecord.domain.encryption.subjects import conversation_subject, named_subject
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import RecordedEvent
from tests.adapters.encryption.places import erase
from tests.adapters.wire.spooled_events import FULL, begin, unstored
from tests.contract.encrypted_places import EncryptedPlace
from tests.contract.places import MemoryPlace
from tests.factories import TENANT

LONG = bytes(2_500_000) + b"the canary sings"


@pytest.fixture
def log(tmp_path: Path) -> EncryptedLog:
    opened = EncryptedPlace(MemoryPlace(), tmp_path).open()
    assert isinstance(opened, EncryptedLog)
    return opened


def long_of(waiting: PendingAppend, folder: Path) -> dict[str, FileBytes]:
    """The documents of something that waits, in files."""
    return {
        digest: filed(pieces_of(data), Scratch(folder, is_encrypted=True))
        for digest, data in waiting.blobs.items()
    }


@pytest.mark.parametrize("is_long", [False, True], ids=["in memory", "in a file"])
def test_a_file_of_it_has_no_text_and_comes_back_whole(
    log: EncryptedLog, tmp_path: Path, is_long: bool
) -> None:
    waiting, folder = unstored("the canary sings", blob=LONG), tmp_path / "spool"
    waiting = waiting._replace(blobs=long_of(waiting, folder) if is_long else waiting.blobs)
    begin(log, waiting)
    assert Spool(folder, EncryptedFiles(log)).scratch.is_encrypted
    Spool(folder, EncryptedFiles(log)).put(waiting, FULL)
    (file,) = folder.iterdir()
    assert b"canary" not in file.read_bytes()
    with pytest.warns(RecordingWarning):
        assert Spool(folder, EncryptedFiles(log)).take_in(log) == 1
    own = waiting.append.conversation_id
    got = list(log.read(own, after=1))
    assert [event.body for event in got] == [event.body for event in waiting.append.events]
    assert b"".join(log.get_blob(own, blob_of(LONG))) == LONG
    assert not list(folder.iterdir())


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-1],
    "cut in half": lambda data: data[: len(data) // 2],
    "another address": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "another salt": lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
    "cut in its head": lambda data: data[:31],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_was_changed_is_put_aside(
    log: EncryptedLog, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    waiting, folder = unstored("Hello", blob=LONG), tmp_path / "spool"
    begin(log, waiting)
    Spool(folder, EncryptedFiles(log)).put(waiting, FULL)
    (file,) = folder.iterdir()
    file.write_bytes(change(file.read_bytes()))
    with pytest.warns(RecordingWarning, match="never recorded"):
        assert Spool(folder, EncryptedFiles(log)).take_in(log) == 0
    assert log.head(waiting.append.conversation_id).version == 1


def test_what_is_under_a_destroyed_key_is_dropped(log: EncryptedLog, tmp_path: Path) -> None:
    waiting, folder = unstored("Hello"), tmp_path / "spool"
    begin(log, waiting)
    Spool(folder, EncryptedFiles(log)).put(waiting, FULL)
    assert log.keys is not None
    erase(log.keys, conversation_subject(TENANT, waiting.append.conversation_id))
    assert Spool(folder, EncryptedFiles(log)).take_in(log) == 0
    assert not list(folder.iterdir())


def test_what_waits_for_a_log_that_is_away_is_under_the_keys_of_whom_it_names(
    log: EncryptedLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log.keys is not None
    waiting, folder = unstored("Hello"), tmp_path / "spool"
    events = tuple(each._replace(subjects=("ana",)) for each in waiting.append.events)
    waiting = waiting._replace(append=waiting.append._replace(events=events))

    def away(conversation_ids: Sequence[UUID]) -> list[RecordedEvent]:
        raise StorageUnavailable("the log is away")

    monkeypatch.setattr(log.stored, "first_events", away)
    Spool(folder, EncryptedFiles(log)).put(waiting, FULL)
    (file,) = folder.iterdir()
    name = log.keys.cipher_for((named_subject(TENANT, "ana"),)).name
    assert name.encode() in file.read_bytes()


def test_without_a_key_nothing_is_written_in_clear(log: EncryptedLog, tmp_path: Path) -> None:
    waiting, folder = unstored("Hello"), tmp_path / "spool"
    begin(log, waiting)
    locked = EncryptedLog(log.stored, None)
    spool = Spool(folder, EncryptedFiles(locked))
    spool.put(waiting, FULL)
    assert list(folder.iterdir()) == []
    with pytest.raises(StorageUnavailable, match="ONRECORD_KEYS"):
        spool.take_in(locked)
