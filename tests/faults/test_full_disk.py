"""A process that may write no more: a typed error, nothing half there, and on it goes later."""

import multiprocessing
import resource
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.errors import StorageFull
from onrecord.domain.log import NewEvent
from tests.factories import TENANT, appending, raw_event
from tests.ledger import verified_log


def limit_files(size: int) -> None:
    """Let no file of this process grow beyond `size` bytes; -1 lifts the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size < 0 else size, hard))


def append_until_full(path: Path) -> tuple[int, int, int]:
    """Return the events acknowledged, those found then, and those found after one more."""
    backend = open_sqlite(path)
    conversation, acknowledged = uuid4(), 0
    limit_files(300_000)
    with pytest.raises(StorageFull, match="free some, then retry"):
        while True:
            backend.append([appending(conversation, *pair())])
            acknowledged += 2
    found = len(verified_log(backend))
    limit_files(-1)
    backend.append([appending(conversation, raw_event())])
    after = len(verified_log(backend))
    backend.close()
    return acknowledged, found, after


def pair() -> tuple[NewEvent, NewEvent]:
    return raw_event(body=b"x" * 3000), raw_event(body=b"y" * 3000)


def make_without_room(path: Path, size: int) -> None:
    limit_files(size)
    with pytest.raises(StorageFull):
        open_sqlite(path)


def store_blob_without_room(path: Path) -> int:
    """Return how many blobs are left over when one did not fit."""
    backend = open_sqlite(path)
    conversation = uuid4()
    limit_files(3_000_000)
    with pytest.raises(StorageFull):
        backend.put_blob(TENANT, conversation, [b"x" * 1_000_000] * 9)
    limit_files(-1)
    swept = backend.sweep_blobs(0)
    blob = backend.put_blob(TENANT, conversation, [b"x" * 1_000_000] * 9)
    size = sum(len(piece) for piece in backend.get_blob(conversation, blob))
    backend.close()
    assert size == 9_000_000
    return swept


@pytest.fixture
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    """A process of its own: a limit once set would stay."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def test_a_full_disk_takes_nothing_of_an_append(
    tmp_path: Path, elsewhere: ProcessPoolExecutor
) -> None:
    acknowledged, found, after = elsewhere.submit(append_until_full, tmp_path / "log.db").result()
    assert acknowledged > 0
    assert (found, after) == (acknowledged, acknowledged + 1)


@pytest.mark.parametrize("size", [0, 10, 4096, 20_000])
def test_a_file_that_could_not_be_made_is_made_when_there_is_room(
    tmp_path: Path, elsewhere: ProcessPoolExecutor, size: int
) -> None:
    path = tmp_path / "log.db"
    elsewhere.submit(make_without_room, path, size).result()
    backend = open_sqlite(path)
    backend.append([appending(uuid4(), raw_event())])
    assert len(verified_log(backend)) == 1
    backend.close()


def test_a_blob_that_did_not_fit_is_swept(tmp_path: Path, elsewhere: ProcessPoolExecutor) -> None:
    assert elsewhere.submit(store_blob_without_room, tmp_path / "log.db").result() == 1
