"""What an error of SQLite means, in a sentence that is true of it."""

from __future__ import annotations

import apsw
import pytest

from onrecord.adapters.storage.sqlite.errors import storage_error
from onrecord.domain.errors import CorruptRecord, StorageBusy, StorageFull, StorageUnavailable

OF_DISKS = (apsw.IOError, apsw.CantOpenError, apsw.AuthError, apsw.NoLFSError)
EVERY = [kind for kind in vars(apsw).values() if isinstance(kind, type)]
ERRORS = [kind for kind in EVERY if issubclass(kind, apsw.Error) and kind is not apsw.Error]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: str(kind.__name__))
def test_only_of_a_disk_is_it_said_to_check_it(kind: type[apsw.Error]) -> None:
    told = str(storage_error(kind("what was said: secret"), "/talks.db", 0))
    assert ("disk" in told) is issubclass(kind, OF_DISKS)
    assert "secret" not in told
    assert "/talks.db" in told


@pytest.mark.parametrize(
    ("kind", "meant", "says"),
    [
        (apsw.MisuseError, StorageUnavailable, "a bug of Onrecord, report it"),
        (apsw.ThreadingViolationError, StorageUnavailable, "a bug of Onrecord, report it"),
        (apsw.SQLError, StorageUnavailable, "another program has changed its tables"),
        (apsw.NoMemError, StorageUnavailable, "no memory is left"),
        (apsw.InterruptError, StorageUnavailable, "do it again"),
        (apsw.ConnectionClosedError, StorageUnavailable, "retry"),
        (apsw.ProtocolError, StorageBusy, "retry"),
        (apsw.TooBigError, StorageFull, "make it smaller"),
        (apsw.CorruptError, CorruptRecord, "restore it from a backup"),
    ],
)
def test_an_error_says_what_to_do(
    kind: type[apsw.Error], meant: type[Exception], says: str
) -> None:
    error = storage_error(kind("cannot start a transaction within a transaction"), "/talks.db", 0)
    assert type(error) is meant
    assert says in str(error)
