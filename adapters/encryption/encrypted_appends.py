"""Appends to an encrypted log, done again where the log answers what only its keys can mend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.encryption.repeated_events import compare_texts
from onrecord.domain.encryption.bodies import keys_looked_for
from onrecord.domain.erasure.destroyed import KeyDestroyed
from onrecord.domain.log import Append, BlobMissing, Duplicate, Mismatch, Recorded, Verdict

if TYPE_CHECKING:
    from onrecord.adapters.encryption.aes import BodyCipher
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog
    from onrecord.adapters.streams.stream import Appends

_FIRST: Final = 1


def append_encrypted(
    log: EncryptedLog, destination: Appends, appends: Sequence[Append]
) -> list[Verdict]:
    """Append to what writes into the log that is stored, encrypted; return what it says of the text."""
    verdicts = _append_anew(log, destination, appends)
    for place, verdict in enumerate(verdicts):
        if isinstance(verdict, BlobMissing) and log.rekey_documents(appends[place]):
            (verdicts[place],) = _append_anew(log, destination, [appends[place]])
    for place, verdict in enumerate(verdicts):
        if isinstance(verdict, Mismatch):
            verdicts[place] = compare_texts(log.stored, appends[place], verdict, log.readable)
    return verdicts


def _append_anew(
    log: EncryptedLog, destination: Appends, appends: Sequence[Append]
) -> list[Verdict]:
    """Encrypt and append, under new keys as long as the log says that one is destroyed.

    The log says so before the key store lets the key go. Whoever hears of it first does that: then the
    subject gets a new key. All that is not recorded of such a conversation is appended anew, in order:
    its later events are under the keys of its first one.
    """
    batch: dict[UUID, BodyCipher] = {}
    encrypted = [log.encrypted(append, batch) for append in appends]
    verdicts = list(destination.append(encrypted))
    # What is recorded with something else may still be rolled back.
    is_durable = destination is log.stored and log.keys is not None
    refused: set[UUID] = set()
    for append, verdict in zip(encrypted, verdicts, strict=True):
        if isinstance(verdict, Recorded):
            if is_durable and verdict.first == _FIRST:
                log.ciphers().note_begun(append.conversation_id, append.events[0].header)
        elif isinstance(verdict, KeyDestroyed) and _destroy_key(log, append, verdict):
            refused.add(append.conversation_id)
    if not refused:
        return verdicts
    again = [
        place
        for place, (append, verdict) in enumerate(zip(appends, verdicts, strict=True))
        if append.conversation_id in refused and not isinstance(verdict, Recorded | Duplicate)
    ]
    if again:
        anew = _append_anew(log, destination, [appends[place] for place in again])
        for place, verdict in zip(again, anew, strict=True):
            verdicts[place] = verdict
    return verdicts


def _destroy_key(log: EncryptedLog, append: Append, verdict: KeyDestroyed) -> bool:
    """Destroy the key that a log says is destroyed; return whether the append is under it at all."""
    keys = keys_looked_for(append.events[0].header)
    if log.keys is None or verdict.ordinal >= len(keys):
        return False
    log.keys.destroy([keys[verdict.ordinal]])
    return True
