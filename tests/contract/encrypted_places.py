"""Stores whose bodies are encrypted: other places, with a key store beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from onrecord.adapters.encryption.encrypted_log import EncryptedLog, StoredLog
from onrecord.adapters.encryption.sqlite.key_store import open_key_store
from onrecord.adapters.encryption.subject_keys import SubjectKeys
from onrecord.domain.log import Backend
from onrecord.domain.seals.checkpoint import log_id_of
from tests.adapters.encryption.places import key_file

if TYPE_CHECKING:
    from tests.contract.places import Place


@dataclass(frozen=True)
class EncryptedPlace:
    """A place, whose store is encrypted by keys in a folder."""

    inner: Place
    folder: Path

    def open(self) -> Backend:
        stored = cast("StoredLog", self.inner.open())
        log_id = log_id_of(stored.digest)
        key_store = open_key_store(self.folder / "keys.db", log_id)
        keys = SubjectKeys(key_store, key_file(self.folder), log_id, stored.digest)
        stored.mark_encrypted()
        return EncryptedLog(stored, keys)

    def remove(self) -> None:
        self.inner.remove()


def encrypted(place: Callable[[Path], Place]) -> Callable[[Path], Place]:
    """The same place, with its store encrypted."""
    return lambda folder: EncryptedPlace(place(folder), folder)
