"""Where the tests of subjects' keys keep them: a key store and a key file in a folder.

The key store is a file there, or where the file `keys.url` says, so that other processes find the same.
"""

import hashlib
from pathlib import Path
from typing import Final
from uuid import UUID

from onrecord.adapters.encryption.key_file import KeyFile, new_key_file
from onrecord.adapters.encryption.key_store import KeyStore
from onrecord.adapters.encryption.postgres.key_store import open_postgres_keys
from onrecord.adapters.encryption.sqlite.key_store import open_key_store
from onrecord.adapters.encryption.subject_keys import KeyErasure, SubjectKeys
from onrecord.domain.encryption.subjects import Subject, named_subject
from onrecord.domain.encryption.wrapped import Wrapped, WrappedKey
from tests.patience import PATIENCE

LOG: Final = UUID("4f4e5243-0000-8000-8000-000000000001")
TENANT: Final = UUID(int=1)
URL_FILE: Final = "keys.url"
HEADER: Final = b"{}"
CANARY: Final = b"the canary sings"


def digest(text: str) -> bytes:
    """A keyed digest, as a log has one."""
    return hashlib.sha256(b"log key" + text.encode()).digest()[:16]


def subject(name: str) -> tuple[Subject]:
    return (named_subject(TENANT, name),)


def key_file(folder: Path) -> KeyFile:
    path = folder / "kek"
    return KeyFile(path) if path.exists() else new_key_file(path)


def store(folder: Path, log_id: UUID = LOG, wait: float = PATIENCE) -> KeyStore:
    """The key store of a log, as a process that begins now opens it."""
    url = folder / URL_FILE
    if url.exists():
        return open_postgres_keys(url.read_text("utf-8"), log_id, wait=wait)
    return open_key_store(folder / "keys.db", log_id, wait)


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def keys_in(folder: Path, clock: Clock | None = None) -> SubjectKeys:
    """The keys of a log's subjects, as a process that begins now finds them."""
    return SubjectKeys(store(folder), key_file(folder), LOG, digest, clock or Clock())


def erase(keys: SubjectKeys, *subjects: Subject) -> KeyErasure:
    """Destroy the keys of subjects, as far as they have any, and do what follows, as a store does."""
    found = (keys.key_id_of(subject) for subject in subjects)
    keys.destroy([key_id for key_id in found if key_id is not None])
    return keys.finish()


def key(number: int, generation: str = "g0") -> WrappedKey:
    """A wrapped key, whose bytes are found in a file by what they repeat."""
    subject = f"subject-{number:08}".encode()
    return WrappedKey(
        f"id-{number}", subject, Wrapped(generation, b"wrapped-%08d-" % number * 4), number
    )
