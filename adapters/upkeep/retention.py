"""Legal holds, retention classes, and what is erased by them: what `store.retention` gives."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

from onrecord.adapters.inputs.arguments import id_given, reason_given, text_given, text_if_given
from onrecord.adapters.upkeep.archives import ArchiveSubject, ArchiveWriter, archive
from onrecord.adapters.upkeep.dispositions import (
    Disposition,
    DispositionResult,
    RetentionClasses,
    choice,
    chosen,
    unseen,
)
from onrecord.adapters.upkeep.erasing import Erasing
from onrecord.adapters.upkeep.holds import hold_on, holds, holds_of
from onrecord.adapters.upkeep.known_forks import KnownForks
from onrecord.domain.errors import ConversationOnHold, CorruptRecord, InvalidInput
from onrecord.domain.header import timestamp
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import operators_of
from onrecord.domain.operators import RetentionClass
from onrecord.projections.retention.hold_records import HoldEntry, hold_entry
from onrecord.projections.retention.retention_records import RetentionEntry

if TYPE_CHECKING:
    from onrecord.adapters.seals.places import Place
    from onrecord.adapters.seals.store_seals import StoreSeals
    from onrecord.adapters.storage.eventsourcing.operators import Operators
    from onrecord.adapters.upkeep.archived_evidence import ArchivedEvidence

logger = logging.getLogger("onrecord")

_CLASSES: Final = ("six-months", "six-years", "unlimited")


class StoreRetention:
    """What is to be kept of a tenant's conversations, and until when. Get it as `store.retention`.

    A legal hold keeps a conversation, or all of them, whatever else is asked for. A retention class says
    when what is not kept is to go. Both are recorded in the operators' stream: who, when and why.
    """

    def __init__(
        self,
        backend: Backend,
        tenant: UUID,
        erasing: Erasing,
        *,
        who: Callable[[str | None], str],
        id_of: Callable[[str | UUID], UUID],
        residue: Callable[[], tuple[str, ...]],
        seals: StoreSeals | None = None,
    ) -> None:
        """Keep the conversations of a tenant; `id_of` finds one, `who` says who acts, `seals` seal the log."""
        self._backend = backend
        self._tenant = tenant
        self._erasing = erasing
        self._who = who
        self._id_of = id_of
        self._residue = residue
        self._seals = seals
        self._classes = RetentionClasses(backend, tenant)

    def place_hold(
        self, which: str | UUID | None = None, *, matter: str, reason: str, actor: str | None = None
    ) -> HoldEntry:
        """Place a legal hold on a conversation, or on all that this tenant has; return it.

        `which` is the conversation's key or id, `matter` the name of the case. An erasure that was
        intended before, by its place in the log, takes place all the same: `store.erasures` shows it.
        """
        conversation_id = None if which is None else self._id_of(which)
        name, why, actor = text_given("a matter", matter), reason_given(reason), self._who(actor)
        hold = self._operators().place_hold(conversation_id, name, actor, why)
        return self._hold(hold.id)

    def lift_hold(self, hold_id: UUID, *, reason: str, actor: str | None = None) -> bool:
        """Lift a legal hold, for good; return False where it was lifted before.

        InvalidInput where this tenant has none of that id.
        """
        id_, why, who = id_given("a hold", hold_id), reason_given(reason), self._who(actor)
        return self._operators().lift_hold(id_, who, why)

    def holds(self, which: str | UUID | None = None, *, lifted: bool = False) -> list[HoldEntry]:
        """Return the holds in force: all, or those that keep one conversation, the tenant's among them.

        With `lifted` those too that were lifted.
        """
        if which is None:
            return list(holds(self._backend, self._tenant, lifted=lifted))
        read = self._backend.read
        own = list(holds_of(read, self._tenant, self._id_of(which)))
        both = own + list(holds_of(read, self._tenant, None))
        return [hold for hold in both if lifted or hold.was_in_force()]

    def set_class(
        self,
        keep: RetentionClass | timedelta,
        *,
        rule: str,
        which: str | UUID | None = None,
        label: str | None = None,
        value: str | None = None,
        actor: str | None = None,
    ) -> RetentionEntry:
        """Set a retention class: of a conversation, of those with a label, or of this tenant.

        `keep` is "six-months", "six-years", "unlimited", or a number of days; it counts from the last
        event. `rule` says which rule it follows, in words, such as "EU AI Act 19(1)". The class of the
        conversation counts before that of a label, and that before the tenant's.
        """
        of = self._target(which, label, value)
        because, who = text_given("a rule", rule), self._who(actor)
        id_ = self._operators().set_retention(*of, _class_given(keep), who, because)
        entry = self._classes.set_in(id_)
        if entry is None:
            raise CorruptRecord(
                "a retention class was set, and is not there: run `onrecord verify`"
            )
        return entry

    def clear_class(
        self,
        *,
        reason: str,
        which: str | UUID | None = None,
        label: str | None = None,
        value: str | None = None,
        actor: str | None = None,
    ) -> bool:
        """Take a retention class back, that of what `set_class` names so; return False where it has none.

        What it was of goes by the class of a label or the tenant from then on, or by none.
        """
        of = self._target(which, label, value)
        because, who = reason_given(reason), self._who(actor)
        return self._operators().clear_retention(*of, who, because)

    def _target(
        self, which: str | UUID | None, label: str | None, value: str | None
    ) -> tuple[UUID | None, str | None, str | None]:
        if which is not None and label is not None:
            raise InvalidInput("a retention class is of a conversation or of a label: give one")
        if value is not None and label is None:
            raise InvalidInput("a value is one of a label: give label= too")
        conversation_id = None if which is None else self._id_of(which)
        return conversation_id, text_if_given("a label", label), text_if_given("a value", value)

    def classes(self) -> list[RetentionEntry]:
        """Return the retention classes of this tenant, of its labels and of its conversations."""
        return list(self._classes.all())

    def class_of(self, which: str | UUID) -> RetentionEntry | None:
        """Return the retention class that a conversation goes by; None where it has none."""
        conversation_id = self._id_of(which)
        version = self._backend.head(conversation_id).version
        last = self._backend.read(conversation_id, after=version - 1)
        moved_at = max((event.recorded_at for event in last), default=0)
        classes = self._classes
        return classes.of_conversation(conversation_id, moved_at, classes.of_labels())

    def due(
        self,
        *,
        before: datetime | None = None,
        older_than: timedelta | None = None,
        prefix: str | None = None,
        expired: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[Disposition]:
        """Yield the conversations that all of these choose, with what keeps them; change nothing.

        `before` and `older_than` are of their last event, `prefix` of their key. `expired` are those
        whose retention class has run out. InvalidInput where nothing chooses, and over HTTP: what is
        stored is walked where it is.
        """
        wanted = choice(self._backend, before, older_than, prefix, expired=expired)
        return chosen(self._backend, self._tenant, wanted, progress)

    def forget(
        self,
        *,
        reason: str,
        actor: str | None = None,
        before: datetime | None = None,
        older_than: timedelta | None = None,
        prefix: str | None = None,
        expired: bool = False,
        each: Callable[[Disposition], None] = unseen,
        progress: Callable[[int, int], None] | None = None,
    ) -> DispositionResult:
        """Erase the conversations that all of these choose, as `due` has it; return how many went.

        Each is an erasure of its own, with who and why. What a hold keeps stays. `each` is told of each.
        It may be stopped at any moment, and run again.
        """
        who, why = self._who(actor), reason_given(reason)
        self._erasing.must_be_allowed()
        found = self.due(
            before=before,
            older_than=older_than,
            prefix=prefix,
            expired=expired,
            progress=progress,
        )
        return self._disposed(found, who, lambda _: why, None, each)

    def expire(
        self,
        archive: str | None,
        *,
        actor: str | None = None,
        writer: ArchiveWriter | None = None,
        each: Callable[[Disposition], None] = unseen,
        progress: Callable[[int, int], None] | None = None,
    ) -> DispositionResult:
        """Archive and erase the conversations whose retention class has run out; return how many.

        `archive` is the URL of the place that keeps the archives, a folder or what fsspec reaches; None
        writes none. `writer` gives the bytes of an archive. Without one they are an evidence bundle where
        the log is sealed, and else an export. An archive is read back before anything is erased, and each
        event is checked while it is archived: a conversation that is damaged is left alone, and so is one
        whose bundle does not prove it, or whose last event is not sealed. The reason of an erasure is its
        class and rule, and where its archive is. It is for a schedule: it may be stopped at any moment, and
        run again. Errors as `Store.seal` too, where the log is sealed.
        """
        from onrecord.adapters.seals.places import place_at

        who = self._who(actor)
        place = None if archive is None else place_at(text_given("an archive", archive))
        self._erasing.must_be_allowed()
        kept = None if place is None else self._archiving(place, writer, who)
        reason = partial(_class_reason, place)
        return self._disposed(self.due(expired=True, progress=progress), who, reason, kept, each)

    def _disposed(
        self,
        found: Iterator[Disposition],
        who: str,
        why: Callable[[Disposition], str],
        archived: Callable[[Disposition], Disposition] | None,
        each: Callable[[Disposition], None],
    ) -> DispositionResult:
        self._erasing.resume(who)
        # Every erasure names the forks that stay: they are looked up once for all.
        erasing = replace(self._erasing, forks=KnownForks(self._backend, self._tenant).staying)
        done = DispositionResult(0, 0, 0, 0, 0, ())
        for one in found:
            outcome = one
            if one.hold is None and one.fault is None:
                outcome = one if archived is None else archived(one)
                if outcome.fault is None:
                    outcome = self._erased(erasing, outcome, who, why(outcome))
            each(outcome)
            done = replace(
                done,
                erased=done.erased + outcome.is_erased,
                events=done.events + (outcome.events if outcome.is_erased else 0),
                archived=done.archived + (outcome.archive is not None),
                kept=done.kept + (outcome.hold is not None),
                left=done.left + (outcome.hold is None and not outcome.is_erased),
            )
        return replace(done, residue=self._residue())

    def _erased(self, erasing: Erasing, one: Disposition, who: str, why: str) -> Disposition:
        """Erase what was not moved on since it was chosen, unless a hold came meanwhile."""
        if self._backend.head(one.conversation_id).version != one.events:
            return replace(one, fault="something was recorded in it meanwhile")
        try:
            events = erasing.forget(one.conversation_id, who, why)
        except ConversationOnHold:
            return replace(one, hold=hold_on(self._backend, self._tenant, one.conversation_id))
        return replace(one, events=events, is_erased=True)

    def _archiving(
        self, place: Place, writer: ArchiveWriter | None, who: str
    ) -> Callable[[Disposition], Disposition]:
        from onrecord.adapters.upkeep.archived_evidence import evidence_of

        sealed = None if writer else evidence_of(self._backend, self._tenant, self._seals)
        return partial(self._archived, place, writer, sealed, who)

    def _archived(
        self,
        place: Place,
        writer: ArchiveWriter | None,
        evidence: ArchivedEvidence | None,
        who: str,
        one: Disposition,
    ) -> Disposition:
        subject = self._subject(one, who)
        try:
            kept = archive(place, subject, partial(self._pieces, writer, evidence, one))
            if evidence is not None:
                evidence.must_hold(place, kept, one.conversation_id, one.events)
        except (CorruptRecord, InvalidInput) as error:
            logger.warning(
                "%s is not erased, for it is not archived: %s", one.conversation_id, error
            )
            return replace(one, fault=f"it is not archived: {error}")
        return replace(one, archive=kept)

    def _subject(self, one: Disposition, who: str) -> ArchiveSubject:
        from onrecord.domain.seals.checkpoint import log_id_of

        of = one.retention
        return ArchiveSubject(
            log=log_id_of(self._backend.digest),
            tenant=self._tenant,
            conversation_id=one.conversation_id,
            version=one.events,
            keep=None if of is None else of.keep,
            rule=None if of is None else of.fact.rule,
            archived_by=who,
            archived_at=timestamp(self._backend.clock()),
        )

    def _pieces(
        self, writer: ArchiveWriter | None, evidence: ArchivedEvidence | None, one: Disposition
    ) -> Iterable[bytes]:
        """Return the bytes of an archive; CorruptRecord where an event of it is damaged."""
        from onrecord.adapters.transfer.export import export

        exported = export(self._backend, one.conversation_id, one.key)
        if evidence is not None:
            deque(exported, maxlen=0)
            return evidence.lines(one.conversation_id, one.events)
        if writer is not None:
            # Whoever else writes it may not look at the bytes: an erasure would take the only sign away.
            deque(exported, maxlen=0)
            return writer(one.conversation_id, one.key)
        return exported

    def _hold(self, id_: UUID) -> HoldEntry:
        entry = hold_entry(self._backend.read(id_), operators_of(self._tenant))
        if entry is None:
            raise CorruptRecord("a hold was placed, and is not there: run `onrecord verify`")
        return entry

    def _operators(self) -> Operators:
        # Loading the library takes longer than most commands do: it waits until it is needed.
        from onrecord.adapters.storage.eventsourcing.operators import Operators

        return Operators(self._backend, self._tenant)


def _class_reason(place: Place | None, one: Disposition) -> str:
    why = f"its retention has run out: {one.retention}"
    if one.archive is None:
        return f"{why}; not archived"
    return f"{why}; archived at {place}, {one.archive.path}, SHA-256 {one.archive.sha256}"


def _class_given(keep: object) -> RetentionClass:
    if isinstance(keep, timedelta):
        keep = keep.days if keep == timedelta(days=keep.days) else None
    if isinstance(keep, int) and not isinstance(keep, bool):
        return keep
    if keep in _CLASSES:
        return cast("RetentionClass", keep)
    raise InvalidInput(f"a retention class is one of {', '.join(_CLASSES)}, or a number of days")
