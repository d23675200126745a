"""The audit view: who did what and when, with which model or tool and under which rules; a row an event.

What was said is not in it, so it may be shown to people who must not read that. Lists and reports add why
something was redacted, which is somebody's text, from the log. A redacted or
erased event keeps its row, without the model, the tool, the outcome and all digests. What the operators did is in it too: an
erasure is two rows, its intent and its outcome, of the tenant whose conversation was erased. So is
what was told of a key of the service, of the tenant that it was made for, each legal hold that was
placed or lifted, each retention class that was set or taken back, and that something was read. The column `erasure` holds what such a fact
says, by the row's type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, assert_never
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import ContentRedacted
from onrecord.domain.header import time_of
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import is_access, is_key, operators_of
from onrecord.domain.operators import (
    CLEARED,
    LIFTED,
    PLACED,
    RETAINED,
    AccessCounted,
    AccessRead,
    ErasureCompleted,
    ErasureIntended,
    ErasureRefused,
    HoldLifted,
    HoldPlaced,
    KeyIssued,
    KeyRevoked,
    KeyUsed,
    LogMoved,
    OperatorsFact,
    RetentionClass,
    RetentionCleared,
    RetentionSet,
    SubjectKeyDestroyed,
    decode_fact,
    is_operators,
)
from onrecord.projections.views.audit_facts import (
    NOT_TOLD,
    Outcome,
    facts_of,
    labels_of,
    outcome_of_fact,
)
from onrecord.projections.views.view import Changes, EventBatch, Row, members_in, storable

TEXTS: Final = frozenset({"sha256", "documents", "labels"})
"""Digests of what was said: who guesses it recognises it by them, so an encrypted store keeps none."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The view `audit`: one row an event, by conversation and version."""

    name: str = "audit"
    revision: int = 4
    strict: bool = True
    types: frozenset[str] = frozenset()
    texts: frozenset[str] = TEXTS

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return the rows of events that a batch redacts, and of those that its requests refer to."""
        redacted = [_key(batch, version) for version in _redacted(batch.events)]
        requests = (event for event in batch.events if event.type == "request.sent")
        shown = {event_id: None for event in requests for event_id in facts_of(event).shown}
        of = {"conversation_id": str(batch.conversation_id)}
        return [*redacted, *({**of, "event_id": str(event_id)} for event_id in shown)]

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return a row an event."""
        rows = _Rows(known)
        for event in batch.events:
            facts = facts_of(event)
            row = _row(batch, event) | facts.columns | labels_of(batch.tenant, event)
            rows.put(rows.sent_with(event, row, facts.shown) if facts.shown else row)
            for version in _redacted((event,)):
                rows.redact(version)
        return Changes(put=tuple(rows.changed.values()))


class _Rows:
    """The rows of a conversation that a fold knows of, and those of them that it changed."""

    def __init__(self, known: Sequence[Row]) -> None:
        self.changed: dict[int, Row] = {}
        self._rows: dict[int, Row] = {}
        self._versions: dict[str, int] = {}
        for row in known:
            self._note(row)

    def put(self, row: Row) -> None:
        """Add a row, or change one."""
        self.changed[row["version"]] = row
        self._note(row)

    def redact(self, version: int) -> None:
        """Take away what the row of a redacted event tells."""
        if version in self._rows:
            self.put({**self._rows[version], **NOT_TOLD})

    def sent_with(self, event: RecordedEvent, row: Row, shown: Iterable[UUID]) -> Row:
        """Return the row of a request with the documents of the events that it shows, and its own."""
        versions = (self._versions.get(str(event_id), 0) for event_id in shown)
        rows = [self._rows[version] for version in sorted(filter(None, versions))]
        documents = dict.fromkeys(
            digest for each in (*rows, row) for digest in each["documents"] or ()
        )
        if not documents:
            return row
        return {**row, "documents": [*documents], "event_id": str(event.event_id)}

    def _note(self, row: Row) -> None:
        self._rows[row["version"]] = row
        if row["event_id"] is not None:
            self._versions[row["event_id"]] = row["version"]


AUDIT: Final = Audit()


@dataclass(frozen=True, slots=True)
class ErasureDeed:
    """What an erasure says: its intent who and why, its outcome how much and which forks stay.

    `conversation_id` is what was erased: a conversation, or the name of the actor whose digest is
    `named`, or the subject whose digest is `subject`, by the `rule` that was followed. `forks` is None in
    the intent, and where nobody can tell. `hold` is the id of the legal hold that refused it.
    """

    conversation_id: UUID
    actor: str | None = None
    reason: str | None = None
    events: int | None = None
    named: str | None = None
    subject: str | None = None
    rule: str | None = None
    forks: tuple[UUID, ...] | None = None
    hold: UUID | None = None


@dataclass(frozen=True, slots=True)
class HoldDeed:
    """What was done about a legal hold: who did it, and why; `matter` where it was placed.

    `conversation_id` is what it is on; None where it is on all of the tenant's.
    """

    actor: str
    reason: str
    conversation_id: UUID | None = None
    matter: str | None = None


@dataclass(frozen=True, slots=True)
class RetentionDeed:
    """A retention class that was set: who did it, how long it keeps, and which rule it follows.

    It is that of a conversation, of a label (with a `value`, or with any), else of the tenant. One
    that was taken back has no `keep` and no `rule`, but a `reason`.
    """

    actor: str
    keep: RetentionClass | None = None
    rule: str | None = None
    reason: str | None = None
    conversation_id: UUID | None = None
    label: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Something that was done: an event, without what was said in it.

    `actor` is the keyed digest of who did it, as `backend.digest` gives it, in hex; `actor_name` is
    the name until that is forgotten. `on_behalf_of` and its name are of whom it was done for. `api` and
    `model` are of requests and responses, `tool` of calls. `policy` and `deployment` are as the caller
    named them; `sha256` is the digest of the instructions or tools that an event put in force, and of
    what a request was rendered by: what models take.
    `outcome` is how it went. `documents` are the digests of the documents that the
    event holds, or that a request was sent with.
    `erasure`, `hold` and `retention` are of what operators did, whose `conversation_id` is that of its
    own stream. `key` is the conversation's: None of those, and once it was forgotten. Times are in
    microseconds since 1970-01-01 UTC.
    """

    conversation_id: UUID
    version: int
    position: int
    recorded_at: int
    occurred_at: int
    actor: str | None
    type: str
    api: str | None
    model: str | None
    tool: str | None
    on_behalf_of: str | None
    policy: str | None
    deployment: str | None
    sha256: str | None
    outcome: Outcome | None
    documents: tuple[str, ...]
    erasure: ErasureDeed | None = None
    key: str | None = None
    actor_name: str | None = None
    on_behalf_of_name: str | None = None
    hold: HoldDeed | None = None
    retention: RetentionDeed | None = None

    @property
    def recorded_time(self) -> datetime:
        """Return `recorded_at` as a datetime, in UTC."""
        return time_of(self.recorded_at)

    @property
    def occurred_time(self) -> datetime:
        """Return `occurred_at` as a datetime, in UTC."""
        return time_of(self.occurred_at)


def deed(row: Row) -> AuditEntry:
    """Return what was done, of a row of a page."""
    members = members_in(row, AuditEntry.__dataclass_fields__, ids=("conversation_id",))
    members["documents"] = tuple(row["documents"] or ())
    if row["erasure"] is not None:
        members |= {"erasure": None, **_operators_deed(row["type"], row["erasure"])}
    return AuditEntry(**members)


def _operators_deed(type_: str, facts: Row) -> dict[str, object]:
    on = facts.get("conversation_id")
    own: dict[str, Any] = {**facts, "conversation_id": None if on is None else UUID(on)}
    if type_ in (PLACED, LIFTED):
        return {"hold": HoldDeed(**own)}
    if type_ in (RETAINED, CLEARED):
        return {"retention": RetentionDeed(**own)}
    return {"erasure": _erasure_deed(facts)}


def _erasure_deed(facts: Row) -> ErasureDeed:
    forks = facts.get("forks")
    return ErasureDeed(
        conversation_id=UUID(facts["conversation_id"]),
        actor=facts.get("actor"),
        reason=facts.get("reason"),
        events=facts.get("events"),
        named=facts.get("named"),
        subject=facts.get("subject"),
        rule=facts.get("rule"),
        forks=None if forks is None else tuple(map(UUID, forks)),
        hold=None if facts.get("hold") is None else UUID(facts["hold"]),
    )


@dataclass(frozen=True, slots=True)
class InForce:
    """A conversation that ran under a rule: its events that name the rule.

    There are `events` of them, from `first_version` to `last_version`, recorded from `first_at` to
    `last_at` (microseconds since 1970-01-01 UTC). Of instructions and tools these are the events that
    put them in force. `key` is the conversation's, None once it was forgotten.
    """

    conversation_id: UUID
    first_version: int
    last_version: int
    first_at: int
    last_at: int
    events: int
    key: str | None = None

    @property
    def first_time(self) -> datetime:
        """Return `first_at` as a datetime, in UTC."""
        return time_of(self.first_at)

    @property
    def last_time(self) -> datetime:
        """Return `last_at` as a datetime, in UTC."""
        return time_of(self.last_at)


def in_force(row: Row) -> InForce:
    """Return which conversation ran under a rule, of a row of a page."""
    return InForce(**members_in(row, InForce.__dataclass_fields__, ids=("conversation_id",)))


def _redacted(events: Iterable[RecordedEvent]) -> Iterator[int]:
    """Yield the versions of events that are redacted; what is still to come never is."""
    for event in events:
        happened = event.event() if event.type == "content.redacted" else None
        if isinstance(happened, ContentRedacted) and 0 < happened.version < event.version:
            yield happened.version


def _key(batch: EventBatch, version: int) -> Row:
    return {"conversation_id": str(batch.conversation_id), "version": version}


def _row(batch: EventBatch, event: RecordedEvent) -> Row:
    header, fact = event.client_header(), _fact(batch, event)
    return {
        "tenant": str(batch.tenant if fact is None else fact.tenant),
        **_key(batch, event.version),
        "shard": event.shard,
        "position": event.position,
        "recorded_at": event.recorded_at,
        "occurred_at": header.occurred_at,
        "actor": header.actor,
        "type": event.type,
        **NOT_TOLD,
        "outcome": outcome_of_fact(fact),
        "erasure": _deed(fact),
        "on_behalf_of": _storable(header.on_behalf_of),
        "policy": _storable(header.policy),
        "deployment": _storable(header.deployment),
    }


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _fact(batch: EventBatch, event: RecordedEvent) -> OperatorsFact | None:
    """Return what an operator's event says; None for others.

    Whoever could write to one stream of operators could name any tenant in it: the stream says
    whose it is. Others tell of keys and of reads what nobody may be able to read: that stops no audit, and `verify`
    names it.
    """
    if not is_operators(event.type) or event.body is None:
        return None
    try:
        fact = decode_fact(event.type, event.schema_version, event.body)
    except CorruptRecord:
        if not (is_key(event.conversation_id) or is_access(event.conversation_id)):
            raise
        return None
    return fact if operators_of(fact.tenant) == batch.tenant else None


def _deed(fact: OperatorsFact | None) -> Row | None:
    """Return what a fact says of an erasure, a hold or a retention class; None for others."""
    match fact:
        case ErasureIntended():
            row: Row = {"conversation_id": str(fact.conversation_id)}
            of = _texts(named=fact.named, subject=fact.subject, rule=fact.rule)
            return row | _texts(actor=fact.actor, reason=fact.reason) | of
        case ErasureCompleted():
            forks = None if fact.forks is None else [str(fork) for fork in fact.forks]
            row = {"conversation_id": str(fact.conversation_id)}
            return row | {"events": fact.events, "forks": forks}
        case ErasureRefused():
            return {"conversation_id": str(fact.conversation_id), "hold": str(fact.hold)}
        case HoldPlaced():
            return {**_on(fact), **_texts(actor=fact.actor, reason=fact.reason, matter=fact.matter)}
        case HoldLifted():
            return {**_on(fact), **_texts(actor=fact.actor, reason=fact.reason)}
        case RetentionSet():
            texts = _texts(actor=fact.actor, rule=fact.rule, label=fact.label, value=fact.value)
            return {**_on(fact), "keep": fact.keep, **texts}
        case RetentionCleared():
            texts = _texts(actor=fact.actor, reason=fact.reason, label=fact.label, value=fact.value)
            return {**_on(fact), **texts}
        case (
            SubjectKeyDestroyed()
            | KeyIssued()
            | KeyUsed()
            | KeyRevoked()
            | AccessRead()
            | AccessCounted()
            | LogMoved()
            | None
        ):
            return None  # `onrecord keys`, `access` and `move` show what these say.
        case _:
            assert_never(fact)


def _on(fact: HoldPlaced | HoldLifted | RetentionSet | RetentionCleared) -> Row:
    on = fact.conversation_id
    return {} if on is None else {"conversation_id": str(on)}


def _texts(**texts: str | None) -> Row:
    return {name: storable(text) for name, text in texts.items() if text is not None}
