"""The keys of subjects: made when they are first needed, kept in memory for a while, destroyed.

A key is destroyed in steps, each durable before the next one. Its record goes; a new generation of the
key-encryption key begins; the other keys are wrapped under that; the generations before are retired. So
nobody unwraps a key that was destroyed, from an old backup of the key store neither. A death amid the
steps leaves every other key readable, and `finish` does the rest.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.encryption.aes import BodyCipher
from onrecord.adapters.encryption.key_encryption import KeyEncryption
from onrecord.adapters.encryption.key_store import GenerationClosed, KeyStore
from onrecord.domain.encryption.keys import (
    KEY_SIZE,
    SubjectKey,
    data_key,
    key_ids_of,
    subject_key,
)
from onrecord.domain.encryption.subjects import Subject
from onrecord.domain.encryption.wrapped import (
    DestroyedKey,
    Rewrapping,
    WrappedKey,
    context_of,
    key_of,
    plain_of,
)
from onrecord.domain.errors import CorruptRecord, StorageBusy, StorageUnavailable

K = TypeVar("K")

KEPT_FOR: Final = 60.0
"""Seconds for which a process takes it that a key was not destroyed by another one."""

_MOST_KEPT: Final = 10_000
_BATCH: Final = 500
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class KeyErasure:
    """What was done so that no backup gives back keys that were destroyed.

    `rewrapped` is how many other keys were wrapped anew. `retired` are the generations of the
    key-encryption key that are gone. `undoable_until` is until when somebody can bring one of them back,
    in microseconds since 1970-01-01 UTC; None: this key store cannot.
    """

    rewrapped: int
    retired: tuple[str, ...]
    undoable_until: int | None


@dataclass(slots=True)
class _Kept:
    cipher: BodyCipher
    looked_at: float


class SubjectKeys:
    """The keys of a log's subjects, in a key store, under a key-encryption key. Threads may share it."""

    def __init__(
        self,
        store: KeyStore,
        key_encryption: KeyEncryption,
        log_id: UUID,
        digest: Callable[[str], bytes],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask for nothing yet. `digest` is the keyed digest of the log; `clock` counts seconds."""
        self._store = store
        self._key_encryption = key_encryption
        self._log_id = log_id
        self._digest = digest
        self._clock = clock
        self._lock = threading.Lock()
        self._ciphers: Newest[str, _Kept] = Newest(_MOST_KEPT)
        self._by_subjects: Newest[tuple[Subject, ...], _Kept] = Newest(_MOST_KEPT)
        self._destructions = 0
        self._fitting: str | None = None

    def backups_due(self, undoable_until: int | None) -> str:
        """Return what to back up where generations were retired; `undoable_until` as in `KeyErasure`.

        One that can be brought back is with a KMS, which has no backup.
        """
        what = f"{self._store!r}"
        if undoable_until is None:
            what = f"{self._key_encryption!r} and {what}"
        return f"Back up {what} now: backups and copies from before no longer serve."

    def cipher_for(self, subjects: tuple[Subject, ...]) -> BodyCipher:
        """Return what encrypts an event of these subjects; keys that are not there yet are made.

        A key is durable in the key store when this returns. So no event is ever under a key that is not.
        """
        kept = self._by_subjects.get(subjects)
        if kept is not None and self._is_there(kept):
            return kept.cipher
        destructions = self._destructions
        keys = [self._made(subject.digest(self._digest)) for subject in subjects]
        kept = self._keep(BodyCipher(data_key(keys)), destructions)
        self._put(self._by_subjects, subjects, kept, destructions)
        return kept.cipher

    def cipher_of(self, name: str) -> BodyCipher | DestroyedKey:
        """Return what decrypts the events whose headers name these keys, or the key that is destroyed.

        CorruptRecord for what names no keys, and where the key store never had one.
        """
        kept = self._ciphers.get(name)
        if kept is not None and self._is_there(kept):
            return kept.cipher
        destructions = self._destructions
        keys: list[SubjectKey] = []
        for key_id in key_ids_of(name):
            key = self._unwrapped(self._found(key_id))
            if isinstance(key, DestroyedKey):
                return key
            keys.append(key)
        return self._keep(BodyCipher(data_key(keys)), destructions).cipher

    def kept(self, name: str) -> BodyCipher | None:
        """Return what decrypts such events where that is in memory, and the key store is not to be asked."""
        kept = self._ciphers.get(name)
        if kept is None or self._clock() - kept.looked_at >= KEPT_FOR:
            return None
        return kept.cipher

    def knows(self, key_id: str) -> bool:
        """Return whether the key store ever had a key."""
        return self._store.get(key_id) is not None

    def key_id_of(self, subject: Subject) -> str | None:
        """Return the id of the key that a subject has; None where it has none, or none any more."""
        found = self._store.find(subject.digest(self._digest))
        return None if found is None else found.key_id

    def destroy(self, key_ids: Sequence[str]) -> None:
        """Destroy keys, those too that were destroyed before; `finish` does what is left to do.

        Their ciphers are not in the memory of this process afterwards.
        """
        for key_id in key_ids:
            try:
                self._store.destroy(key_id, _now())
            finally:
                self._forget(key_id)

    def retired_before(self) -> KeyErasure:
        """Return what earlier calls of `finish` retired, as far as keys were destroyed under it."""
        gone = [one for one in self._store.generations() if one.is_retired and one.destroyed]
        undoable = (one.undoable_until for one in gone if one.undoable_until is not None)
        return KeyErasure(0, tuple(one.name for one in gone), max(undoable, default=None))

    def rotate(self) -> KeyErasure:
        """Begin a new generation, wrap all keys under it, and retire those before. No event changes."""
        self._key_encryption.begin_generation()
        return self.finish()

    def finish(self) -> KeyErasure:
        """Do what is left of erasures and rotations that were begun, by whomever."""
        # In this order: what is not current now, though it was used before, is current never again.
        used = self._store.generations()
        current = self._key_encryption.current()
        self._must_fit(current)
        if any(each.name == current and each.destroyed for each in used):
            current = self._key_encryption.begin_generation()
        for each in used:
            if each.name != current and not each.is_closed:
                self._store.close_generation(each.name)
        old = [each.name for each in used if each.name != current and not each.is_retired]
        rewrapped = sum(map(self._rewrapped, self._under(old)))
        # Now nothing of before is left in the store, so that it is not lost with what is retired.
        self._store.scrub()
        undoable = [self._retired(name) for name in old]
        latest = max((until for until in undoable if until is not None), default=None)
        return KeyErasure(rewrapped, tuple(old), latest)

    def close(self) -> None:
        """Close the key store."""
        self._store.close()

    def _retired(self, name: str) -> int | None:
        until = self._key_encryption.retire(name)
        self._store.note_retired(name, _now(), until)
        return until

    def _under(self, generations: Sequence[str]) -> Iterator[list[WrappedKey]]:
        """Yield the keys that are wrapped under generations, some at a time, until there are none."""
        while keys := self._store.under(generations, _BATCH):
            yield keys

    def _rewrapped(self, records: Sequence[WrappedKey]) -> int:
        """Wrap keys under the current generation; return how many nobody else was quicker with."""
        keys = [
            (record, key)
            for record in records
            if not isinstance(key := self._unwrapped(record), DestroyedKey)
        ]
        for _ in range(_ATTEMPTS):
            anew = [
                Rewrapping(
                    record.key_id, record.wrapped, self._wrapped(key, record.subject).wrapped
                )
                for record, key in keys
            ]
            try:
                return self._store.replace(anew)
            except GenerationClosed:
                continue
        raise _stale()

    def _made(self, subject: bytes) -> SubjectKey:
        there = self._store.find(subject)
        if there is not None and not isinstance(known := self._unwrapped(there), DestroyedKey):
            return known
        self._must_fit(self._key_encryption.current())
        key = subject_key(secrets.token_bytes(KEY_SIZE))
        for _ in range(_ATTEMPTS):
            try:
                added = self._store.add(self._wrapped(key, subject))
            except GenerationClosed:
                continue
            if added.key_id == key.key_id:
                return key
            if not isinstance(known := self._unwrapped(added), DestroyedKey):
                return known
        raise _stale()

    def _must_fit(self, current: str) -> None:
        """Refuse a key-encryption key that reads nothing of the store: it is that of another one.

        A generation that the store does not know yet is one of its own where any of its keys is read.
        """
        if current == self._fitting:
            return
        known = self._store.generations()
        if all(each.name != current for each in known):
            self._must_read_one(
                [key for each in known for key in self._store.under([each.name], 1)]
            )
        self._fitting = current

    def _must_read_one(self, keys: Sequence[WrappedKey]) -> None:
        for key in keys:
            try:
                with suppress(CorruptRecord):  # Its generation is there.
                    self._unwrapped(key)
                return
            except StorageUnavailable:
                if key is keys[-1]:
                    raise

    def _found(self, key_id: str) -> WrappedKey | DestroyedKey:
        found = self._store.get(key_id)
        if found is None:
            raise CorruptRecord(
                f"the key store {self._store!r} has no key {key_id}: name the one of this log, or "
                "restore it from a backup"
            )
        return found

    def _wrapped(self, key: SubjectKey, subject: bytes) -> WrappedKey:
        context = context_of(self._log_id, key.key_id)
        wrapped = self._key_encryption.wrap(plain_of(key, subject), context)
        return WrappedKey(key.key_id, subject, wrapped, _now())

    def _unwrapped(self, record: WrappedKey | DestroyedKey) -> SubjectKey | DestroyedKey:
        if isinstance(record, DestroyedKey):
            return record
        context = context_of(self._log_id, record.key_id)
        try:
            return key_of(record, self._key_encryption.unwrap(record.wrapped, context))
        except StorageUnavailable:
            # Another process may have wrapped it anew, or destroyed it, since it was read.
            present = self._found(record.key_id)
            if present == record:
                raise
            return self._unwrapped(present)
        except CorruptRecord as error:
            raise CorruptRecord(f"the key {record.key_id} of {self._store!r}: {error}") from error

    # What is kept in memory.

    def _is_there(self, kept: _Kept) -> bool:
        """Whether none of a cipher's keys was destroyed; asked of the key store once in a while."""
        now = self._clock()
        if now - kept.looked_at < KEPT_FOR:
            return True
        key_ids = key_ids_of(kept.cipher.name)
        if not all(isinstance(self._store.get(key_id), WrappedKey) for key_id in key_ids):
            return False
        kept.looked_at = now
        return True

    def _keep(self, cipher: BodyCipher, destructions: int) -> _Kept:
        kept = _Kept(cipher, self._clock())
        self._put(self._ciphers, cipher.name, kept, destructions)
        return kept

    def _put(self, kept: Newest[K, _Kept], key: K, cipher: _Kept, destructions: int) -> None:
        """Keep a cipher, unless a key was destroyed since so many were: it may be one of the cipher's."""
        with self._lock:
            if self._destructions != destructions:
                return
            kept[key] = cipher

    def _forget(self, key_id: str) -> None:
        with self._lock:
            self._destructions += 1
            _drop(self._ciphers, key_id)
            _drop(self._by_subjects, key_id)


def _drop(kept: Newest[K, _Kept], key_id: str) -> None:
    """Drop the ciphers that a key is one of."""
    for key in [key for key, each in kept.items() if key_id in key_ids_of(each.cipher.name)]:
        del kept[key]


def _now() -> int:
    return time.time_ns() // 1000


def _stale() -> StorageBusy:
    return StorageBusy(
        "this program has a key-encryption key that was rotated away: give it the new one, and start "
        "it again"
    )
