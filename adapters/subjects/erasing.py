"""How a subject is erased: the intent, then its key, then all that says something, then the outcome.

Each step is durable before the next one begins, and may be done twice. From the moment at which the log
says that the key is destroyed, no conversation begins under it. So the conversations that are looked for
behind that are all that there will ever be.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import LOCKED, EncryptedLog
from onrecord.adapters.encryption.subject_keys import KeyErasure, SubjectKeys
from onrecord.adapters.subjects.conversations import ConversationsUnder
from onrecord.adapters.upkeep.erasing import Erasing
from onrecord.adapters.upkeep.holds import hold_on, must_not_be_on_hold, refusal_of
from onrecord.adapters.upkeep.known_forks import KnownForks
from onrecord.domain.encryption.keys import key_ids_of
from onrecord.domain.encryption.subjects import Subject, conversation_subject, subject_id
from onrecord.domain.encryption.wrapped import DestroyedKey
from onrecord.domain.erasure.targets import ErasureTarget, SubjectOutcome
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageUnavailable
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import destroyed_key_id, operators_of
from onrecord.projections.history.erasure_records import ErasureEntry, erasure_entry

if TYPE_CHECKING:
    from onrecord.adapters.storage.eventsourcing.erasures import Erasure

logger = logging.getLogger("onrecord")


@dataclass(frozen=True, slots=True)
class SubjectErasing:
    """The erasures of a tenant's subjects, recorded in its operators' stream.

    `stored` is the log as it is stored, `erasing` erases conversations, `keys` are those of subjects.
    """

    stored: Backend
    tenant: UUID
    erasing: Erasing
    keys: SubjectKeys

    def erase(
        self, subject: Subject, actor: str, reason: str, rule: str, lost: str | None = None
    ) -> ErasureEntry:
        """Erase a subject, and return what the operators' stream tells of it.

        An erasure that is under way is finished first. What was said of the subject since has another key,
        and is erased then; where nothing was, the last erasure is returned. `lost` is the id of a key of the
        subject that is destroyed while the log, set back, does not say so: that is erased in place of what the
        subject has now. ConversationOnHold where a legal hold keeps one of its conversations, InvalidInput
        where it has none and never had.
        """
        operators = self.erasing.operators()
        digest = subject.digest(self.stored.digest)
        id_ = subject_id(self.tenant, digest)
        found = operators.last_and_next(id_)
        if found.last is not None and not found.last.is_over:
            self.finish(self._entry(found.last.id), actor)
            found = operators.last_and_next(id_)
        key = self.keys.key_id_of(subject) if lost is None else self._destroyed(lost)
        if key is None:
            return self._ended(found.last)
        under = ConversationsUnder(self.stored, self.tenant, key)
        for conversation_id in under.all():
            must_not_be_on_hold(self.erasing.backend, self.tenant, conversation_id)
        target = ErasureTarget(subject=digest.hex(), key=key, rule=rule)
        erasure = operators.intend(id_, actor, reason, found, target)
        return self.finish(self._entry(erasure.id), actor, under)

    def finish(
        self, entry: ErasureEntry, actor: str | None, known: ConversationsUnder | None = None
    ) -> ErasureEntry:
        """Do what is left of an erasure of a subject, and return what is told of it now.

        `known` are conversations that were looked up, so that they are not looked up again.
        """
        intention, operators = entry.intention, self.erasing.operators()
        if intention.key is None or intention.subject is None or entry.is_over:
            return entry
        under = known
        if under is None or under.key != intention.key:
            under = ConversationsUnder(self.stored, self.tenant, intention.key)
        self._must_not_be_refused(entry, under.all(), actor)
        operators.destroy_key(intention.key, entry.erasure_id, actor)
        self.keys.destroy([intention.key])
        conversations = under.all()
        self._forget(entry, conversations, actor)
        key_erasure = self._key_erasure()
        outcome = SubjectOutcome(
            len(conversations), key_erasure.retired, key_erasure.undoable_until
        )
        events = sum(self.stored.head(each).version for each in conversations)
        operators.complete(entry.erasure_id, events, (), actor, outcome)
        return self._entry(entry.erasure_id)

    def _key_erasure(self) -> KeyErasure:
        """Retire the key-encryption keys of before; InvalidInput where only their owner can do that."""
        try:
            done = self.keys.finish()
        except InvalidInput as error:
            raise InvalidInput(
                "the key of the subject is destroyed, and what was said under it is erased. The certificate "
                f"waits for the key-encryption key: {error}"
            ) from error
        # Where none is retired, another erasure did that, or this one before it was cut short.
        return done if done.retired else self.keys.retired_before()

    def _must_not_be_refused(
        self, entry: ErasureEntry, conversations: Sequence[UUID], actor: str | None
    ) -> None:
        """Record that a hold refuses an erasure, and raise ConversationOnHold, where one does."""
        for conversation_id in conversations:
            hold = hold_on(self.erasing.backend, self.tenant, conversation_id, entry.position)
            if hold is not None:
                self.erasing.operators().refuse(entry.erasure_id, hold.hold_id, actor)
                raise refusal_of(hold)

    def _forget(
        self, entry: ErasureEntry, conversations: Sequence[UUID], actor: str | None
    ) -> None:
        """Forget conversations, and destroy their own keys: documents were under those before they began."""
        intention, target = entry.intention, ErasureTarget(part_of=entry.erasure_id)
        forks = KnownForks(self.erasing.backend, self.tenant)
        erasing = replace(self.erasing, forks=forks.staying)
        for conversation_id in conversations:
            erasing.forget(conversation_id, actor or intention.actor, intention.reason, target)
        own = (conversation_subject(self.tenant, each) for each in conversations)
        keys = [key for subject in own if (key := self.keys.key_id_of(subject)) is not None]
        self.keys.destroy(keys)

    def conversations(self, key: str) -> Mapping[UUID, int]:
        """Return the conversations that are under a key, and how many other subjects each is about."""
        return ConversationsUnder(self.stored, self.tenant, key).others()

    def _destroyed(self, key: str) -> str | None:
        """Return a key that the key store destroyed, or None where the log says so as well."""
        of_tenant = _is_one_key(key) and self.conversations(key)
        if not of_tenant or not isinstance(self.keys.cipher_of(key), DestroyedKey):
            raise InvalidInput(
                "that is no destroyed key of conversations here: `onrecord verify` and the certificate name "
                "it. Without it, what is under the subject's key is erased"
            )
        is_told = self.stored.head(destroyed_key_id(self.tenant, key)).version
        return None if is_told else key

    def _ended(self, last: Erasure | None) -> ErasureEntry:
        if last is None or not last.is_completed:
            raise InvalidInput(
                "nothing is under a key of that subject: check the name. Where the log was set back to before "
                "an erasure, name the key that `onrecord verify` and the certificate tell"
            )
        return self._entry(last.id)

    def _entry(self, erasure: UUID) -> ErasureEntry:
        entry = erasure_entry(self.stored.read(erasure), operators_of(self.tenant))
        if entry is None:
            raise CorruptRecord("no erasure has that id: run `onrecord verify`")
        return entry


def subject_erasing(erasing: Erasing) -> SubjectErasing:
    """Return what erases subjects where something erases conversations.

    InvalidInput where the log is not encrypted here, StorageUnavailable where its keys are not named.
    """
    log = erasing.backend
    if not isinstance(log, EncryptedLog):
        raise InvalidInput(
            "no subjects are known here: the store is not encrypted, or its log is behind a service. "
            "Connect to an encrypted log by its own URL, with its keys"
        )
    if log.keys is None:
        raise StorageUnavailable(LOCKED)
    return SubjectErasing(log.stored, erasing.tenant, erasing, log.keys)


def _is_one_key(name: str) -> bool:
    with suppress(CorruptRecord):
        return len(key_ids_of(name)) == 1
    return False


def resumed(erasing: Erasing, entry: ErasureEntry, actor: str | None) -> bool:
    """Finish the erasure of a subject that another program began; return whether it is finished."""
    try:
        return subject_erasing(erasing).finish(entry, actor).is_over
    except InvalidInput as error:  # Only its owner retires the key-encryption key.
        logger.warning("an erasure that was begun could not be finished: %s", error)
        return False
