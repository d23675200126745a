"""What every key store holds to: whose it is, what it keeps, and what is left of a key in it."""

from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from onrecord.adapters.encryption.key_store import GenerationClosed
from onrecord.domain.encryption.wrapped import DestroyedKey, Generation, Rewrapping, Wrapped
from onrecord.domain.errors import CorruptRecord
from tests.adapters.encryption.places import key, store


def test_a_key_is_found_by_its_id_and_by_its_subject(folder: Path) -> None:
    keys = store(folder)
    assert keys.add(key(1)) == key(1)
    with closing(store(folder)) as again:
        assert again.find(key(1).subject) == again.get("id-1") == key(1)
        assert (again.find(b"nobody"), again.get("id-2")) == (None, None)


def test_a_subject_has_the_key_of_whoever_was_first(folder: Path) -> None:
    keys = store(folder)
    keys.add(key(1))
    quicker = key(2)._replace(subject=key(1).subject)
    assert keys.add(quicker) == key(1)
    assert keys.get("id-2") is None


def test_of_a_key_that_was_destroyed_its_id_is_left_and_when_it_went(folder: Path) -> None:
    keys = store(folder)
    keys.add(key(1))
    assert keys.destroy("id-1", 5) == keys.destroy("id-1", 6) == DestroyedKey("id-1", 5)
    assert keys.get("id-1") == DestroyedKey("id-1", 5)
    assert keys.find(key(1).subject) is None
    assert keys.destroy("id-2", 5) is None
    anew = key(3)._replace(subject=key(1).subject)
    assert keys.add(anew) == anew


def test_a_generation_that_is_closed_takes_no_keys(folder: Path) -> None:
    keys = store(folder)
    keys.add(key(1))
    keys.close_generation("g0")
    with pytest.raises(GenerationClosed):
        keys.add(key(2))
    assert keys.get("id-2") is None
    keys.add(key(3, "g1"))
    back = [
        Rewrapping("id-1", key(1).wrapped, Wrapped("g1", b"anew")),
        Rewrapping("id-3", key(3, "g1").wrapped, Wrapped("g0", b"back")),
    ]
    with pytest.raises(GenerationClosed):
        keys.replace(back)
    assert (keys.get("id-1"), keys.get("id-3")) == (key(1), key(3, "g1"))


def test_generations_tell_what_is_left_to_do(folder: Path) -> None:
    keys = store(folder)
    for number in range(3):
        keys.add(key(number))
    keys.destroy("id-0", 1)
    keys.note_retired("g0", 1, 9)
    assert keys.generations() == [Generation("g0", 2, 1, False, False, None)]
    keys.close_generation("g0")
    assert [each.key_id for each in keys.under(["g0", "g1"], 9)] == ["id-1", "id-2"]
    assert len(keys.under(["g0"], 1)) == 1
    anew = [
        Rewrapping(each.key_id, each.wrapped, Wrapped("g1", b"anew"))
        for each in (key(0), key(1), key(2))
    ]
    # A step is done again where its answer was lost.
    assert (keys.replace(anew), keys.replace(anew)) == (2, 2)
    other = [each._replace(new=Wrapped("g1", b"other")) for each in anew]
    assert keys.replace(other) == 0
    keys.note_retired("g0", 1, 9)
    keys.note_retired("g0", 2, None)  # The first note counts.
    assert keys.generations() == [
        Generation("g0", 0, 1, True, True, 9),
        Generation("g1", 2, 0, False, False, None),
    ]


def test_the_keys_of_another_log_are_refused(folder: Path) -> None:
    store(folder).close()
    with pytest.raises(CorruptRecord, match="the keys of another log"):
        store(folder, UUID(int=9))
