"""Places outside the database that keep checkpoints and tiles: a folder, or what fsspec reaches.

A place is as strong as who may write to it. In a bucket with a default retention (S3's object lock)
nobody changes what was kept there, whoever holds the database.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from onrecord.adapters.storage.atomic_files import write_atomically
from onrecord.adapters.storage.postgres.url import without_secrets
from onrecord.domain.errors import (
    CorruptRecord,
    InvalidInput,
    NotInstalled,
    OnrecordError,
    StorageUnavailable,
)

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_FOLDER: Final = "file"


class Place(Protocol):
    """Bytes by path; `repr` says where. StorageUnavailable where it cannot be read or written."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes at a path, or None."""
        ...

    def create(self, path: str, data: bytes) -> None:
        """Keep bytes at a path for good; CorruptRecord where others are there."""
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Keep bytes at a path, in place of those that are there."""
        ...

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, in order; none where it is not there."""
        ...


def place_at(url: str) -> Place:
    """Return the place at an URL: `file:///var/seals`, a folder's path, `s3://bucket/seals`.

    InvalidInput for an URL of a kind that fsspec does not know.
    """
    if not url.strip():
        raise InvalidInput("the place of the seals is empty: name a folder, or an URL")
    match = _SCHEME.match(url)
    if match is None:
        return Folder(Path(url))
    if match[1].lower() == _FOLDER:
        return Folder(Path(url[match.end() :]))
    return _remote(url)


class Folder:
    """A folder of a file system."""

    def __init__(self, root: Path) -> None:
        """Keep files in a folder, which is made with the first of them."""
        self._root = root

    def __repr__(self) -> str:
        """Say where it is."""
        return f"{self._root}"

    def read(self, path: str) -> bytes | None:
        """Return the bytes at a path, or None."""
        with _reached(self):
            try:
                return (self._root / path).read_bytes()
            except FileNotFoundError:
                return None

    def create(self, path: str, data: bytes) -> None:
        """Keep bytes at a path for good; CorruptRecord where others are there."""
        with _reached(self):
            try:
                self._write(path, data, replace=False)
            except FileExistsError:
                _must_be(data, self.read(path), path, self)

    def replace(self, path: str, data: bytes) -> None:
        """Keep bytes at a path, in place of those that are there."""
        with _reached(self):
            self._write(path, data, replace=True)

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, in order; none where it is not there."""
        with _reached(self):
            try:
                names = (each.name for each in (self._root / path).iterdir())
                # What was being written when its program died begins with a dot.
                return sorted(name for name in names if not name.startswith("."))
            except FileNotFoundError:
                return []

    def _write(self, path: str, data: bytes, *, replace: bool) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, [data], replace=replace)


class _Files(Protocol):
    """What is used of a file system of fsspec, which has no types."""

    def cat_file(self, path: str) -> bytes: ...

    def pipe_file(self, path: str, value: bytes) -> None: ...

    def makedirs(self, path: str, *, exist_ok: bool) -> None: ...

    def ls(self, path: str, *, detail: bool) -> list[str]: ...

    def invalidate_cache(self) -> None: ...


class Remote:
    """What a file system of fsspec reaches: a bucket, most often."""

    def __init__(self, url: str, files: _Files, root: str) -> None:
        """Keep objects under a root."""
        self._url = url
        self._files = files
        self._root = root.rstrip("/")

    def __repr__(self) -> str:
        """Say where it is, without a password."""
        return without_secrets(self._url)

    def read(self, path: str) -> bytes | None:
        """Return the bytes at a path, or None."""
        with _reached(self):
            try:
                return self._files.cat_file(self._at(path))
            except FileNotFoundError:
                return None

    def create(self, path: str, data: bytes) -> None:
        """Keep bytes at a path for good; CorruptRecord where others are there."""
        if (there := self.read(path)) is not None:
            _must_be(data, there, path, self)
            return
        self.replace(path, data)

    def replace(self, path: str, data: bytes) -> None:
        """Keep bytes at a path, in place of those that are there."""
        with _reached(self):
            at = self._at(path)
            self._files.makedirs(at.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(at, data)

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, in order; none where it is not there."""
        with _reached(self):
            # A listing that was read before does not know what came since.
            self._files.invalidate_cache()
            try:
                found = self._files.ls(self._at(path), detail=False)
            except FileNotFoundError:
                return []
            return sorted(each.rstrip("/").rpartition("/")[2] for each in found)

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"


def _remote(url: str) -> Remote:
    shown = without_secrets(url)
    try:
        found = import_module("fsspec.core").url_to_fs
    except ModuleNotFoundError as exc:
        raise NotInstalled(f"a place such as {shown}", "fsspec", "seals") from exc
    try:
        files, root = cast("tuple[_Files, str]", found(url))
    except ImportError as exc:
        raise InvalidInput(f"the place {shown} cannot be reached: {exc}") from exc
    except ValueError:
        raise InvalidInput(f"fsspec knows no place such as {shown}") from None
    except OSError as exc:
        raise StorageUnavailable(f"the place of the seals, {shown}: {exc}") from exc
    return Remote(url, files, root)


def _must_be(data: bytes, there: bytes | None, path: str, place: Place) -> None:
    if data != there:
        raise CorruptRecord(
            f"{path} at {place} is another one: it was changed, or is of another log"
        )


@contextmanager
def _reached(place: Place) -> Generator[None]:
    """Say which place it is that cannot be read or written."""
    try:
        yield
    except OnrecordError:
        raise
    except OSError as exc:
        raise StorageUnavailable(f"the place of the seals, {place}: {exc.strerror or exc}") from exc
    except Exception as exc:
        # Each driver of fsspec has errors of its own, whose texts may name what is secret.
        why = type(exc).__name__
        raise StorageUnavailable(f"the place of the seals, {place}: {why}") from exc
