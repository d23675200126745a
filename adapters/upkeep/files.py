"""The files that a store is made of, so that no command writes over one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.encryption.local_keys import PREFIX
from onrecord.adapters.storage.sqlite.header import KEYS_FILE, LOG_FILE, VIEWS_FILE, application_id
from onrecord.domain.errors import InvalidInput, StorageError
from onrecord.domain.log import Backend
from onrecord.domain.seals.notes import PRIVATE

if TYPE_CHECKING:
    from onrecord.adapters.recording.spool import Spool
    from onrecord.adapters.storage.sqlite.sqlite import Sqlite


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """A store's `database`, None where it is no file, and the folder of what waits for it.

    All that SQLite and Onrecord keep beside the database has its name with `-` and a word behind:
    its journals, its lock, the file of its views, its spool.
    """

    database: Path | None
    spool: Path

    def has(self, path: Path) -> bool:
        """Whether a path names one of them, by whatever spelling or link, or would, once written."""
        target = Path(os.path.realpath(path))
        return self._is_beside(target) or self._is_linked(target) or self._is_spooled(target)

    def must_not_have(self, path: Path) -> None:
        """Raise InvalidInput for a file of this store, or for the log or the views of another one."""
        if self.has(path):
            raise InvalidInput(f"{path} is a file of the store itself: choose another name")
        if is_of_a_store(path) or _is_secret(path):
            raise InvalidInput(f"{path} is a store or a key of Onrecord's: choose another name")

    def _is_beside(self, target: Path) -> bool:
        if self.database is None or not _is_same(target.parent, self.database.parent):
            return False
        # Some file systems take two spellings of a name for one.
        name, own = target.name.casefold(), self.database.name.casefold()
        return name == own or name.startswith(f"{own}-")

    def _is_linked(self, target: Path) -> bool:
        return any(_is_same(target, file) for file in self._files())

    def _files(self) -> Iterator[Path]:
        if self.database is None:
            return
        yield self.database
        for file in self.database.parent.iterdir():
            if file.name.startswith(f"{self.database.name}-"):
                yield file

    def _is_spooled(self, target: Path) -> bool:
        spool = Path(os.path.realpath(self.spool))
        return any(place == spool or _is_same(place, spool) for place in (target, *target.parents))


def files_of(url: str, backend: Backend, spool: Spool) -> StoreFiles:
    """Return the files of the store at an URL, of which these are the log and the spool."""
    # What waits for other tenants of the store is beside its own.
    folder = spool.folder.parent
    if not url.startswith("sqlite:"):
        return StoreFiles(None, folder)
    return StoreFiles(cast("Sqlite", stored_of(backend)).file.path, folder)


def is_of_a_store(path: Path) -> bool:
    """Whether a file is a log of Onrecord's, its views or its keys, whichever store's."""
    try:
        return path.is_file() and application_id(path) in (LOG_FILE, VIEWS_FILE, KEYS_FILE)
    except StorageError:
        return False


def _is_secret(path: Path) -> bool:
    """Whether a file holds a private key, or keys that other keys are under."""
    try:
        with path.open("rb") as file:
            return file.read(16).startswith((PRIVATE.encode(), PREFIX.encode()))
    except OSError:
        return False


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file or folder, by device and inode."""
    try:
        return one.samefile(other)
    except OSError:
        return False
