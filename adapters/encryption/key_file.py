"""Key-encryption keys in a file that its owner alone may read: the current one first, a line each.

The file is written whole or not at all. What it was before is overwritten with zeros, as far as the file
system writes where it read: on flash and in snapshots of a disk it may stay. Several programs may use
one file on one machine: those that change it take turns by a lock file beside it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from onrecord.adapters.encryption import local_keys
from onrecord.adapters.encryption.local_keys import LocalKey, new_local_key, parse_local_key
from onrecord.adapters.storage.atomic_files import replace_secret, write_atomically
from onrecord.adapters.storage.sqlite.lock import lock_file
from onrecord.domain.encryption.wrapped import Wrapped
from onrecord.domain.errors import InvalidInput, StorageUnavailable

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_WAIT: Final = 30.0
_LOOKS: Final = 5


def open_one(path: str) -> KeyFile:
    """Return the key file at a path, with or without the two slashes of an URL before it."""
    return KeyFile(Path(path.removeprefix("//")))


def new_key_file(path: Path) -> KeyFile:
    """Make a key file with one key, readable by its owner alone; InvalidInput if something is there."""
    try:
        write_atomically(path, [_text([new_local_key()])], replace=False)
    except FileExistsError:
        raise InvalidInput(f"{path} is there already: a key file is never written over") from None
    except FileNotFoundError as exc:
        raise StorageUnavailable(f"{path} cannot be made: make its folder first") from exc
    except OSError as exc:
        raise _unreachable(path, exc) from exc
    return KeyFile(path)


class _Read(NamedTuple):
    """What was read, and of which state of the file."""

    state: tuple[int, ...]
    keys: tuple[LocalKey, ...]


class KeyFile:
    """The key-encryption keys in a file; each time it is looked at whether it was changed."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet. A file that is not there is never made: its keys would be others."""
        self._path = path
        self._read: _Read | None = None

    def __repr__(self) -> str:
        """Say where it is."""
        return f"{self._path}"

    def current(self) -> str:
        """Return the name of the first key's generation."""
        return self._keys()[0].generation

    def wrap(self, plain: bytes, context: Mapping[str, str]) -> Wrapped:
        """Return bytes wrapped under the first key."""
        return local_keys.wrap(self._keys()[0], plain, context)

    def unwrap(self, wrapped: Wrapped, context: Mapping[str, str]) -> bytes:
        """Return what was wrapped; errors as `KeyEncryption.unwrap`."""
        return local_keys.unwrap(self._keys(), wrapped, context, self)

    def begin_generation(self) -> str:
        """Write a new key before the others, durably."""
        with self._turn():
            key = new_local_key()
            self._write([key, *self._keys()])
        return key.generation

    def retire(self, generation: str) -> int | None:
        """Take a key out of the file, durably, and overwrite what the file was before."""
        with self._turn():
            first, *others = self._keys()
            if first.generation == generation:
                raise InvalidInput(
                    f"{generation} is the current key-encryption key: begin another one first"
                )
            left = [key for key in others if key.generation != generation]
            if len(left) < len(others):
                self._write([first, *left])
        return None

    @contextmanager
    def _turn(self) -> Generator[None]:
        try:
            lock = lock_file(self._path.with_name(f"{self._path.name}-lock"))
        except OSError as exc:
            raise _unreachable(self._path, exc) from exc
        with lock.turn(_WAIT):
            yield

    def _write(self, keys: Sequence[LocalKey]) -> None:
        """Write the file anew; then overwrite what it was, which has no name any more."""
        try:
            replace_secret(self._path, [_text(keys)])
        except OSError as exc:
            raise _unreachable(self._path, exc) from exc

    def _keys(self) -> tuple[LocalKey, ...]:
        """Return the keys in the file; it is read where it is another one than it was."""
        try:
            if self._read is None or self._read.state != _state(self._path.stat()):
                self._read = self._read_anew()
        except OSError as exc:
            raise _unreachable(self._path, exc) from exc
        return self._read.keys

    def _read_anew(self) -> _Read:
        status, text = self._text()
        keys = tuple(map(parse_local_key, text.decode("ascii", "replace").splitlines()))
        if not keys or _text(keys) != text:
            raise InvalidInput(f"{self._path} is not whole: it was cut or changed")
        local_keys.must_be_apart(keys)
        return _Read(_state(status), keys)

    def _text(self) -> tuple[os.stat_result, bytes]:
        """Return what the file holds. One that was replaced amid the look may be zeros by now."""
        for _ in range(_LOOKS):
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                self._must_be_its_owners(status)
                text = file.read()
            if b"\0" not in text:
                return status, text
        raise InvalidInput(f"{self._path} holds no key-encryption key: it was overwritten")

    def _must_be_its_owners(self, status: os.stat_result) -> None:
        if status.st_mode & _OTHERS:
            raise InvalidInput(
                f"others than its owner may use {self._path}, which holds keys: chmod 600 it"
            )


def _state(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes with a file: by name or by inode, its content, its mode."""
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, status.st_mode, *times


def _text(keys: Sequence[LocalKey]) -> bytes:
    return "".join(f"{key.text()}\n" for key in keys).encode("ascii")


def _unreachable(path: Path, error: OSError) -> StorageUnavailable:
    return StorageUnavailable(f"the key file {path}: {error.strerror or error}")
