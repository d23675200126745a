"""A place says what cannot be read or written, and nothing that is secret."""

import os
from pathlib import Path

import pytest

from onrecord.adapters.seals.places import Folder, place_at
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageUnavailable


def test_a_place_shows_no_password() -> None:
    with pytest.raises(InvalidInput) as refused:
        place_at("nosuch://me:a secret@host/seals")
    assert "a secret" not in str(refused.value)


def test_what_the_driver_of_a_place_raises_is_an_error_of_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> bytes:
        raise RuntimeError("no credentials")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.cat_file", fail)
    with pytest.raises(StorageUnavailable, match=r"memory://there: RuntimeError"):
        place_at("memory://there").read("checkpoint")


@pytest.mark.parametrize(
    "url",
    [
        "simplecache::s3://bucket/seals",
        "filecache::/mnt/seals",
        "nosuch://me:a secret@host/seals?sig=a secret",
        "1s3://bucket/seals",
        "s3:/bucket/seals",
    ],
)
def test_what_is_no_place_becomes_no_folder(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as refused:
        place_at(url).create("checkpoint", b"1")
    assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_place_shows_neither_who_asks_nor_parameters() -> None:
    shown = repr(place_at("memory://AKIA:pass@bucket/seals?sig=abc&x=1#part"))
    assert shown == "memory://bucket/seals"


def test_only_regular_files_are_read_and_written(tmp_path: Path) -> None:
    place, outside = Folder(tmp_path / "seals"), tmp_path / "outside"
    place.create("file", b"1")
    os.mkfifo(tmp_path / "seals" / "pipe")
    (tmp_path / "seals" / "folder").mkdir()
    (tmp_path / "seals" / "device").symlink_to("/dev/zero")
    (tmp_path / "seals" / "dangling").symlink_to(outside)
    for name in ("pipe", "folder", "device", "dangling"):
        with pytest.raises(CorruptRecord, match=f"{name} at .* is no regular file"):
            place.read(name)
        with pytest.raises(CorruptRecord, match="is no regular file"):
            place.create(name, b"1")
    for name in ("device", "dangling"):
        with pytest.raises(CorruptRecord, match="is no regular file"):
            place.replace(name, b"1")
    assert not outside.exists()


@pytest.mark.parametrize("url", ["memory://bounded", "{tmp_path}"])
def test_no_more_is_read_than_what_is_asked_for_can_have(url: str, tmp_path: Path) -> None:
    place = place_at(url.format(tmp_path=tmp_path))
    place.create("file", b"1234")
    assert place.read("file", 4) == b"1234"
    with pytest.raises(CorruptRecord, match="has more than 3 bytes"):
        place.read("file", 3)


def test_a_folder_that_is_empty_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    assert Folder(tmp_path).names("log") == []
    with pytest.raises(StorageUnavailable, match="No such file"):
        Folder(tmp_path / "away").names("log")
