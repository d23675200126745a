"""Archives of a sealed log: evidence bundles, which the auditor's verifier reads before anything is erased.

A bundle is written under the first checkpoint that covers its conversation. So it has the same bytes each
time, however far the log is sealed meanwhile.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.upkeep.archives import ArchivedConversation, archived_bytes
from onrecord.domain.errors import CorruptRecord, StorageReadOnly

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from onrecord.adapters.seals.places import Place
    from onrecord.adapters.seals.proofs import LogProofs
    from onrecord.adapters.seals.store_seals import StoreSeals
    from onrecord.domain.log import Backend


@dataclass(frozen=True, slots=True)
class ArchivedEvidence:
    """Writes the bundles of a tenant's conversations, and checks them where they are kept."""

    backend: Backend
    tenant: UUID
    proofs: LogProofs

    def lines(self, conversation_id: UUID, version: int) -> Iterator[bytes]:
        """Yield the bundle of a conversation up to a version; InvalidInput where that is not sealed."""
        from onrecord.adapters.transfer.evidence import Evidence, Scope

        (last,) = self.backend.read(conversation_id, after=version - 1, until=version)
        proofs = self.proofs.covering(last.shard, last.position)
        ends = {last.shard: last.position}
        return Evidence(self.backend, proofs, Scope(self.tenant, conversation_id), ends).lines()

    def must_hold(
        self, place: Place, archive: ArchivedConversation, conversation_id: UUID, version: int
    ) -> None:
        """Raise CorruptRecord unless an archive proves a conversation up to a version.

        A request that is not shown, since it was made of what was erased before, is no fault of it.
        """
        from onrecord_verify import NotProved, verified

        read = _Read(archived_bytes(place, archive.path))
        keys = tuple(str(key) for key in self.proofs.keys)
        try:
            bundle = verified(io.BufferedReader(read), keys)
        except NotProved as error:
            raise CorruptRecord(f"its archive at {place} proves nothing: {error}") from None
        shown = bundle.scope.get("conversation"), bundle.counts["events"], read.digest.hexdigest()
        if shown != (str(conversation_id), version, archive.sha256):
            raise CorruptRecord(f"its archive at {place} is not the evidence that was written")


def evidence_of(
    backend: Backend, tenant: UUID, seals: StoreSeals | None
) -> ArchivedEvidence | None:
    """Return what writes the archives of a sealed log, or None where the log is not sealed.

    What was recorded last is sealed first, where the private key is at hand and the role sees the
    whole log. Errors as `Store.seal`, and InvalidInput where no key is known.
    """
    if seals is None or not seals.settings.places:
        return None
    from onrecord.adapters.seals.store_seals import must_see_all, proofs_of

    if seals.settings.can_sign:
        try:
            must_see_all(backend)
        except StorageReadOnly:
            pass  # Whoever keeps the log sealed does so: a worker, most often.
        else:
            seals.seal()
    return ArchivedEvidence(backend, tenant, proofs_of(backend, seals.settings))


class _Read(io.RawIOBase):
    """Bytes that come in pieces, as a file to read; `digest` is that of what was read so far."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.digest = hashlib.sha256()
        self._pieces = iter(pieces)
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._piece:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self.digest.update(piece)
            self._piece = memoryview(piece)
        target = memoryview(buffer)
        size = min(len(target), len(self._piece))
        target[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size
