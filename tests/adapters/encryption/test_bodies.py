"""Bodies come back as they were, and one bit that was changed anywhere is noticed."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.encryption.aes import BodyCipher, unwrapped, wrapped
from onrecord.domain.encryption.bodies import NONCE_SIZE, TAG_SIZE
from onrecord.domain.encryption.keys import data_key, subject_key
from onrecord.domain.errors import CorruptRecord, NotInstalled

CANARY = b'{"text":"the canary sings"}'
HEADER = b'{"codec":"json+aes-256-gcm","key":"..."}'
KEYS = [subject_key(bytes([number]) * 32) for number in range(3)]
ONE, ALL = BodyCipher(data_key(KEYS[:1])), BodyCipher(data_key(KEYS))
ciphers = pytest.mark.parametrize("cipher", [ONE, ALL], ids=["one subject", "three subjects"])


@ciphers
@given(header=st.binary(max_size=600), body=st.binary(max_size=5000))
def test_a_body_comes_back_as_it_was(cipher: BodyCipher, header: bytes, body: bytes) -> None:
    stored = cipher.encrypted(header, body)
    assert len(stored) == NONCE_SIZE + len(body) + TAG_SIZE
    assert cipher.decrypted(header, stored) == body


@ciphers
def test_no_two_bodies_have_one_nonce(cipher: BodyCipher) -> None:
    nonces = {cipher.encrypted(HEADER, CANARY)[:NONCE_SIZE] for _ in range(1000)}
    assert len(nonces) == 1000


@ciphers
def test_each_bit_that_is_changed_is_noticed(cipher: BodyCipher) -> None:
    stored = cipher.encrypted(HEADER, CANARY)
    whole = HEADER + stored
    for bit in range(len(whole) * 8):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptRecord) as caught:
            cipher.decrypted(bytes(changed[: len(HEADER)]), bytes(changed[len(HEADER) :]))
        assert tells_nothing(caught.value)


@ciphers
def test_a_body_that_was_cut_or_lengthened_is_noticed(cipher: BodyCipher) -> None:
    stored = cipher.encrypted(HEADER, CANARY)
    for wrong in (*(stored[:size] for size in range(len(stored))), stored + b"\0"):
        with pytest.raises(CorruptRecord):
            cipher.decrypted(HEADER, wrong)


def test_a_body_under_the_header_of_another_event_is_noticed() -> None:
    stored = ONE.encrypted(HEADER, CANARY)
    with pytest.raises(CorruptRecord, match="or is under another key"):
        ONE.decrypted(HEADER.replace(b"...", b"...."), stored)


def test_without_one_of_its_keys_a_body_is_not_read() -> None:
    stored = ALL.encrypted(HEADER, CANARY)
    for missing in range(3):
        left = BodyCipher(data_key([key for at, key in enumerate(KEYS) if at != missing]))
        with pytest.raises(CorruptRecord) as caught:
            left.decrypted(HEADER, stored)
        assert tells_nothing(caught.value)


def test_each_bit_of_a_wrapped_key_and_its_context_is_noticed() -> None:
    key, plain, context = b"k" * 32, b"p" * 48, b'{"onrecord:key":"..."}'
    whole = context + wrapped(key, plain, context)
    assert unwrapped(key, whole[len(context) :], context) == plain
    for bit in range(len(whole) * 8):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptRecord) as caught:
            unwrapped(key, bytes(changed[len(context) :]), bytes(changed[: len(context)]))
        assert "pppp" not in str(caught.value)
        assert "kkkk" not in str(caught.value)
    with pytest.raises(CorruptRecord):
        unwrapped(b"l" * 32, whole[len(context) :], context)


def tells_nothing(error: BaseException | None) -> bool:
    """Whether neither the text nor a key stands in an error, or in what caused it."""
    while error is not None:
        told = f"{error}{error!r}{error.args}"
        if "canary" in told or any(key.secret.hex() in told for key in KEYS):
            return False
        error = error.__cause__
    return True


def test_without_cryptography_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(NotInstalled, match=re.escape("onrecord[encryption]")):
        BodyCipher(data_key(KEYS))
