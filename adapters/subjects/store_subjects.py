"""The subjects of an encrypted store: what `store.subjects` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from onrecord.adapters.inputs.arguments import reason_given, text_given, text_if_given
from onrecord.adapters.seals.store_seals import StoreSeals
from onrecord.adapters.streams.lineage import is_forgotten
from onrecord.adapters.subjects.certificate import ErasureCertificate, certificate
from onrecord.adapters.subjects.erasing import SubjectErasing, subject_erasing
from onrecord.adapters.subjects.exporting import subject_lines
from onrecord.adapters.upkeep.erasing import Erasing, erasures_of, operator_name
from onrecord.adapters.upkeep.holds import hold_on
from onrecord.domain.encryption.subjects import Subject, named_subject, subject_id
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.log import Backend
from onrecord.domain.seals.checkpoint import Checkpoint
from onrecord.projections.history.erasure_records import ErasureEntry
from onrecord.projections.retention.hold_records import HoldEntry


@dataclass(frozen=True, slots=True)
class SubjectConversation:
    """A conversation of a subject: how many events it has, and the legal hold that keeps it, if one does.

    `others` are how many other subjects it is about: an erasure takes it from them too.
    """

    conversation_id: UUID
    events: int
    hold: HoldEntry | None
    others: int = 0


class StoreSubjects:
    """Finds what is kept of a subject, hands it out, and erases it by its key. Get it as `store.subjects`.

    Each verb that says nothing else is InvalidInput where the store is not encrypted, and
    StorageUnavailable without its keys.
    """

    def __init__(
        self,
        backend: Backend,
        tenant: UUID,
        erasing: Erasing,
        seals: StoreSeals | None,
        residue: Callable[[], tuple[str, ...]],
        actor: str | None,
    ) -> None:
        """Work on what a tenant has in a log; `erasing` erases its conversations, `actor` is who acts, if none is given."""
        self._backend = backend
        self._tenant = tenant
        self._erasing = erasing
        self._seals = seals
        self._actor = actor
        self._residue = residue

    def digest(self, name: str) -> str:
        """Return the keyed digest, in hex, that the record has in place of a subject's name.

        It is the same whether or not anything is, or was, recorded of the subject, and needs no keys.
        """
        return self._subject(name).digest(self._backend.digest).hex()

    def erasures(self, name: str) -> list[ErasureEntry]:
        """Return the erasures of a subject, the last one first: who, why and when; it needs no keys.

        One that is unfinished, or that a legal hold refused, has no outcome.
        """
        of = subject_id(self._tenant, bytes.fromhex(self.digest(name)))
        return list(erasures_of(self._backend.read, self._tenant, of))[::-1]

    def conversations(self, name: str) -> list[SubjectConversation]:
        """Return the conversations of a subject; none where it has no key, or none any more."""
        erasing, backend = self._of_subjects(), self._backend
        key = erasing.keys.key_id_of(self._subject(name))
        found: Mapping[UUID, int] = {} if key is None else erasing.conversations(key)
        return [
            SubjectConversation(
                each, backend.head(each).version, hold_on(backend, self._tenant, each), others
            )
            for each, others in found.items()
            if not is_forgotten(backend, each)
        ]

    def erase(
        self,
        name: str,
        *,
        reason: str,
        rule: str,
        actor: str | None = None,
        destroyed_key: str | None = None,
    ) -> ErasureCertificate:
        """Erase a subject by its key, for good, and return the certificate.

        `rule` is the one that is followed, in words, such as "GDPR 17(1)(a)". What is said under its key
        goes: the key, then each conversation as `Store.forget` has it. That is a fact in the operators'
        stream: who (`actor`, else `$ONRECORD_ACTOR`), when, why, and the keyed digest of the subject, never
        its name. It may be ended at any moment and run again: then what is under way is finished, and what was
        said since is erased. Where nothing was, the certificate of the last erasure is returned, with the
        checkpoints and the residue of now.

        A log that was restored from a backup of before an erasure does not tell of it, and its key is gone from the
        key store, so that nothing leads from the name to it. Then give the id of the key as `destroyed_key`: the
        certificate of then and `verify` name it. The erasure is recorded anew, and what is under that key goes.

        ConversationOnHold where a legal hold keeps one of its conversations: nothing more is erased then.
        InvalidInput where nothing is of that name, and where only its owner retires the key-encryption
        key: then all is erased but that, and to run it again finishes it.
        """
        who, why = operator_name(actor, self._actor), reason_given(reason)
        because, lost = text_given("a rule", rule), text_if_given("a key", destroyed_key)
        entry = self._of_subjects().erase(self._subject(name), who, why, because, lost)
        made = certificate(entry, self._residue(), self._sealed())
        if made is None:
            raise CorruptRecord("an erasure has no outcome: run `onrecord verify`")
        return made

    def export(self, name: str) -> Iterator[bytes]:
        """Yield all that is recorded under the key of a subject in clear, as JSON lines.

        A line tells how many conversations there are, one begins each of them, then come its events and the
        documents that they refer to. The last line digests all before it. InvalidInput where nothing is.
        """
        conversations = [each.conversation_id for each in self.conversations(name)]
        if not conversations:
            raise InvalidInput("nothing is under a key of that subject: check the name")
        return subject_lines(self._backend, self.digest(name), conversations)

    def _sealed(self) -> list[Checkpoint]:
        """Seal the log, and return the checkpoints; none where it is not sealed from here."""
        seals = self._seals
        if seals is None or not seals.settings.can_sign:
            return []
        return [each.checkpoint for each in seals.seal()]

    def _of_subjects(self) -> SubjectErasing:
        return subject_erasing(self._erasing)

    def _subject(self, name: str) -> Subject:
        return named_subject(self._tenant, text_given("a subject", name))
