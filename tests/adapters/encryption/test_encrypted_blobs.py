"""Encrypted blobs come back as they were, and whatever is changed, cut or swapped in one is noticed."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.encryption.encrypted_blobs import EncryptedBlob, StoredBlob
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import (
    DIGEST_SIZE,
    PIECE_SIZE,
    SEALED_SIZE,
    StoredDigest,
    address_of,
    parse_head,
    stored_size,
)
from onrecord.domain.encryption.keys import DataKey, data_key, subject_key
from onrecord.domain.errors import CorruptRecord
from tests.search import examples

CANARY = b"the canary sings"
KEYS = [subject_key(bytes([number]) * 32) for number in range(3)]
ONE, ALL = data_key(KEYS[:1]), data_key(KEYS)
LONG = CANARY * (2 * PIECE_SIZE // len(CANARY)) + CANARY
"""Three pieces."""


def encrypted(key: DataKey, *chunks: bytes) -> tuple[bytes, KeyedBlob]:
    blob = EncryptedBlob(key, chunks)
    stored = b"".join(blob)
    return stored, blob.address()


def decrypted(key: DataKey, stored: bytes, address: KeyedBlob) -> bytes:
    return b"".join(StoredBlob([stored]).decrypted(key, address))


def is_refused(key: DataKey, stored: bytes, address: KeyedBlob) -> bool:
    """Whether bytes are refused, by an error that tells nothing of them."""
    with pytest.raises(CorruptRecord) as caught:
        decrypted(key, stored, address)
    return CANARY.decode() not in f"{caught.value}{caught.value.__cause__}"


@pytest.mark.parametrize("key", [ONE, ALL], ids=["one subject", "three subjects"])
@pytest.mark.parametrize(
    "size", [0, 1, PIECE_SIZE - 1, PIECE_SIZE, PIECE_SIZE + 1, 2 * PIECE_SIZE, 2 * PIECE_SIZE + 7]
)
def test_a_blob_comes_back_as_it_was(key: DataKey, size: int) -> None:
    data = LONG[:size]
    stored, address = encrypted(key, data)
    assert address == address_of(key, blob_of(data))
    assert len(stored) == address.size == stored_size(key.name, size)
    assert decrypted(key, stored, address) == data
    assert CANARY not in stored


@examples(20)
@given(sizes=st.lists(st.integers(0, 2 * PIECE_SIZE), max_size=4), chunk=st.integers(1, 3_000_000))
def test_how_it_was_cut_does_not_matter(sizes: list[int], chunk: int) -> None:
    chunks = [bytes([number]) * size for number, size in enumerate(sizes)]
    stored, address = encrypted(ONE, *chunks)
    parts = [stored[at : at + chunk] for at in range(0, len(stored), chunk)]
    pieces = list(StoredBlob(parts).decrypted(ONE, address))
    assert b"".join(pieces) == b"".join(chunks)
    assert all(0 < len(piece) <= PIECE_SIZE for piece in pieces)


def test_a_blob_is_read_and_written_a_piece_at_a_time() -> None:
    """Of a document of 64 pieces at most three have been asked for when one more is given."""
    asked = 0

    def chunks() -> Iterator[bytes]:
        nonlocal asked
        for _ in range(64):
            asked += 1
            yield bytes(PIECE_SIZE)

    blob = EncryptedBlob(ONE, chunks())
    stored: list[bytes] = []
    for yielded, part in enumerate(blob):
        assert asked <= yielded + 2
        stored.append(part)
    asked = 0

    def parts() -> Iterator[bytes]:
        nonlocal asked
        for part in stored:
            asked += 1
            yield part

    for yielded, _ in enumerate(StoredBlob(parts()).decrypted(ONE, blob.address())):
        assert asked <= yielded + 4


def test_each_bit_that_is_changed_is_noticed_with_the_key_and_without_it() -> None:
    stored, address = encrypted(ONE, CANARY)
    for bit in range(len(stored) * 8):
        changed = bytearray(stored)
        changed[bit // 8] ^= 1 << bit % 8
        digest = StoredDigest()
        digest.update(bytes(changed))
        assert not digest.is_right()
        if bit // 8 < len(stored) - DIGEST_SIZE:
            assert is_refused(ONE, bytes(changed), address)


def test_a_blob_that_was_cut_or_lengthened_is_noticed() -> None:
    stored, address = encrypted(ONE, CANARY)
    for wrong in (*(stored[:size] for size in range(len(stored))), stored + b"\0"):
        assert is_refused(ONE, wrong, address)


def test_pieces_that_are_cut_swapped_or_of_another_blob_are_noticed() -> None:
    stored, address = encrypted(ONE, LONG)
    other, _ = encrypted(ONE, LONG)
    head = len(stored) - len(LONG) - 3 * 16 - DIGEST_SIZE
    first, second = (
        slice(head, head + SEALED_SIZE),
        slice(head + SEALED_SIZE, head + 2 * SEALED_SIZE),
    )
    last = slice(second.stop, None)
    begin = stored[:head]
    for wrong in (
        begin + stored[second] + stored[first] + stored[last],
        begin + stored[first] + stored[last],
        begin + stored[first] + stored[first] + stored[second] + stored[last],
        begin + stored[first] + stored[second] + bytes(DIGEST_SIZE),
        begin + other[first] + stored[second] + stored[last],
        begin + stored[first] + stored[second] + other[last],
    ):
        assert is_refused(ONE, wrong, address)


def test_a_blob_in_the_place_of_another_is_noticed() -> None:
    stored, _ = encrypted(ONE, CANARY)
    _, address = encrypted(ONE, CANARY + b"!")
    assert is_refused(ONE, stored, address)


def test_without_one_of_its_keys_a_blob_is_not_read_and_its_address_not_found() -> None:
    stored, address = encrypted(ALL, CANARY)
    assert parse_head(stored[: -(len(CANARY) + 16 + DIGEST_SIZE)]).name == ALL.name
    for missing in range(3):
        left = data_key([key for at, key in enumerate(KEYS) if at != missing])
        assert is_refused(left, stored, address)
        assert address_of(left, blob_of(CANARY)).hmac != address.hmac


def test_equal_documents_of_two_owners_have_other_addresses_and_no_bytes_in_common() -> None:
    stored, address = encrypted(ONE, CANARY)
    again, same = encrypted(ONE, CANARY)
    _, others = encrypted(ALL, CANARY)
    assert address == same
    assert address.hmac not in (others.hmac, blob_of(CANARY).sha256)
    head = len(stored) - len(CANARY) - 16 - DIGEST_SIZE
    assert stored[head:] != again[head:]


def test_a_reference_is_there_only_when_all_was_read() -> None:
    blob = EncryptedBlob(ONE, [CANARY])
    with pytest.raises(RuntimeError, match="were not read"):
        blob.address()


def test_what_is_no_encrypted_blob_is_corrupt() -> None:
    for wrong in (b"", b"onrecord blob 1\n", b"onrecord blob 1\n\0\0" + bytes(99), CANARY * 10):
        with pytest.raises(CorruptRecord, match=re.escape("of a document were changed")):
            StoredBlob([wrong])
    with pytest.raises(CorruptRecord):
        address_of(ONE, Blob(sha256="no digest", size=1))
