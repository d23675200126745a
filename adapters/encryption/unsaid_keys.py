"""Whether the log says of each key that is gone from the key store that somebody erased its subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.domain.encryption.wrapped import DestroyedKey
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.inventory import StoredHead
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import destroyed_key_id
from onrecord.projections.verification.verification import Fault


def unsaid_key_faults(
    backend: Backend, head: StoredHead, unread: Mapping[str, Sequence[int]]
) -> Iterator[Fault]:
    """Yield the events of a conversation whose key is gone, where the log does not say so.

    `unread` are the versions of the events that could not be read, by the name of the keys that they are
    under. Whoever erases a subject has the log say it first. So the key went past that, or the log was
    set back.
    """
    if not isinstance(backend, EncryptedLog) or backend.keys is None:
        return
    for name, versions in unread.items():
        try:
            key = backend.ciphers().of(name)
        except CorruptRecord:
            continue  # Told of as the events were read.
        if not isinstance(key, DestroyedKey):
            continue
        if not backend.head(destroyed_key_id(head.tenant, key.key_id)).version:
            why = (
                f"its key {key.key_id} is destroyed in the key store, and no erasure in the log tells of "
                "it: restore the key store from a backup, or forget the conversation"
            )
            yield from (Fault(head.conversation_id, version, why) for version in versions)
