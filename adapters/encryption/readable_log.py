"""A log as its users read it: one that is encrypted with its keys, one in clear as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from onrecord.adapters.recording.unstored import ClearFiles, SpoolFiles
from onrecord.domain.encryption.bodies import is_clear, key_name_in
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Backend, Cursor, RecordedEvent, Subscription
from onrecord.domain.operators import is_operators
from onrecord.domain.seals.checkpoint import log_id_of

if TYPE_CHECKING:
    from onrecord.adapters.encryption.encrypted_log import StoredLog
    from onrecord.adapters.encryption.subject_keys import SubjectKeys
    from onrecord.adapters.redis.tails import Followed
    from onrecord.adapters.settings import EncryptionSettings

_PAGES: Final = (1, 100, 1_000)
_LAST: Final = 1_000
_URL: Final = "sqlite:"


def readable_log(stored: Followed, settings: EncryptionSettings) -> Followed:
    """Return a log as its users read it: encrypted with keys, or locked without, or as it is stored.

    InvalidInput where keys are named for a log that has events in clear.
    """
    is_encrypted = _is_encrypted(stored)
    if settings.keys is None and not is_encrypted:
        return stored
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog

    log = cast("StoredLog", stored)
    if settings.keys is None or settings.kek is None:
        return EncryptedLog(log, None)
    try:
        if is_encrypted is False:
            raise InvalidInput(
                "the log has events in clear, and is encrypted from its first event on or not at all: name "
                "another log, and import into it what `onrecord export` writes of this one"
            )
        return EncryptedLog(log, _keys(stored, settings.keys, settings.kek))
    except BaseException:
        stored.close()
        raise


def _is_encrypted(stored: Backend) -> bool | None:
    """Return whether the first event of a conversation is encrypted; None if none is found.

    Events of operators and of other applications are in clear in any log, and tell nothing. Behind many of
    these, the last events of the log are looked at.
    """
    events = (event for end in stored.cursors() for event in _events_to_look_at(stored, end))
    for event in events:
        if key_name_in(event.header) is not None:
            return True
        if is_clear(event.header) and not is_operators(event.type):
            return False
    return None


def _events_to_look_at(stored: Backend, end: Cursor) -> Iterator[RecordedEvent]:
    last = 0
    for limit in _PAGES:
        page = stored.read_log(replace(end, position=last), limit)
        yield from page
        if len(page) < limit:
            return
        last = page[-1].position
    yield from stored.read_log(replace(end, position=max(last, end.position - _LAST)), _LAST)


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


def _keys(stored: Backend, keys: str, kek: str) -> SubjectKeys:
    from onrecord.adapters.encryption.key_encryption import key_encryption_at
    from onrecord.adapters.encryption.sqlite_key_store import open_key_store
    from onrecord.adapters.encryption.subject_keys import SubjectKeys as Of

    log_id = log_id_of(stored.digest)
    key_encryption = key_encryption_at(kek)
    key_encryption.current()
    return Of(open_key_store(_file(keys), log_id), key_encryption, log_id, stored.digest)


def _file(keys: str) -> Path:
    from onrecord.adapters.storage.sqlite.url import path_of

    if keys.startswith(_URL):
        return path_of(keys)
    if "://" in keys:
        raise InvalidInput(
            "a key store is a file: give ONRECORD_KEYS its path, or sqlite:///keys.db"
        )
    return Path(keys)
