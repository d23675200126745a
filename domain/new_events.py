"""Events made ready for the log: named, stamped, encoded and sized up; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple, cast
from uuid import UUID

from pydantic import BaseModel

from onrecord.domain import events, items
from onrecord.domain.admission import need_of
from onrecord.domain.blobs import referenced
from onrecord.domain.content import Blob, Native
from onrecord.domain.encoding import VERSIONS, Unrecognised, encode, name_of
from onrecord.domain.events import Event
from onrecord.domain.head import effect_of
from onrecord.domain.header import (
    DEPLOYMENT,
    NO_METADATA,
    ON_BEHALF_OF,
    POLICY,
    SPAN,
    ClientHeader,
    header_bytes,
)
from onrecord.domain.log import NewEvent
from onrecord.domain.operators import (
    SCHEMA_VERSION,
    SHAPES,
    KeyRevoked,
    KeyUsed,
    OperatorsFact,
    encode_fact,
)
from onrecord.domain.tools import (
    ApprovalDecided,
    ApprovalRequested,
    ToolCallBegun,
    name_of_step,
)

# A body that names a blob holds one of these keys, as itself: its JSON escapes neither.
_NAMES_DIGEST: Final = b'"sha256"'
_NAMES_BLOB: Final = b'"$onrecord.blob"'
_FACTS: Final[Mapping[type[OperatorsFact], str]] = {shape: name for name, shape in SHAPES.items()}


class Trace(NamedTuple):
    """The trace and the span in which something is done: 16 bytes as a UUID, 16 hex digits."""

    trace_id: UUID
    span: str


class Attribution(NamedTuple):
    """Who does something, for whom, under which rules and in which trace, as far as that is known.

    `actor` and `on_behalf_of` are keyed digests in hex, as `ClientHeader.actor` is. `names` are names
    by their digests, as far as they were given here: they never stand in a header. `policy` and
    `deployment` are as a caller named them.
    """

    actor: str | None = None
    on_behalf_of: str | None = None
    trace: Trace | None = None
    names: tuple[tuple[str, str], ...] = ()
    policy: str | None = None
    deployment: str | None = None

    def or_else(self, outer: Attribution | None) -> Attribution:
        """Return this one, with what it leaves open taken from one that is further away."""
        # By identity: this is asked for each event, and mostly nobody is known.
        if outer is None or outer is NOBODY:
            return self
        if self is NOBODY:
            return outer
        return Attribution(
            self.actor or outer.actor,
            self.on_behalf_of or outer.on_behalf_of,
            self.trace or outer.trace,
            self.names + outer.names,
            self.policy or outer.policy,
            self.deployment or outer.deployment,
        )

    def bears(self, digest: str) -> bool:
        """Whether a digest is of who acts, or of whom that is done for."""
        return digest in (self.actor, self.on_behalf_of)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return self != NOBODY

    def traced(self, trace: Trace | None) -> Attribution:
        """Return the same, done in a trace, where there is one."""
        return self if trace is None else self._replace(trace=trace)

    def without_trace(self) -> Attribution:
        """Return who does it, for whom and under which rules, in whatever trace."""
        return self._replace(trace=None, names=())

    def metadata(self) -> dict[str, str]:
        """Return what of it stands in a header's `metadata`."""
        members = {
            ON_BEHALF_OF: self.on_behalf_of,
            POLICY: self.policy,
            DEPLOYMENT: self.deployment,
            SPAN: self.trace.span if self.trace else None,
        }
        return {name: value for name, value in members.items() if value is not None}


NOBODY: Final = Attribution()
"""Nobody knows who does it."""


def attribution_of(header: ClientHeader) -> Attribution:
    """Return who did what a header is of, under which rules, as far as it says so; no trace."""
    return Attribution(
        header.actor, header.on_behalf_of, policy=header.policy, deployment=header.deployment
    )


class Stamp(NamedTuple):
    """What an event gets from outside: its id, its time, its salt, where it belongs and who did it.

    `event_id` is a UUIDv7, `occurred_at` microseconds since 1970-01-01 UTC, `salt` 16 random bytes,
    `actor` a keyed digest in hex. `subjects` are names of those it is about.
    """

    event_id: UUID
    occurred_at: int
    salt: bytes
    tenant: UUID
    conversation_id: UUID
    actor: str | None = None
    correlation_id: UUID | None = None
    causation_id: UUID | None = None
    metadata: Mapping[str, str] = NO_METADATA
    subjects: tuple[str, ...] = ()


def draft(event: Event, stamp: Stamp) -> NewEvent:
    """Return the event ready for the log; MalformedJson where a value of it has no JSON form."""
    name, body = name_of(event), encode(event)
    header = ClientHeader(
        event_id=stamp.event_id,
        tenant=stamp.tenant,
        conversation_id=stamp.conversation_id,
        type=name,
        schema_version=VERSIONS[name],
        occurred_at=stamp.occurred_at,
        actor=stamp.actor,
        correlation_id=stamp.correlation_id,
        causation_id=stamp.causation_id,
        metadata=stamp.metadata,
    )
    return NewEvent(
        event_id=stamp.event_id,
        type=name,
        schema_version=VERSIONS[name],
        header=header_bytes(header),
        salt=stamp.salt,
        body=body,
        effect=effect_of(event),
        once=once_of(event),
        blobs=blobs_of(event) if _NAMES_DIGEST in body or _NAMES_BLOB in body else (),
        needs=need_of(event),
        subjects=stamp.subjects,
    )


def draft_fact(fact: OperatorsFact, stamp: Stamp) -> NewEvent:
    """Return a fact of the operators' stream ready for the log; `stamp` is of that stream.

    What is told of a key needs a stream that is not closed: nothing comes after it was revoked.
    """
    name, body = _FACTS[type(fact)], encode_fact(fact)
    header = ClientHeader(
        event_id=stamp.event_id,
        tenant=stamp.tenant,
        conversation_id=stamp.conversation_id,
        type=name,
        schema_version=SCHEMA_VERSION,
        occurred_at=stamp.occurred_at,
        actor=stamp.actor,
    )
    return NewEvent(
        event_id=stamp.event_id,
        type=name,
        schema_version=SCHEMA_VERSION,
        header=header_bytes(header),
        salt=stamp.salt,
        body=body,
        effect=effect_of(Unrecognised(name, SCHEMA_VERSION, body)),
        needs="open" if isinstance(fact, KeyUsed | KeyRevoked) else None,
    )


def once_of(event: Event) -> str | None:
    """Return the name of the fact that a conversation can hold only once, if the event is one."""
    match event:
        # First, and whether or not it has an id: this is asked for each event, and most are these.
        case events.MessageRecorded() | events.SignalReceived():
            return None if event.message_id is None else f"message:{event.message_id}"
        case items.ItemRecorded():
            return items.once_name(event)
        case events.ToolResultRecorded(line=None):
            name = f"result:{event.call_id}"
            return name if event.call is None else f"{name}@{event.call}"
        case events.ResponseCompleted() | events.ResponseInterrupted():
            return f"response:{event.response}"
        case ApprovalRequested() | ApprovalDecided() | ToolCallBegun():
            return name_of_step(event)
        case _:
            return None


def blobs_of(event: Event) -> tuple[Blob, ...]:
    """Return the blobs that an event refers to, each once, in order."""
    blobs: dict[Blob, None] = {}
    _find_blobs(event, blobs)
    return tuple(blobs)


def _find_blobs(value: object, blobs: dict[Blob, None]) -> None:
    match value:
        case str() | None:
            return
        case Blob():
            blobs[value] = None
        case Native():
            blobs.update(dict.fromkeys(referenced(value.value)))
        case items.ItemRecorded() | items.ItemAmended():
            blobs.update(dict.fromkeys(referenced(value.item)))
        case items.StatePut():
            blobs.update(dict.fromkeys(referenced(value.value)))
        case BaseModel():
            for member in vars(value).values():
                _find_blobs(member, blobs)
        case tuple():
            for item in cast("tuple[object, ...]", value):
                _find_blobs(item, blobs)
        case _:
            return


def lasting_id(digest: bytes, kind: bytes) -> UUID:
    """Return the id that a digest stands for, the same whenever it is asked for; `kind` tells ids apart.

    Ids outlive erasure: give the store's keyed digest, so that nobody without its key can try what
    one stands for. The id has the form of a UUIDv7 (RFC 9562) at time 0.
    """
    drawn = int.from_bytes(hashlib.sha256(digest + b"\x00" + kind).digest()[:10])
    version_7, variant = 0x7 << 76, 0b10 << 62
    return UUID(int=version_7 | (drawn >> 66 & 0xFFF) << 64 | variant | drawn & (1 << 62) - 1)
