"""A log as its users read it: one that is encrypted with its keys, one in clear as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

from onrecord.adapters.recording.unstored import ClearFiles, SpoolFiles
from onrecord.domain.encryption.bodies import is_unencrypted, keys_looked_for
from onrecord.domain.encryption.mark import Bodies, bodies_of
from onrecord.domain.errors import InvalidInput, StorageReadOnly, StorageUnavailable
from onrecord.domain.log import Backend, RecordedEvent, Subscription
from onrecord.domain.marks.marked_ids import is_marked
from onrecord.domain.seals.checkpoint import log_id_of

if TYPE_CHECKING:
    from onrecord.adapters.encryption.encrypted_log import StoredLog
    from onrecord.adapters.encryption.subject_keys import SubjectKeys
    from onrecord.adapters.redis.tails import Followed
    from onrecord.adapters.settings import EncryptionSettings
    from onrecord.domain.encryption.mark import Markable

_PAGES: Final = (1, 10, 100, 1_000)
_LAST: Final = 5
_SAID_IN_CLEAR: Final = (
    "the log has events in clear, and is encrypted from its first event on or not at all: name another log, "
    "and record this one in it anew with `onrecord move --into`, or unset ONRECORD_KEYS and ONRECORD_KEK to read it"
)

_NO_KEY: Final = (
    "the log is encrypted, and the key store that ONRECORD_KEYS names holds no key of this log: name the one that "
    "does, or restore it from a backup"
)


def readable_log(stored: Followed, settings: EncryptionSettings) -> Followed:
    """Return a log as its users read it: encrypted with keys, or locked without, or as it is stored.

    Its mark tells whether it is encrypted. The first program with keys sets it, where no conversation is in
    clear. InvalidInput where keys are named for a log that has events in clear, StorageUnavailable where
    the key store knows none of its keys.
    """
    try:
        return _readable(cast("StoredLog", stored), settings)
    except BaseException:
        stored.close()
        raise


def keys_must_be_usable(settings: EncryptionSettings) -> None:
    """Refuse keys that cannot be used, before a log is made for them: it would be one in clear.

    Errors as those of `readable_log`. A key store on a server is not asked.
    """
    if settings.keys is None or settings.kek is None:
        return
    from onrecord.adapters.encryption.key_encryption import key_encryption_at
    from onrecord.adapters.encryption.key_stores import must_be_makeable

    key_encryption_at(settings.kek).current()
    must_be_makeable(settings.keys)


def is_marked_encrypted(backend: Backend) -> bool:
    """Return whether a log is marked as encrypted, as it is stored."""
    from onrecord.adapters.encryption.encrypted_log import stored_of

    return cast("Markable", stored_of(backend)).is_encrypted()


def _readable(log: StoredLog, settings: EncryptionSettings) -> Followed:
    is_marked = log.is_encrypted()
    if settings.keys is None and not is_marked:
        return log
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog

    if settings.keys is None or settings.kek is None:
        return EncryptedLog(log, None)
    bodies = Bodies.ENCRYPTED if is_marked else bodies_of(_told_by(log))
    if bodies is Bodies.IN_CLEAR:
        raise InvalidInput(_SAID_IN_CLEAR)
    # A new key store would let a rotation or an erasure destroy what the one of an encrypted log needs.
    may_make = bodies is Bodies.UNTOLD and log.may_mark()
    keys = _keys(log, settings.keys, settings.kek, may_make=may_make)
    try:
        if bodies is Bodies.ENCRYPTED:
            _must_be_those_of(log, keys)
        # One that is marked gets its mark where a shard has lost it.
        if not _is_marked_now(log):
            raise InvalidInput(_SAID_IN_CLEAR)
    except BaseException:
        keys.close()
        raise
    return EncryptedLog(log, keys)


def _must_be_those_of(log: StoredLog, keys: SubjectKeys) -> None:
    """Refuse a key store that knows no key of the encrypted events that are looked at: another one has them.

    A role that may not read events is not held to that. It appends none.
    """
    unknown = set[str]()
    with suppress(StorageReadOnly):
        for event in _events_to_look_at(log):
            for key_id in keys_looked_for(event.header):
                if key_id not in unknown and keys.knows(key_id):
                    return
                unknown.add(key_id)
    if unknown:
        raise StorageUnavailable(_NO_KEY)


def _is_marked_now(log: StoredLog) -> bool:
    """Mark a log, as far as this role may: one that may not says nothing in a conversation either."""
    try:
        return log.mark_encrypted()
    except StorageReadOnly:
        return True


def _told_by(stored: Backend) -> Iterator[tuple[str, bytes]]:
    """Yield the types and headers of the events that tell whether a log without a mark is encrypted."""
    return ((event.type, event.header) for event in _events_to_look_at(stored))


def _events_to_look_at(stored: Backend) -> Iterator[RecordedEvent]:
    """Yield how the first conversations begin, as far as one tells, and the last events of each shard."""
    for ids in _first_streams(stored):
        begun = stored.first_events(ids)
        yield from begun
        if any(is_unencrypted(event.type, event.header) for event in begun):
            break
    for end in stored.cursors():
        yield from stored.read_log(replace(end, position=max(0, end.position - _LAST)), _LAST)


def _first_streams(stored: Backend) -> Iterator[list[UUID]]:
    """Yield ids of streams in their order, those of operators left out: ids of conversations begin with a time."""
    after: UUID | None = None
    for limit in _PAGES:
        with stored.inventory().moment() as moment:
            heads = moment.heads(after, limit)
        ids = [head.conversation_id for head in heads if not is_marked(head.conversation_id)]
        if ids:
            yield ids
        if len(heads) < limit:
            return
        after = heads[-1].conversation_id


def readable_from(backend: Backend, stored: Subscription) -> Subscription:
    """Return a subscription to what is stored in a log as its users read it."""
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog

    return backend.readable_from(stored) if isinstance(backend, EncryptedLog) else stored


def files_of(backend: Backend) -> SpoolFiles:
    """Return how the spool of a log writes its files."""
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog

    if not isinstance(backend, EncryptedLog):
        return ClearFiles()
    from onrecord.adapters.encryption.spool_files import EncryptedFiles

    return EncryptedFiles(backend)


def _keys(stored: Backend, keys: str, kek: str, *, may_make: bool) -> SubjectKeys:
    from onrecord.adapters.encryption.key_encryption import key_encryption_at
    from onrecord.adapters.encryption.key_stores import key_store_at
    from onrecord.adapters.encryption.subject_keys import SubjectKeys as Of

    log_id = log_id_of(stored.digest)
    key_encryption = key_encryption_at(kek)
    key_encryption.current()  # Checks that it is there, before a key store is made.
    key_store = key_store_at(keys, log_id, stored, may_make=may_make)
    return Of(key_store, key_encryption, log_id, stored.digest)
