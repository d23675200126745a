"""What was read, as the operators' streams tell of it: by people each time, by programs how often.

No entry holds anything of what was read. Who it was is a digest, whose name may be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import parse_header, time_of
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import access_id, day_of, operators_of
from onrecord.domain.operators import AccessCounted, AccessFact, AccessRead, decode_fact


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """That somebody read something: a person once, or a program `reads` times in a minute.

    `at` is when, in microseconds since 1970-01-01 UTC by the reader's clock, of a program the begin of
    the minute. `actor` is the keyed digest of who read, in hex, `actor_name` the name until that is forgotten.
    `via` is the command, the route or the program's own word; None of a program, whose `reads` say how
    often by each verb or route. `conversation_id` and `key` are of the conversation that was read,
    None of a query, whose `asked` names what was given, and `query` is the keyed digest of it.
    `entries` is how many were shown, None where nobody can tell. `conversations` are those that a page or
    an export showed something of, and `more` is how many there were besides. `key_id` is the key of the service.
    """

    at: int
    actor: str | None
    via: str | None = None
    conversation_id: UUID | None = None
    key: str | None = None
    asked: tuple[str, ...] = ()
    query: str | None = None
    entries: int | None = None
    conversations: tuple[UUID, ...] = ()
    more: int = 0
    reads: Mapping[str, int] = field(default_factory=dict[str, int])
    key_id: UUID | None = None
    actor_name: str | None = None

    def showed(self, conversation_id: UUID) -> bool:
        """Whether something of a conversation was shown, as far as the entry names it."""
        return conversation_id == self.conversation_id or conversation_id in self.conversations

    @property
    def time(self) -> datetime:
        """Return `at` as a datetime, in UTC."""
        return time_of(self.at)


def access_fact(event: RecordedEvent, operators: UUID) -> AccessFact:
    """Return what an event says was read; `operators` is the tenant whose stream it is in.

    CorruptRecord where it says something else, or stands in a stream of another day or tenant.
    """
    fact = decode_fact(event.type, event.schema_version, event.body or b"")
    if not isinstance(fact, AccessFact):
        raise CorruptRecord("a stream of what was read tells of something else")
    is_own = access_id(fact.tenant, day_of(fact.at)) == event.conversation_id
    if not is_own or operators_of(fact.tenant) != operators:
        raise CorruptRecord("what was read stands in a stream of another day or tenant")
    return fact


def access_entry(event: RecordedEvent, operators: UUID) -> AccessEntry | None:
    """Return what an event tells was read; None where the operators of another tenant wrote it.

    CorruptRecord as `access_fact` has it.
    """
    header = parse_header(event.header)
    if header.tenant != operators:
        return None
    fact, actor = access_fact(event, operators), header.actor
    match fact:
        case AccessRead():
            return AccessEntry(
                fact.at,
                actor,
                fact.via,
                fact.conversation_id,
                asked=fact.asked,
                query=fact.query,
                entries=fact.entries,
                conversations=fact.conversations,
                more=fact.more,
                key_id=fact.key_id,
            )
        case AccessCounted():
            return AccessEntry(fact.at, actor, reads=fact.reads, key_id=fact.key_id)
