"""Legal holds and retention classes of a log that is moved: the new log has them as the old one does."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from onrecord.adapters.transfer.moved_conversations import FORGOTTEN, ORIGIN_ERASED, ORIGIN_LEFT
from onrecord.adapters.upkeep.holds import holds
from onrecord.domain.errors import ConversationOnHold
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import is_retention, operators_of
from onrecord.domain.operators import RetentionFact, RetentionSet, decode_fact, retention_id
from onrecord.projections.retention.hold_records import HoldEntry
from onrecord.projections.retention.retention_records import retention_entry

if TYPE_CHECKING:
    from onrecord.adapters.storage.eventsourcing.operators import Operators

_HoldWords: TypeAlias = tuple[UUID | None, str, str, str]


def must_not_leave_held(source: Backend, tenant: UUID, left_out: Mapping[UUID, str]) -> None:
    """Raise ConversationOnHold where a hold in force is on what is left out and still says something."""
    at_stake = [id_ for id_, why in left_out.items() if why != FORGOTTEN]
    if not at_stake:
        return
    for hold in holds(source, tenant):
        for id_ in at_stake:
            is_fork = left_out[id_] in (ORIGIN_LEFT, ORIGIN_ERASED)
            if hold.conversation_id == id_ or (hold.conversation_id is None and is_fork):
                raise ConversationOnHold(
                    f"the conversation {id_} is left out, as {left_out[id_]}, and {hold} keeps it: "
                    "keep the old log, or lift the hold there, and move again"
                )


def carry_retention(
    source: Backend, destination: Backend, tenant: UUID, left_out: Container[UUID | None]
) -> None:
    """Set the holds and the retention classes of a tenant in the new log as they are in the old one.

    No hold is placed on what is left out. What the old log changed since the move before is changed in the
    new one too. What was set in the new log alone stays.
    """
    from onrecord.adapters.storage.eventsourcing.operators import Operators

    operators = Operators(destination, tenant)
    _carry_holds(source, destination, tenant, operators, left_out)
    _carry_classes(source, destination, tenant, operators)


def _carry_holds(
    source: Backend,
    destination: Backend,
    tenant: UUID,
    operators: Operators,
    left_out: Container[UUID | None],
) -> None:
    """Place holds until as many alike are in force in the new log, and lift those that were lifted."""
    old = _by_words(holds(source, tenant, lifted=True))
    new = _by_words(holds(destination, tenant, lifted=True))
    for words, entries in old.items():
        conversation_id, matter, reason, actor = words
        if conversation_id in left_out:
            continue
        needed = sum(hold.was_in_force() for hold in entries)
        there = [hold for hold in new.get(words, ()) if hold.was_in_force()]
        for _ in range(needed - len(there)):
            operators.place_hold(conversation_id, matter, actor, reason)
        surplus = [hold for hold in there if _original(hold, entries) is not None]
        for hold in surplus[: max(len(there) - needed, 0)]:
            _lift_as(_original(hold, entries), hold, operators)


def _by_words(entries: Iterable[HoldEntry]) -> dict[_HoldWords, list[HoldEntry]]:
    """Return holds by what they are on, why, and who placed them: those alike are not told apart."""
    found = dict[_HoldWords, list[HoldEntry]]()
    for hold in entries:
        placed = hold.placed
        words = hold.conversation_id, placed.matter, placed.reason, placed.actor
        found.setdefault(words, []).append(hold)
    return found


def _original(hold: HoldEntry, entries: Iterable[HoldEntry]) -> HoldEntry | None:
    """Return a hold of the old log that was lifted after a move placed the same one; None where none was.

    A hold that was placed in the new log later than that is the new log's own.
    """
    return next(
        (
            old
            for old in entries
            if old.lifted is not None and old.placed.at <= hold.placed.at <= old.lifted.at
        ),
        None,
    )


def _lift_as(original: HoldEntry | None, hold: HoldEntry, operators: Operators) -> None:
    if original is not None and original.lifted is not None:
        operators.lift_hold(hold.hold_id, original.lifted.actor, original.lifted.reason)


def _carry_classes(
    source: Backend, destination: Backend, tenant: UUID, operators: Operators
) -> None:
    for stream in source.open_conversations(operators_of(tenant)):
        if not is_retention(stream):
            continue
        old = list(_class_facts(source, stream, tenant))
        if not old:
            continue
        last = old[-1]
        of = last.conversation_id, last.label, last.value
        new = list(_class_facts(destination, retention_id(destination.digest, tenant, *of), tenant))
        if new and (_words(new[-1]) == _words(last) or _words(new[-1]) not in map(_words, old)):
            continue  # It is the same, or was set in the new log alone.
        if isinstance(last, RetentionSet):
            operators.set_retention(*of, last.keep, last.actor, last.rule)
        elif new:
            operators.clear_retention(*of, last.actor, last.reason)


def _class_facts(log: Backend, stream: UUID, tenant: UUID) -> Iterator[RetentionFact]:
    """Yield what was said of a retention class; CorruptRecord where it cannot be read."""
    events, operators = list(log.read(stream)), operators_of(tenant)
    retention_entry(events, operators, log.digest)
    for event in events:
        fact = decode_fact(event.type, event.schema_version, event.body or b"")
        if isinstance(fact, RetentionFact) and fact.tenant == tenant:
            yield fact


def _words(fact: RetentionFact) -> tuple[object, ...]:
    """Return what a fact says, without when."""
    said = fact.keep if isinstance(fact, RetentionSet) else None
    why = fact.rule if isinstance(fact, RetentionSet) else fact.reason
    return type(fact), said, why, fact.actor
