"""Events whose text is gone in one of two logs: whether an erasure that the log tells of took it."""

from __future__ import annotations

import itertools
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.domain.encryption.bodies import key_name_in
from onrecord.domain.encryption.wrapped import DestroyedKey
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.marks.marked_ids import destroyed_key_id, erasure_id, operators_of
from onrecord.projections.history.erasure_records import (
    erasure_entry,
    must_be_a_destroyed_key,
)


class ToldErasures:
    """What the operators' streams of a log tell of erasures; each is read once."""

    def __init__(self, log: Backend) -> None:
        """Ask a log, an encrypted one by its keys."""
        self._log = log
        self._forgotten = dict[tuple[UUID, UUID], bool]()
        self._destroyed = dict[tuple[UUID, str], bool]()

    def explain(self, tenant: UUID, event: RecordedEvent) -> bool:
        """Whether an erasure explains that an event of a tenant, as it is stored, cannot be read any more.

        Its conversation was forgotten, or a key that it is under was destroyed. CorruptRecord where what tells
        of that cannot be read.
        """
        if self.is_forgotten(tenant, event.conversation_id):
            return True
        name = key_name_in(event.header)
        if event.body is None or name is None or not isinstance(self._log, EncryptedLog):
            return False
        key = self._log.ciphers().of(name)
        return isinstance(key, DestroyedKey) and self._is_destroyed(tenant, key.key_id)

    def is_forgotten(self, tenant: UUID, conversation_id: UUID) -> bool:
        """Whether the log tells that a conversation was erased, and that no hold refused it."""
        of = tenant, conversation_id
        if of not in self._forgotten:
            self._forgotten[of] = self._tells_of_erasure(tenant, conversation_id)
        return self._forgotten[of]

    def _tells_of_erasure(self, tenant: UUID, conversation_id: UUID) -> bool:
        operators = operators_of(tenant)
        for number in itertools.count():
            stream = erasure_id(tenant, conversation_id, number)
            entry = erasure_entry(self._log.read(stream), operators)
            if entry is None or entry.refusal is None:
                return entry is not None
        return False

    def _is_destroyed(self, tenant: UUID, key_id: str) -> bool:
        of = tenant, key_id
        if of not in self._destroyed:
            events = list(self._log.read(destroyed_key_id(tenant, key_id)))
            must_be_a_destroyed_key(events, operators_of(tenant))
            self._destroyed[of] = bool(events)
        return self._destroyed[of]
