"""A place says what cannot be read or written, and nothing that is secret."""

import pytest

from onrecord.adapters.seals.places import place_at
from onrecord.domain.errors import InvalidInput, StorageUnavailable


def test_a_place_shows_no_password() -> None:
    with pytest.raises(InvalidInput) as refused:
        place_at("nosuch://me:a secret@host/seals")
    assert "a secret" not in str(refused.value)


def test_what_the_driver_of_a_place_raises_is_an_error_of_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> bytes:
        raise RuntimeError("no credentials")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.cat_file", fail)
    with pytest.raises(StorageUnavailable, match=r"memory://there: RuntimeError"):
        place_at("memory://there").read("checkpoint")
