"""Keys of subjects, the ids that commit to them, and the data key that needs all of them."""

import hmac
import re
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.encryption.keys import (
    SubjectKey,
    data_key,
    key_ids_of,
    key_name,
    subject_key,
)
from onrecord.domain.encryption.subjects import MOST_SUBJECTS
from onrecord.domain.errors import CorruptRecord, InvalidInput

secrets = st.binary(min_size=32, max_size=32)
some_keys = st.lists(secrets, min_size=1, max_size=5, unique=True).map(
    lambda found: [subject_key(secret) for secret in found]
)


@given(some_keys, st.randoms())
def test_a_data_key_is_that_of_the_set_in_whatever_order(
    keys: list[SubjectKey], random: Random
) -> None:
    shuffled = random.sample(keys, len(keys))
    assert data_key(shuffled) == data_key(keys)
    assert key_ids_of(data_key(keys).name) == tuple(sorted(key.key_id for key in keys))


@given(some_keys, secrets)
def test_with_one_key_of_a_set_replaced_the_data_key_is_another(
    keys: list[SubjectKey], other: bytes
) -> None:
    """Under the id of the one before: whoever has all the other keys has nothing."""
    whole = data_key(keys)
    for place, key in enumerate(keys):
        if other != key.secret:
            guessed = [*keys[:place], SubjectKey(key.key_id, other), *keys[place + 1 :]]
            assert data_key(guessed).name == whole.name
            assert data_key(guessed).body != whole.body


def test_no_data_key_of_sets_follows_from_those_of_others_by_xor() -> None:
    """As it would where a data key were the XOR of the keys themselves."""
    keys = [subject_key(bytes([number]) * 32) for number in range(3)]
    sets = [subset for size in (1, 2, 3) for subset in combinations(keys, size)]
    bodies = [int.from_bytes(data_key(subset).body) for subset in sets]
    assert len(set(bodies)) == len(sets)
    for one, other, third in combinations(bodies, 3):
        assert one ^ other ^ third != 0


def test_keys_that_are_the_same_under_two_ids_do_not_cancel_each_other_out() -> None:
    """The data key would be that of no keys at all, which anybody can make."""
    one, other = (subject_key(bytes([number]) * 32) for number in range(2))
    twins = [SubjectKey("A" * 32, key.secret) for key in (one, other)]
    assert data_key([one, twins[0]]).body != data_key([other, twins[1]]).body
    of_none = hmac.digest(bytes(32), b"onrecord body\x01", "sha256")
    assert data_key([one, twins[0]]).body != of_none


def test_bodies_and_blobs_have_keys_of_their_own() -> None:
    key = subject_key(bytes(32))
    derived = data_key([key])
    assert len({key.secret, derived.body, derived.blob_address, derived.blob_pieces}) == 4


@given(secrets)
def test_an_id_commits_to_the_key_and_tells_nothing_of_it(secret: bytes) -> None:
    key = subject_key(secret)
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", key.key_id)
    assert secret.hex() not in f"{key!r}{data_key([key])!r}"
    assert repr(secret) not in f"{key!r}{data_key([key])!r}"


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_key_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(InvalidInput, match="32 bytes"):
        subject_key(bytes(size))


def test_a_set_names_each_key_once_and_not_too_many() -> None:
    ids = [subject_key(bytes([number]) * 32).key_id for number in range(MOST_SUBJECTS + 1)]
    assert len(key_ids_of(key_name(ids[:-1]))) == MOST_SUBJECTS
    for wrong in ([], ids, [ids[0], ids[0]], ["short"]):
        with pytest.raises(InvalidInput, match="1 to 16 keys"):
            key_name(wrong)


@given(st.text(max_size=70))
def test_what_names_no_keys_is_refused(text: str) -> None:
    with pytest.raises(CorruptRecord, match="names no keys"):
        key_ids_of(text)


def test_the_names_of_keys_are_in_order() -> None:
    one, other = sorted(subject_key(bytes([number]) * 32).key_id for number in range(2))
    assert key_ids_of(f"{one}+{other}") == (one, other)
    for wrong in (f"{other}+{one}", f"{one}+{one}", f"{one}+", f"+{one}"):
        with pytest.raises(CorruptRecord, match="names no keys"):
            key_ids_of(wrong)
