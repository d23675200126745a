"""The blobs of an encrypted log: encrypted as they are stored, decrypted as they are read.

A blob is under the keys of its conversation. Those are known once the conversation has begun. What comes
before that is under the conversation's own key, and is encrypted anew where the first event names subjects.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.encryption.aes import BodyCipher
from onrecord.adapters.encryption.conversation_ciphers import ConversationCiphers
from onrecord.adapters.encryption.encrypted_blobs import EncryptedBlob, StoredBlob
from onrecord.domain.content import Blob
from onrecord.domain.encryption.blobs import KeyedBlobs, address_of
from onrecord.domain.encryption.wrapped import DestroyedKey
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import Append

_MOST_KEPT: Final = 10_000


class EncryptedDocuments:
    """Stores documents under the keys of their conversations. Threads may share it."""

    def __init__(self, stored: KeyedBlobs, ciphers: ConversationCiphers) -> None:
        """Ask for nothing yet. `stored` is as it is stored."""
        self._stored = stored
        self._ciphers = ciphers
        # Of conversations that may not have begun: the keys that a document of theirs was put under.
        self._put_under: Newest[UUID, str] = Newest(_MOST_KEPT)
        self._lock = threading.Lock()

    def put(self, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes]) -> Blob:
        """Store bytes, encrypted, and return the reference for a body."""
        cipher = self._ciphers.to_append(Append(tenant, conversation_id, ()), {})
        return self._put(tenant, conversation_id, chunks, cipher)

    def get(self, conversation_id: UUID, blob: Blob) -> Iterator[bytes]:
        """Yield the bytes of a document.

        CorruptRecord where it is missing, was changed, or is under a key that was destroyed.
        """
        begun = self._ciphers.of_begun(conversation_id)
        if isinstance(begun, BodyCipher):
            yield from self._decrypted(conversation_id, blob, begun)
            return
        for cipher in self._others(conversation_id):
            if self._has(conversation_id, blob, cipher):
                yield from self._decrypted(conversation_id, blob, cipher)
                return
        if begun is not None:
            raise CorruptRecord("the document was erased: its key was destroyed")
        raise CorruptRecord("the bytes of a document are missing: restore them from a backup")

    def rekey(self, append: Append, cipher: BodyCipher) -> bool:
        """Put what was stored before a conversation began under the keys that it begins with.

        Return whether anything was: then the append may find what it missed.
        """
        before = self._before(append.conversation_id) or self._ciphers.own(append)
        if not isinstance(before, BodyCipher) or before.name == cipher.name:
            return False
        blobs = dict.fromkeys(blob for event in append.events for blob in event.blobs)
        named = (blob for blob in blobs if isinstance(blob, Blob))
        rekeyed = [self._rekey(append, blob, before, cipher) for blob in named]
        return any(rekeyed)

    def _before(self, conversation_id: UUID) -> BodyCipher | DestroyedKey | None:
        """Return what the last document was put under that this process stored in a conversation."""
        name = self._put_under.get(conversation_id)
        return None if name is None else self._ciphers.of(name)

    def _rekey(self, append: Append, blob: Blob, before: BodyCipher, cipher: BodyCipher) -> bool:
        owner = append.conversation_id
        with suppress(CorruptRecord):
            chunks = self._decrypted(owner, blob, before)
            self._put(append.tenant, owner, chunks, cipher)
            return True
        return False

    def _put(
        self, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes], cipher: BodyCipher
    ) -> Blob:
        encrypted = EncryptedBlob(cipher.data_key, chunks)
        self._stored.put_keyed_blob(tenant, conversation_id, encrypted)
        with self._lock:
            self._put_under[conversation_id] = cipher.name
        return encrypted.blob

    def _decrypted(self, conversation_id: UUID, blob: Blob, cipher: BodyCipher) -> Iterator[bytes]:
        address = address_of(cipher.data_key, blob)
        stored = StoredBlob(self._stored.get_blob(conversation_id, address))
        yield from stored.decrypted(cipher.data_key, address)

    def _has(self, conversation_id: UUID, blob: Blob, cipher: BodyCipher) -> bool:
        address = address_of(cipher.data_key, blob)
        with suppress(CorruptRecord):
            next(self._stored.get_blob(conversation_id, address), b"")
            return True
        return False

    def _others(self, conversation_id: UUID) -> Iterator[BodyCipher]:
        """Yield what documents of a conversation are under that has not begun, or whose first key is gone."""
        before = self._before(conversation_id)
        if isinstance(before, BodyCipher):
            yield before
        yield from self._ciphers.of_later_events(conversation_id)
