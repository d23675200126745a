"""Notes and keys are those of C2SP's signed-note: vectors of Go's note package."""

import pytest

from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.seals.notes import (
    Note,
    PrivateKey,
    PublicKey,
    Signature,
    parse_note,
    parse_private_key,
    parse_public_key,
)

# From the tests of golang.org/x/mod/sumdb/note.
PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
PETER = (
    "— PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)


def test_a_key_is_read_as_it_is_written() -> None:
    key = parse_public_key(PUBLIC)
    assert (key.name, key.key_id.hex(), str(key)) == ("PeterNeumann", "c74f20a3", PUBLIC)
    encoded = parse_private_key(PRIVATE)
    assert (encoded.name, encoded.key_id) == ("PeterNeumann", key.key_id)
    assert PrivateKey(encoded.key, key).encode() == PRIVATE


def test_no_part_of_a_key_is_a_key() -> None:
    for text, parse in ((PUBLIC, parse_public_key), (PRIVATE, parse_private_key)):
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                if end - start < len(text):
                    with pytest.raises(InvalidInput):
                        parse(text[start:end])


def test_no_public_key_of_which_a_character_was_changed_is_a_key() -> None:
    for at, character in enumerate(PUBLIC):
        with pytest.raises(InvalidInput):
            parse_public_key(PUBLIC[:at] + chr(ord(character) + 1) + PUBLIC[at + 1 :])


@pytest.mark.parametrize(
    "text",
    [
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "",
    ],
)
def test_a_key_of_another_length_or_algorithm_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_public_key(text)


def test_a_private_key_is_not_shown() -> None:
    encoded = parse_private_key(PRIVATE)
    key = PrivateKey(encoded.key, parse_public_key(PUBLIC))
    assert "AYEKFALVFGyNhPJEMzD1QIDr" not in f"{key} {key!r}"
    with pytest.raises(InvalidInput) as caught:
        parse_private_key(PRIVATE[:-1])
    assert "AYEKFALVFGyNhPJEMzD1QIDr" not in str(caught.value)


def test_a_note_is_read_as_it_is_written() -> None:
    data = f"{TEXT}\n{PETER}".encode()
    note = parse_note(data)
    assert note.text == TEXT
    assert [(each.name, each.key_id.hex()) for each in note.signatures] == [
        ("PeterNeumann", "c74f20a3")
    ]
    assert note.encode() == data


def test_a_text_may_have_empty_lines_of_its_own() -> None:
    note = Note("one\n\ntwo\n", (Signature("name", b"1234", bytes(64)),))
    assert parse_note(note.encode()) == note


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        f"{TEXT}\n".encode(),
        f"{TEXT}\n{PETER[:-1]}".encode(),
        f"\x01{TEXT}\n{PETER}".encode(),
        b"\xff" + f"{TEXT}\n{PETER}".encode(),
        f"{TEXT}\n{PETER.replace('PeterNeumann', 'Bad Name')}".encode(),
        f"{TEXT}\n{PETER}Unexpected line.\n".encode(),
        f"{TEXT}\n{PETER * 17}".encode(),
        f"{TEXT}\n— PeterNeumann x08g\n".encode(),
        f"{TEXT}\n— PeterNeumann x08go=\n".encode(),
        b"",
    ],
)
def test_what_is_no_note_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptRecord):
        parse_note(data)


def test_a_key_has_an_id_by_its_name_and_its_bytes() -> None:
    key = parse_public_key(PUBLIC)
    assert PublicKey("another", key.key).key_id != key.key_id
