"""What operators do to a store, recorded in the operators' stream of its tenant, and how it erases.

The operators' stream holds what people did to the store rather than in a conversation. It is a
tenant of the log by itself (`operators_of`), in the shard of the tenant that it is about: so no
list of conversations shows it, and no key leads to it. Its id and those of its streams bear a mark
that no tenant's and no conversation's may have (`is_marked`). An erasure is a stream in it: an
`ErasureIntended`, durable before anything goes, and an `ErasureCompleted` after all of it went, or an
`ErasureRefused` where a hold was placed before. What is erased may be a subject, with its key: then a
`SubjectKeyDestroyed` comes first, in a stream of its own, which the log looks for as a conversation
begins. So is a key of the service: a `KeyIssued`, some
`KeyUsed`, and a `KeyRevoked` at its end; a legal hold: a `HoldPlaced` and a `HoldLifted`; and the
retention class of a tenant, a conversation or a label: `RetentionSet`, each time it is set, and
`RetentionCleared`, each time it is taken back. Who and why stand in the body, never in a header.

What people read is told in a stream a day: `AccessRead` each time, and `AccessCounted` how often
programs did in a minute. Who it was stands in the header, as a digest whose name may be forgotten.

Where the conversations of another log were recorded anew in this one, `LogMoved` binds both.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Annotated, Final, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import Field, ValidationError, model_validator

from onrecord.domain import jsontext
from onrecord.domain.content import Value
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import time_of
from onrecord.domain.marks.marked_ids import RETENTION_MARK, is_marked, marked

LAST_MOMENT: Final = 253_402_300_799_999_999
"""In microseconds since 1970-01-01 UTC: of the year 9999, beyond which Python knows no time."""

Moment = Annotated[int, Field(ge=0, le=LAST_MOMENT)]
Ordinal = Annotated[int, Field(ge=0, lt=2**63)]


class ErasureIntended(Value):
    """Somebody is about to erase a conversation: `actor` by name, and why.

    `number` counts the erasures of one conversation from 0: one whose documents were erased before
    anything was said in it may be erased again. `at` is in microseconds since 1970-01-01 UTC. Where
    the name of an actor is erased, `named` is its keyed digest in hex, and `conversation_id` the id
    that it is erased by (domain/actors.py). Where a subject is erased, `subject` is its keyed digest in
    hex, `conversation_id` the id that it is erased by, `key` the id of its key, and `rule` the rule that is
    followed, in words. Where a conversation goes with its subject, `part_of` is that erasure.
    """

    tenant: UUID
    conversation_id: UUID
    number: Ordinal = 0
    actor: str
    reason: str
    named: str | None = None
    subject: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    key: str | None = None
    rule: str | None = None
    part_of: UUID | None = None
    at: Moment

    @property
    def time(self) -> datetime:
        """Return `at` as a datetime, in UTC."""
        return time_of(self.at)

    @model_validator(mode="after")
    def _is_of_one(self) -> Self:
        if (self.subject is None) != (self.key is None):
            raise ValueError("a subject is erased by its key")
        return self


class ErasureCompleted(Value):
    """A conversation was erased: how many events, and the forks of it that stay.

    `forks` is None where they could not be told, since another conversation is damaged. Of a subject,
    `conversations` is how many went, `retired` are the generations of the key-encryption key that are
    gone, and `undoable_until` is until when somebody can bring one of these back.
    """

    tenant: UUID
    conversation_id: UUID
    events: int
    forks: tuple[UUID, ...] | None = ()
    conversations: Ordinal | None = None
    retired: tuple[str, ...] = ()
    undoable_until: Moment | None = None
    at: Moment

    @property
    def time(self) -> datetime:
        """Return `at` as a datetime, in UTC."""
        return time_of(self.at)


class ErasureRefused(Value):
    """An erasure was intended, and did not take place: the hold of that id was placed before."""

    tenant: UUID
    conversation_id: UUID
    hold: UUID
    at: Moment


class SubjectKeyDestroyed(Value):
    """The key of a subject goes: `key` is its id. From here on no conversation begins under it.

    `erasure` is the id of the erasure that it is part of. What is under the key can be read until the
    key store lets it go, right behind this.
    """

    tenant: UUID
    key: str
    erasure: UUID
    at: Moment


KeyRole = Literal["read", "write", "operate"]
"""What a key lets a program do: read; read and write; do all that operators do, too."""


class KeyIssued(Value):
    """Somebody made a key of the service: for whom (`name`), in which role, and until when.

    `digest` is the SHA-256 of its secret, in hex: the secret is nowhere. The key is for one tenant, or
    for `all_tenants`, which only a key to operate can be. `expires_at` is None where it never does.
    """

    tenant: UUID
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    name: str
    role: KeyRole
    all_tenants: bool = False
    expires_at: Moment | None = None
    actor: str
    at: Moment

    @model_validator(mode="after")
    def _operates_where_all_tenants_are(self) -> Self:
        if self.all_tenants and self.role != "operate":
            raise ValueError("only a key to operate is for all tenants")
        return self


class KeyUsed(Value):
    """A program used a key. It is told of at most once an hour, by the server's clock."""

    tenant: UUID
    at: Moment


class KeyRevoked(Value):
    """Somebody took a key back, and why: from then on it is no key."""

    tenant: UUID
    actor: str
    reason: str
    at: Moment


class HoldPlaced(Value):
    """Somebody placed a legal hold: `actor` by name, for which `matter`, and why.

    It is on a conversation, or on all that the tenant has where `conversation_id` is None. `number`
    counts the holds on the same from 0.
    """

    tenant: UUID
    conversation_id: UUID | None = None
    number: Ordinal = 0
    matter: str
    actor: str
    reason: str
    at: Moment


class HoldLifted(Value):
    """Somebody lifted a legal hold, and why: from then on it keeps nothing."""

    tenant: UUID
    conversation_id: UUID | None = None
    actor: str
    reason: str
    at: Moment


LONGEST_RETENTION: Final = 36_500
"""In days: a hundred years."""

Days = Annotated[int, Field(ge=1, le=LONGEST_RETENTION, strict=True)]
RetentionClass: TypeAlias = Literal["six-months", "six-years", "unlimited"] | int
"""How long a conversation is kept behind its last event: a class with a name, or a number of days."""


class _RetentionTarget(Value):
    """What a class is of: a conversation, those with a label (and a value, or any), or the tenant."""

    tenant: UUID
    conversation_id: UUID | None = None
    label: str | None = None
    value: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.conversation_id is not None and self.label is not None:
            raise ValueError("a retention class is of a conversation or of a label, not of both")
        if self.value is not None and self.label is None:
            raise ValueError("a value is one of a label")
        return self


class RetentionSet(_RetentionTarget):
    """Somebody set a retention class: `actor` by name, and the `rule` that it follows, in words.

    It is that of a conversation, of those that bear a label (with a `value`, or with any), or of the
    tenant where neither is there.
    """

    keep: Literal["six-months", "six-years", "unlimited"] | Days
    actor: str
    rule: str
    at: Moment


class RetentionCleared(_RetentionTarget):
    """Somebody took a retention class back: `actor` by name, and why. What it was of has none now."""

    actor: str
    reason: str
    at: Moment


Words = Annotated[str, Field(min_length=1, max_length=200)]


MOST_CONVERSATIONS: Final = 1_000
"""How many conversations a read names at most: as many as the longest page has entries."""


class AccessRead(Value):
    """Somebody read: the actor of the header, in a conversation or by a query, without what it said.

    `via` is the command or the route, `key_id` the key of the service. Of a query, `asked` names what
    was given and `query` is the keyed digest of it. `entries` is how many were shown; None where the
    reader went on for as long as it liked. `conversations` are those that a page or an export showed
    something of, and `more` is how many there were besides.
    """

    tenant: UUID
    conversation_id: UUID | None = None
    via: Words
    asked: tuple[Words, ...] = ()
    query: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    key_id: UUID | None = None
    entries: Ordinal | None = None
    conversations: Annotated[tuple[UUID, ...], Field(max_length=MOST_CONVERSATIONS)] = ()
    more: Ordinal = 0
    at: Moment


class AccessCounted(Value):
    """A program read: how often, by verb or route, in the minute that begins `at`."""

    tenant: UUID
    reads: Annotated[dict[Words, Ordinal], Field(min_length=1)]
    key_id: UUID | None = None
    at: Moment


class LogMoved(Value):
    """What a tenant's conversations were in another log, when they had all been recorded here.

    `origin` is the id of that log, `incarnation` its incarnation, and `root` (in hex) its tree over the first
    `size` events of a `shard`. `events` of them are here again, and `pairs` (in hex) is the tree over both leaves
    of each, in the order of the other log. `left` conversations are not here. `checkpoint` is the last
    signed one of that shard, as a note, and `actor` who moved them, by name.
    """

    tenant: UUID
    origin: UUID
    incarnation: UUID
    shard: Ordinal
    size: Ordinal
    root: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    events: Ordinal
    pairs: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    left: Ordinal = 0
    checkpoint: str | None = None
    actor: str
    at: Moment


ErasureFact = ErasureIntended | ErasureCompleted | ErasureRefused | SubjectKeyDestroyed
KeyFact = KeyIssued | KeyUsed | KeyRevoked
HoldFact = HoldPlaced | HoldLifted
RetentionFact = RetentionSet | RetentionCleared
AccessFact = AccessRead | AccessCounted
OperatorsFact = ErasureFact | KeyFact | HoldFact | RetentionFact | AccessFact | LogMoved

INTENDED: Final = "erasure.intended"
COMPLETED: Final = "erasure.completed"
REFUSED: Final = "erasure.refused"
DESTROYED: Final = "subject_key.destroyed"
ISSUED: Final = "key.issued"
USED: Final = "key.used"
REVOKED: Final = "key.revoked"
PLACED: Final = "hold.placed"
LIFTED: Final = "hold.lifted"
RETAINED: Final = "retention.set"
CLEARED: Final = "retention.cleared"
READ: Final = "access.read"
COUNTED: Final = "access.counted"
MOVED: Final = "log.moved"
SHAPES: Final[Mapping[str, type[OperatorsFact]]] = {
    INTENDED: ErasureIntended,
    COMPLETED: ErasureCompleted,
    ISSUED: KeyIssued,
    USED: KeyUsed,
    REVOKED: KeyRevoked,
    REFUSED: ErasureRefused,
    DESTROYED: SubjectKeyDestroyed,
    PLACED: HoldPlaced,
    LIFTED: HoldLifted,
    RETAINED: RetentionSet,
    CLEARED: RetentionCleared,
    READ: AccessRead,
    COUNTED: AccessCounted,
    MOVED: LogMoved,
}
"""Stored name to shape, in schema version 1. A name is for ever."""

CLOSING: Final = frozenset({COMPLETED, REFUSED, DESTROYED, REVOKED, LIFTED})
"""Names of facts behind which nothing comes in their stream."""

SCHEMA_VERSION: Final = 1


def retention_id(
    keyed: Callable[[str], bytes],
    tenant: UUID,
    conversation_id: UUID | None = None,
    label: str | None = None,
    value: str | None = None,
) -> UUID:
    """Return the id of the stream in which the retention class of something is set.

    `keyed` is the keyed digest of the log: a label may be personal, and an id stands in clear.
    """
    if conversation_id is not None:
        of = b" conversation" + conversation_id.bytes
    elif label is not None:
        named = [label] if value is None else [label, value]
        of = b" label" + keyed("label " + jsontext.write(named).decode())
    else:
        of = b""
    return marked(b"onrecord retention" + tenant.bytes + of, RETENTION_MARK)


def is_operators(type_: str) -> bool:
    """Return whether a stored name is of the operators' stream, by which no user speaks."""
    return type_ in SHAPES


def is_apart(tenant: UUID, conversation_id: UUID, types: Iterable[str] = ()) -> bool:
    """Return whether what is brought is the operators' as a whole, or nothing of it is."""
    marked = is_marked(tenant)
    return is_marked(conversation_id) == marked and all(is_operators(t) == marked for t in types)


def encode_fact(fact: OperatorsFact) -> bytes:
    """Return the body bytes: compact JSON, fields in order, those at their default left out."""
    return jsontext.write(fact.model_dump(mode="json", exclude_defaults=True))


def decode_fact(type_: str, schema_version: int, body: bytes) -> OperatorsFact:
    """Return what a body says; CorruptRecord where it has not the shape of its name."""
    try:
        if schema_version == SCHEMA_VERSION:
            return SHAPES[type_].model_validate_json(body)
    except (KeyError, ValidationError):
        pass  # The cause may tell who and why.
    raise CorruptRecord(
        f"the body of a {type_} event does not have the shape of version {schema_version}: "
        "run `onrecord verify`, and restore it from a backup or upgrade Onrecord"
    )
