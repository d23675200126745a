"""Notes are signed and verified as Go's note package does: its vectors."""

import pytest

from onrecord.adapters.seals.signing import new_key, read_private_key, signed, verified
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.seals.notes import parse_public_key

# From the tests of golang.org/x/mod/sumdb/note.
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETER = parse_public_key("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
ENOCH = parse_public_key("EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop")
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
BY_PETER = (
    "— PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
BY_ENOCH = (
    "— EnochRoot "
    "rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)


def test_a_note_is_signed_as_by_go() -> None:
    key = read_private_key(PRIVATE)
    assert key.public == PETER
    assert signed(TEXT, key).encode().decode() == f"{TEXT}\n{BY_PETER}"


def test_a_note_that_go_signed_is_verified_by_either_key() -> None:
    note = f"{TEXT}\n{BY_PETER}{BY_ENOCH}".encode()
    assert verified(note, [PETER]).text == verified(note, [ENOCH, PETER]).text == TEXT


def test_a_note_that_nobody_known_signed_is_refused() -> None:
    note = f"{TEXT}\n{BY_ENOCH}".encode()
    for keys in ([], [PETER], [PETER._replace(name=ENOCH.name)]):
        with pytest.raises(CorruptRecord, match=r"EnochRoot\+af0cfe78, which is no key"):
            verified(note, keys)


@pytest.mark.parametrize(
    "note",
    [
        f"{TEXT.replace('you', 'we', 1)}\n{BY_PETER}",
        f"{TEXT}\n{BY_PETER.replace('JkuB', 'JkuC')}",
        f"{TEXT}\n{BY_ENOCH}{BY_PETER.replace('JkuB', 'JkuC')}",
        f"{TEXT}\n{BY_PETER}{BY_PETER.replace('JkuB', 'JkuC')}",
    ],
)
def test_a_signature_of_another_text_makes_the_note_worthless(note: str) -> None:
    with pytest.raises(CorruptRecord, match="the signature of PeterNeumann is not of this"):
        verified(note.encode(), [PETER, ENOCH])


def test_a_new_key_is_read_as_it_is_written() -> None:
    key = new_key("onrecord.log/1")
    assert read_private_key(key.encode()) == key
    assert verified(signed(TEXT, key).encode(), [key.public]).text == TEXT
    assert key != new_key("onrecord.log/1")


def test_a_private_key_of_another_id_is_refused() -> None:
    with pytest.raises(InvalidInput, match="its id is that of another one"):
        read_private_key(PRIVATE.replace("AYEK", "AYEL"))
    with pytest.raises(InvalidInput, match="no spaces"):
        new_key("two words")
