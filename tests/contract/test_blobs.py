"""put_blob, get_blob, sweep_blobs: large bytes, once in the conversation that owns them."""

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, cast
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from onrecord.adapters.encryption.encrypted_blobs import EncryptedBlob, StoredBlob
from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.storage.append import PIECE_SIZE
from onrecord.adapters.transfer.export import blobs_in
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import KeyedBlobs, address_of
from onrecord.domain.encryption.keys import data_key, subject_key
from onrecord.domain.errors import CorruptRecord, StorageBusy
from onrecord.domain.log import Backend, BlobMissing, Conflict, Duplicate, Forgotten, Recorded
from tests.contract.places import WHERE_THE_LOG_IS, Place, prepared
from tests.factories import TENANT, answer, appending, attachment, raw_event
from tests.ledger import verified_log
from tests.patience import PATIENCE
from tests.search import examples

CANARY = b"the canary sings"
KEY, OTHER_KEY = (data_key([subject_key(bytes([number]) * 32)]) for number in range(2))
NOW = 0
A_DAY = 24 * 3600 * 1_000_000


class KeyedStore(KeyedBlobs, Backend, Protocol):
    """A log that takes encrypted blobs."""


@pytest.fixture(params=WHERE_THE_LOG_IS)
def keyed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyedStore]:
    for place in prepared(request.param, tmp_path):
        opened = place.open()
        yield cast("KeyedStore", stored_of(opened))
        opened.close()


@pytest.mark.parametrize(
    "size", [0, 1, PIECE_SIZE - 1, PIECE_SIZE, PIECE_SIZE + 1, 3 * PIECE_SIZE + 7]
)
def test_a_blob_comes_back_in_pieces_that_fit_a_row(backend: Backend, size: int) -> None:
    conversation = uuid4()
    data = bytes(n % 251 for n in range(size))
    blob = backend.put_blob(TENANT, conversation, [data])
    assert blob == blob_of(data)
    found = list(backend.get_blob(conversation, blob))
    assert b"".join(found) == data
    assert all(0 < len(piece) <= PIECE_SIZE for piece in found)


@examples(20, [HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(0, 2 * PIECE_SIZE), max_size=5))
def test_how_a_blob_was_cut_when_it_came_does_not_matter(
    backend: Backend, sizes: list[int]
) -> None:
    conversation = uuid4()
    chunks = [bytes([n % 256]) * size for n, size in enumerate(sizes)]
    blob = backend.put_blob(TENANT, conversation, iter(chunks))
    assert blob == blob_of(b"".join(chunks))
    assert b"".join(backend.get_blob(conversation, blob)) == b"".join(chunks)


def test_a_blob_is_stored_once_in_its_conversation(backend: Backend) -> None:
    conversation = uuid4()
    first = backend.put_blob(TENANT, conversation, [b"report"])
    assert backend.put_blob(TENANT, conversation, [b"rep", b"ort"]) == first
    assert backend.sweep_blobs(NOW) == 1


def test_a_conversation_reads_only_its_own_blobs(backend: Backend) -> None:
    blob = backend.put_blob(TENANT, uuid4(), [b"secret"])
    with pytest.raises(CorruptRecord, match="missing"):
        list(backend.get_blob(uuid4(), blob))


def test_a_blob_that_is_missing_or_of_another_size_is_corrupt(backend: Backend) -> None:
    conversation = uuid4()
    blob = backend.put_blob(TENANT, conversation, [b"report"])
    with pytest.raises(CorruptRecord):
        list(backend.get_blob(conversation, blob_of(b"never stored")))
    with pytest.raises(CorruptRecord):
        list(backend.get_blob(conversation, Blob(sha256=blob.sha256, size=7)))


@pytest.mark.parametrize("size", [0, 9, PIECE_SIZE, 2 * PIECE_SIZE + 7])
def test_encrypted_bytes_stand_where_their_key_says(keyed: KeyedStore, size: int) -> None:
    """A log that has no key keeps them as they are, refers to them and sweeps them."""
    conversation, data = uuid4(), CANARY * (size // len(CANARY) + 1)
    encrypted = EncryptedBlob(KEY, [data[:size]])
    address = keyed.put_keyed_blob(TENANT, conversation, encrypted)
    assert address == address_of(KEY, blob_of(data[:size]))
    stored = b"".join(keyed.get_blob(conversation, address))
    assert CANARY not in stored
    assert b"".join(StoredBlob([stored]).decrypted(KEY, address)) == data[:size]
    keyed.put_keyed_blob(TENANT, conversation, EncryptedBlob(KEY, [data[:size]]))
    referring = raw_event(blobs=(address,))
    assert keyed.append([appending(conversation, referring)]) == [Recorded(1, 1, 1)]
    assert keyed.sweep_blobs(NOW) == 0
    with pytest.raises(CorruptRecord, match="missing"):
        list(keyed.get_blob(conversation, address_of(KEY, blob_of(b"another"))))
    with pytest.raises(CorruptRecord, match="missing or do not match"):
        list(keyed.get_blob(conversation, KeyedBlob(hmac=address.hmac, size=size)))


def test_encrypted_bytes_whose_address_is_not_stored_are_not_referred_to(keyed: KeyedStore) -> None:
    conversation = uuid4()
    keyed.put_keyed_blob(TENANT, conversation, EncryptedBlob(KEY, [CANARY]))
    referring = raw_event(blobs=(address_of(OTHER_KEY, blob_of(CANARY)),))
    assert keyed.append([appending(conversation, referring)]) == [BlobMissing(0)]
    assert keyed.sweep_blobs(NOW) == 1


def test_what_is_no_digest_is_corrupt(backend: Backend) -> None:
    with pytest.raises(CorruptRecord):
        b"".join(backend.get_blob(uuid4(), Blob(sha256="no digest", size=1)))


def test_the_sweep_takes_old_blobs_that_no_event_refers_to(backend: Backend) -> None:
    conversation = uuid4()
    kept = backend.put_blob(TENANT, conversation, [b"kept"])
    orphan = backend.put_blob(TENANT, conversation, [b"orphan"])
    backend.append([appending(conversation, attachment(kept))])
    assert backend.sweep_blobs(A_DAY) == 0
    assert backend.sweep_blobs(NOW) == 1
    assert b"".join(backend.get_blob(conversation, kept)) == b"kept"
    with pytest.raises(CorruptRecord):
        list(backend.get_blob(conversation, orphan))


def test_a_refused_append_refers_to_no_blob(backend: Backend) -> None:
    conversation = uuid4()
    blob = backend.put_blob(TENANT, conversation, [b"orphan"])
    backend.append([appending(conversation, attachment(blob), expected_version=9)])
    assert backend.sweep_blobs(NOW) == 1


def test_an_append_whose_blob_is_not_stored_is_refused(backend: Backend) -> None:
    conversation, other = uuid4(), uuid4()
    stored = backend.put_blob(TENANT, conversation, [b"stored"])
    swept = backend.put_blob(TENANT, conversation, [b"swept"])
    backend.append([appending(conversation, attachment(stored))])
    backend.sweep_blobs(NOW)
    elsewhere = backend.put_blob(TENANT, other, [b"of another conversation"])
    for blob in (swept, elsewhere, blob_of(b"never stored")):
        request = appending(conversation, attachment(stored), attachment(blob))
        assert backend.append([request]) == [BlobMissing(1)]
    assert backend.head(conversation).version == 1
    assert len(verified_log(backend)) == 1


def test_a_refused_blob_costs_the_requests_beside_it_nothing(backend: Backend) -> None:
    conversation = uuid4()
    orphan = backend.put_blob(TENANT, conversation, [b"orphan"])
    verdicts = backend.append(
        [
            appending(conversation, answer()),
            appending(conversation, attachment(orphan), attachment(blob_of(b"never stored"))),
            appending(conversation, answer()),
        ]
    )
    assert verdicts == [Recorded(1, 1, 1), BlobMissing(1), Recorded(2, 2, 2)]
    assert backend.sweep_blobs(NOW) == 1


def test_a_swept_blob_that_is_stored_again_is_taken(backend: Backend) -> None:
    conversation = uuid4()
    request = appending(conversation, attachment(backend.put_blob(TENANT, conversation, [b"it"])))
    backend.sweep_blobs(NOW)
    assert backend.append([request]) == [BlobMissing(0)]
    backend.put_blob(TENANT, conversation, [b"it"])
    assert backend.append([request]) == [Recorded(1, 1, 1)]
    assert backend.append([request]) == [Duplicate(1, 1)]


def test_what_was_said_before_is_said_of_a_retry_whatever_was_swept(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, answer())])
    missing = attachment(blob_of(b"never stored"))
    stale = appending(conversation, missing, expected_version=0)
    assert backend.append([stale]) == [Conflict(1)]
    backend.forget(conversation)
    assert backend.append([appending(conversation, missing)]) == [Forgotten()]


def test_no_event_refers_to_a_blob_that_a_sweep_takes_meanwhile(place: Place) -> None:
    backend = place.open()
    conversation = uuid4()
    stop = threading.Event()

    def sweep() -> None:
        while not stop.is_set():
            backend.sweep_blobs(NOW)

    with ThreadPoolExecutor(1) as pool:
        sweeping = pool.submit(sweep)
        try:
            for number in range(40):
                try:
                    blob = backend.put_blob(TENANT, conversation, [b"%d" % number])
                except StorageBusy:
                    continue  # It was swept while it came in.
                (verdict,) = backend.append([appending(conversation, attachment(blob))])
                if isinstance(verdict, Recorded):
                    assert b"".join(backend.get_blob(conversation, blob)) == b"%d" % number
                else:
                    assert verdict == BlobMissing(0)
        finally:
            stop.set()
        sweeping.result(timeout=PATIENCE)
    backend.sweep_blobs(NOW)
    for event in backend.read(conversation):
        for blob in blobs_in(event):
            list(backend.get_blob(conversation, blob))
    backend.close()


def test_a_blob_that_breaks_off_leaves_nothing_but_an_orphan(backend: Backend) -> None:
    conversation = uuid4()
    sent = b"x" * (2 * PIECE_SIZE)

    def breaking() -> Iterator[bytes]:
        yield sent
        raise ConnectionError("the upload broke off")

    with pytest.raises(ConnectionError):
        backend.put_blob(TENANT, conversation, breaking())
    with pytest.raises(CorruptRecord):
        list(backend.get_blob(conversation, blob_of(sent)))
    backend.sweep_blobs(NOW)
    assert backend.sweep_blobs(NOW) == 0
    blob = backend.put_blob(TENANT, conversation, [sent])
    assert hashlib.sha256(b"".join(backend.get_blob(conversation, blob))).hexdigest() == blob.sha256


def test_a_blob_outlives_the_process(durable_place: Place) -> None:
    conversation = uuid4()
    data = b"report" * PIECE_SIZE
    backend = durable_place.open()
    blob = backend.put_blob(TENANT, conversation, [data])
    backend.close()
    again = durable_place.open()
    assert b"".join(again.get_blob(conversation, blob)) == data
    again.close()
