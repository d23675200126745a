"""The documents of a store, checked: their bytes, and that what an event refers to is there.

They may be large. So they are read part by part, outside any moment: an erasure waits for none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.storage.append import ContentDigest
from onrecord.adapters.streams.lineage import Lineages
from onrecord.domain.blobs import digest_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import StoredDigest
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.inventory import Inventory, StoredBlob, StoredHead
from onrecord.domain.log import Backend
from onrecord.projections.verification.belongings import Reference, References, blob_faults
from onrecord.projections.verification.verification import Fault, Fold


class StoredDocuments:
    """The documents of all conversations of a log."""

    def __init__(self, backend: Backend, inventory: Inventory) -> None:
        """Read them from a backend."""
        self._backend = backend
        self._inventory = inventory
        self._is_encrypted = stored_of(backend) is not backend
        self._readable: dict[tuple[UUID, str, int], bool] = {}

    def faults(
        self,
        head: StoredHead,
        fold: Fold,
        references: References,
        stored: Sequence[StoredBlob],
    ) -> Iterator[Fault]:
        """Yield what does not hold of the documents of a conversation."""
        for blob in stored:
            reference = None if blob.digest is None else references.of(blob.digest)
            yield from blob_faults(fold, head, blob, reference)
            faults = list(self._bytes_faults(head, blob, reference))
            if faults and self._is_there(head, blob):
                yield from faults
        for reference in references.missing(stored):
            if not (reference.by_requests_alone and self._is_of_origin(head, reference)):
                why = f"the blob {digest_of(reference.stored).hex()} is missing or damaged"
                yield Fault(head.conversation_id, reference.version, why)

    def _is_there(self, head: StoredHead, blob: StoredBlob) -> bool:
        """Return whether a document is still there: it may go while its bytes are read."""
        with self._inventory.moment() as moment:
            return any(one.row == blob.row for one in moment.blobs(head))

    def _is_of_origin(self, head: StoredHead, reference: Reference) -> bool:
        """Return whether what it was forked from owns a blob, or was erased, maybe with it.

        Only requests repeat what an origin owns; all else that an event names is its own.
        """
        try:
            lineage = Lineages(self._backend, head.conversation_id).whole(reference.version)
        except CorruptRecord:
            return False
        return any(
            self._is_readable(origin.conversation_id, reference.blob)
            or self._is_erased(origin.conversation_id, origin.until)
            for origin in lineage[:-1]
        )

    def _is_readable(self, conversation_id: UUID, blob: Blob) -> bool:
        """Return whether an origin's document can be read; many forks may repeat the same one."""
        place = (conversation_id, blob.sha256, blob.size)
        if place not in self._readable:
            self._readable[place] = False
            with suppress(CorruptRecord):
                for _ in self._backend.get_blob(conversation_id, blob):
                    pass
                self._readable[place] = True
        return self._readable[place]

    def _is_erased(self, conversation_id: UUID, version: int) -> bool:
        events = self._backend.read(conversation_id, after=version - 1, until=version)
        return any(event.body is None for event in events)

    def _bytes_faults(
        self, head: StoredHead, blob: StoredBlob, reference: Reference | None
    ) -> Iterator[Fault]:
        """Yield what does not hold of the bytes of a blob; of one that is arriving, nothing is known."""
        if blob.digest is None:
            return
        digest = StoredDigest() if self._is_encrypted else ContentDigest(blob.digest)
        size, dense = 0, True
        for number, chunk in enumerate(self._inventory.chunks(head, blob)):
            digest.update(chunk.data)
            size += len(chunk.data)
            dense = dense and chunk.number == number and chunk.tenant in (None, head.tenant)
        if not dense:
            why = f"the parts of the blob {blob.digest.hex()} are not those that were stored"
            yield Fault(head.conversation_id, 0, why)
        sizes = {size, *(() if blob.size is None else (blob.size,))}
        sizes |= set() if reference is None else {reference.stored.size}
        is_right = digest.is_right() and len(sizes) == 1
        if not (is_right and self._is_the_one(head, reference)):
            version = 0 if reference is None else reference.version
            why = f"the blob {blob.digest.hex()} is missing or damaged"
            yield Fault(head.conversation_id, version, why)

    def _is_the_one(self, head: StoredHead, reference: Reference | None) -> bool:
        """Whether an encrypted document is the one that is referred to, which takes its key to say."""
        if reference is None or not isinstance(reference.stored, KeyedBlob):
            return True
        return self._is_readable(head.conversation_id, reference.blob)
