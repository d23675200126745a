"""Places outside the database that keep checkpoints and tiles: a folder, or what fsspec reaches.

A place is as strong as who may write to it. In a bucket with a default retention (S3's object lock)
nobody changes what was kept there, whoever holds the database.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from onrecord.adapters.storage.atomic_files import create_together, write_atomically
from onrecord.domain.errors import (
    CorruptRecord,
    InvalidInput,
    NotInstalled,
    OnrecordError,
    StorageUnavailable,
)

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_ALMOST: Final = re.compile(r"[^/\\]{2,}:/|.*::", re.DOTALL)
"""What is no folder's path: chains of fsspec, and schemes that are not written as such."""

_FOLDERS: Final = frozenset({"file", "local"})
_MOST: Final = 64 << 20
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Opens no link, and waits for nobody at a pipe, where the system can (POSIX)."""


class Place(Protocol):
    """Bytes by path; `repr` says where. StorageUnavailable where it cannot be read or written."""

    def read(self, path: str, most: int = _MOST) -> bytes | None:
        """Return the bytes at a path, or None; CorruptRecord where they are more than so many."""
        ...

    def create(self, path: str, data: bytes) -> None:
        """Keep bytes at a path for good; CorruptRecord where others are there."""
        ...

    def create_all(self, files: Mapping[str, bytes]) -> None:
        """Keep bytes at each of the paths as `create` does, durable once all are there."""
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Keep bytes at a path, in place of those that are there."""
        ...

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, in order; none where it is not there.

        StorageUnavailable where the place itself is not there, if that can be told.
        """
        ...


def place_at(url: str) -> Place:
    """Return the place at an URL: `file:///var/seals`, a folder's path, `s3://bucket/seals`.

    InvalidInput for an URL of a kind that fsspec does not know, and for a chain of URLs.
    """
    if not url.strip():
        raise InvalidInput("the place of the seals is empty: name a folder, or an URL")
    match = _SCHEME.match(url)
    if "::" in url or (match is None and _ALMOST.match(url)):
        scheme = url.partition(":")[0]
        raise InvalidInput(
            f"a place that begins with {scheme}: is none: name a folder, or one URL such as "
            "s3://bucket/seals"
        )
    if match is None:
        return Folder(Path(url))
    if match[1].lower() in _FOLDERS:
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

    def read(self, path: str, most: int = _MOST) -> bytes | None:
        """Return the bytes of a regular file, or None; CorruptRecord where it is none, or larger."""
        with _reached(self):
            try:
                with open(self._root / path, "rb", opener=_opened) as file:
                    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                        raise _no_file(path, self)
                    return _bounded(file.read(most + 1), most, path, self)
            except FileNotFoundError:
                return None
            except OSError as exc:
                if exc.errno in {errno.ELOOP, errno.EISDIR, errno.ENXIO}:
                    raise _no_file(path, self) from None
                raise

    def create(self, path: str, data: bytes) -> None:
        """Keep bytes at a path for good; CorruptRecord where others are there."""
        with _reached(self):
            try:
                self._write(path, data, replace=False)
            except FileExistsError:
                _must_be(data, self.read(path), path, self)

    def create_all(self, files: Mapping[str, bytes]) -> None:
        """Keep bytes at each of the paths as `create` does; they are flushed together."""
        with _reached(self):
            for path in create_together(self._root, files):
                _must_be(files[path], self.read(path), path, self)

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
                if not self._root.exists():
                    raise
                return []

    def _write(self, path: str, data: bytes, *, replace: bool) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            raise _no_file(path, self)
        write_atomically(target, [data], replace=replace)


class _Files(Protocol):
    """What is used of a file system of fsspec, which has no types."""

    def cat_file(self, path: str, *, start: int, end: int) -> bytes: ...

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
        """Say where it is, without who asks and without parameters."""
        return _shown(self._url)

    def read(self, path: str, most: int = _MOST) -> bytes | None:
        """Return the bytes at a path, or None; CorruptRecord where they are more than so many."""
        with _reached(self):
            try:
                data = self._files.cat_file(self._at(path), start=0, end=most + 1)
            except FileNotFoundError:
                return None
            return _bounded(data, most, path, self)

    def create(self, path: str, data: bytes) -> None:
        """Keep bytes at a path for good; CorruptRecord where others are there."""
        if (there := self.read(path)) is not None:
            _must_be(data, there, path, self)
            return
        self.replace(path, data)

    def create_all(self, files: Mapping[str, bytes]) -> None:
        """Keep bytes at each of the paths as `create` does, one after the other."""
        for path, data in files.items():
            self.create(path, data)

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
    shown = _shown(url)
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


def _shown(url: str) -> str:
    """Return where an URL leads, without who asks there and without its parameters."""
    scheme, _, address = url.partition("://")
    host, slash, path = re.split(r"[?#]", address, maxsplit=1)[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | _NO_LINK)


def _bounded(data: bytes, most: int, path: str, place: Place) -> bytes:
    if len(data) > most:
        raise CorruptRecord(f"{path} at {place} has more than {most:,} bytes")
    return data


def _no_file(path: str, place: Place) -> CorruptRecord:
    return CorruptRecord(
        f"{path} at {place} is no regular file: a link, a pipe, a device or a folder"
    )


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
