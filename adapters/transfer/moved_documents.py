"""The documents of a log that was moved: whether the new log still has each, as events refer to it."""

from __future__ import annotations

import hashlib
from uuid import UUID

from onrecord.adapters.transfer.export import blobs_in
from onrecord.domain.content import Blob
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import Backend, RecordedEvent


class MovedDocuments:
    """Reads each document of the conversations of a log once."""

    def __init__(self, log: Backend) -> None:
        """Read those of a log, an encrypted one by its keys."""
        self._log = log
        self._read = set[tuple[UUID, Blob]]()

    def fault(self, readable: RecordedEvent) -> str | None:
        """Return what is wrong with a document that an event refers to, as its text has it; None if nothing is."""
        for blob in blobs_in(readable):
            of = readable.conversation_id, blob
            if of in self._read:
                continue
            digest, size = hashlib.sha256(), 0
            try:
                for piece in self._log.get_blob(*of):
                    digest.update(piece)
                    size += len(piece)
            except CorruptRecord as error:
                return str(error)
            if (digest.hexdigest(), size) != (blob.sha256, blob.size):
                return "it has other bytes"
            self._read.add(of)
        return None
