"""The log as the domain sees it: events before and after it has them, its verbs, its verdicts.

A backend has these verbs: adapters/storage holds some, tests/contract is the suite of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from uuid import UUID

from onrecord.domain.admission import Need, Refused
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encoding import Erased, Unrecognised, decode
from onrecord.domain.erasure.destroyed import KeyDestroyed
from onrecord.domain.erasure.erasure import Erasure
from onrecord.domain.events import Event
from onrecord.domain.head import Effect, Head, Pointer
from onrecord.domain.header import ClientHeader, parse_header, time_of

if TYPE_CHECKING:
    from datetime import datetime

    from onrecord.domain.actors import ActorDirectory
    from onrecord.domain.inventory import Inventory

BEFORE_FIRST: Final = -1  # Conversations begin at version 1, aggregates of applications also at 0.


class NewEvent(NamedTuple):
    """An event that the log does not have yet: its bytes are final, unless the log encrypts them.

    `header` are the canonical bytes of the client header. `once` names a fact that a conversation
    can hold only once (`result:<call id>`, `message:<message id>`); the log keeps a keyed digest.
    `blobs` are those that the body refers to. They are stored before the event is appended, in its
    conversation: an append whose blobs are not there is refused, or whose `needs` are not met.
    `subjects` are names of those whose keys an encrypted log has it under; none: the conversation's.
    """

    event_id: UUID
    type: str
    schema_version: int
    header: bytes
    salt: bytes
    body: bytes
    effect: Effect
    once: str | None = None
    blobs: tuple[Blob | KeyedBlob, ...] = ()
    needs: Need | None = None
    subjects: tuple[str, ...] = ()


class RecordedEvent(NamedTuple):
    """An event as the log has it.

    `position` is its place in its shard, `version` in its conversation, both dense and from 1 (that of
    an aggregate may be from 0); `exchange` is the number of its exchange (0: before the first prompt);
    `recorded_at` is in microseconds since 1970-01-01 UTC by the log's clock. `salt` and `body` are None
    once erased; `header`, `digest` and `leaf` stay for ever.
    """

    shard: int
    position: int
    conversation_id: UUID
    version: int
    exchange: int
    event_id: UUID
    type: str
    schema_version: int
    recorded_at: int
    header: bytes
    digest: bytes
    leaf: bytes
    salt: bytes | None
    body: bytes | None

    @property
    def recorded_time(self) -> datetime:
        """Return `recorded_at` as a datetime, in UTC."""
        return time_of(self.recorded_at)

    def event(self) -> Event | Unrecognised | Erased:
        """Return what happened, in its present shape; raise CorruptRecord if the bytes lie."""
        return _event(self.type, self.schema_version, self.body)

    def told(self) -> Told:
        """Return what a fold takes of it."""
        return Told(
            self.conversation_id,
            self.version,
            self.event_id.bytes,
            self.type,
            self.schema_version,
            self.recorded_at,
            self.body,
        )

    def client_header(self) -> ClientHeader:
        """Return the client header's members."""
        return parse_header(self.header)


class Told(NamedTuple):
    """What a fold takes of a recorded event: where it is and what happened, not what proves it.

    Members are as in `RecordedEvent`; `event_id` is in bytes, since a fold seldom asks for it.
    """

    conversation_id: UUID
    version: int
    event_id: bytes
    type: str
    schema_version: int
    recorded_at: int
    body: bytes | None

    def event(self) -> Event | Unrecognised | Erased:
        """Return what happened, as `RecordedEvent.event` does."""
        return _event(self.type, self.schema_version, self.body)


def _event(name: str, schema_version: int, body: bytes | None) -> Event | Unrecognised | Erased:
    return Erased(name) if body is None else decode(name, schema_version, body)


class Append(NamedTuple):
    """A request to append events to one conversation: all of them, or none.

    `expected_version` is what the writer believes the last version is; None takes any, where order
    does not matter. Where there is none, 0 begins at version 1, BEFORE_FIRST at version 0.
    """

    tenant: UUID
    conversation_id: UUID
    events: tuple[NewEvent, ...]
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The events are durable, at versions `first` to `last` and positions up to `position`."""

    first: int
    last: int
    position: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Each of the events was recorded before, at versions `first` to `last`; nothing changed."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """The conversation is at `current`, not where the writer believed; nothing changed."""

    current: int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Event number `ordinal` (from 0) bears an id or a name that stands for other content."""

    ordinal: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The conversation was forgotten, and takes nothing any more; nothing changed."""


@dataclass(frozen=True, slots=True)
class BlobMissing:
    """Blob number `ordinal` (from 0, over all events) is not stored here; nothing changed.

    It was never stored in this conversation, or was swept since: store it again, then append.
    """

    ordinal: int


Verdict = (
    Recorded | Duplicate | Conflict | Mismatch | Forgotten | BlobMissing | Refused | KeyDestroyed
)
"""What became of an Append."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in one shard of one incarnation of a log; `position` 0 is before the first event."""

    incarnation: UUID
    shard: int
    position: int


class CatalogueEntry(NamedTuple):
    """A line of the catalogue: one conversation, where it stands and when it last moved."""

    conversation_id: UUID
    head: Head
    started_at: int
    recorded_at: int


class NewSince(NamedTuple):
    """Where a conversation stands and what came after a version, as one read found both.

    `events` are the first ones that came, in order. `erasures` is how often something was erased in the
    log, of that `incarnation`: what was read under a lower number may be gone.
    """

    incarnation: UUID
    erasures: int
    head: Head
    events: list[RecordedEvent]

    @property
    def erasure_state(self) -> tuple[UUID, int]:
        """What differs where the log is another one, or where something was erased in it since."""
        return self.incarnation, self.erasures


class Subscription(Iterator[RecordedEvent], AbstractContextManager["Subscription"], Protocol):
    """Events from a cursor on, then each new one as it comes; ends when it is stopped."""

    @property
    def is_over(self) -> bool:
        """Whether it was stopped, or the store was closed."""
        ...

    def poll(self) -> RecordedEvent | None:
        """Return the next event; None where a moment's wait brought none, or it is over."""
        ...

    def stop(self) -> None:
        """End the iteration, from any thread."""
        ...


class Log(Protocol):
    """The events, in order."""

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        """Record what can be recorded, durably, and return a verdict for each request, in order.

        Only a StorageError is raised, and then nothing of any request is recorded: StorageReadOnly
        if one is for a conversation of another tenant, or mixes what is the operators' with others'.
        """
        ...

    def read(
        self,
        conversation_id: UUID,
        *,
        after: int = BEFORE_FIRST,
        until: int | None = None,
        limit: int | None = None,
    ) -> Iterator[RecordedEvent]:
        """Yield a conversation's events with after < version <= until, in order of version."""
        ...

    def first_events(self, conversation_ids: Sequence[UUID]) -> list[RecordedEvent]:
        """Return the events of version 1 of several conversations, in no order, at one go."""
        ...

    def tell(
        self, conversation_id: UUID, *, exchange: int = 0, until: int | None = None
    ) -> Iterator[Told]:
        """Yield what a fold takes of a conversation's events, in order of version.

        They are those up to version `until` from the prompt that opened an exchange on: none if
        it was not opened by then; from the first event on for exchange 0.
        """
        ...

    def read_log(self, after: Cursor, limit: int) -> list[RecordedEvent]:
        """Return at most `limit` events of a shard after a cursor, in order of position.

        Raises StaleCursor for a cursor of another incarnation.
        """
        ...

    def subscribe(self, after: Cursor, tenant: UUID | None = None) -> Subscription:
        """Return the events of a shard after a cursor, and those to come; of a `tenant`, its own."""
        ...

    def cursors(self) -> list[Cursor]:
        """Return the cursor of the last position of each shard."""
        ...

    def incarnation(self) -> UUID:
        """Return the incarnation of the log, as its latest answer found it; costs no more."""
        ...

    def head(self, conversation_id: UUID) -> Head:
        """Return where a conversation stands; an empty Head if it has not begun."""
        ...

    def new_since(self, conversation_id: UUID, after: int, limit: int) -> NewSince:
        """Return where a conversation stands, and at most `limit` events that came after a version."""
        ...

    def pointed(
        self, conversation_id: UUID, pointer: Pointer, until: int, limit: int
    ) -> list[RecordedEvent]:
        """Return the last events up to a version whose effect `points` so, the last one first."""
        ...

    def exchange_start(self, conversation_id: UUID, exchange: int) -> int:
        """Return the version of the prompt that opened an exchange; 0 if there is none such."""
        ...


class Catalogue(Protocol):
    """Which conversations there are, by the caller's names for them."""

    def open(self, tenant: UUID, key: str, conversation_id: UUID | None = None) -> UUID:
        """Return the id of the conversation of that key, made now if the key is new.

        `conversation_id` is the id to give to a new key: what an import brings has one already.
        ConversationForgotten if that was forgotten here, StorageReadOnly if it is another tenant's.
        """
        ...

    def find(self, tenant: UUID, key: str) -> UUID | None:
        """Return the id of the conversation of that key, or None."""
        ...

    def owner(self, conversation_id: UUID) -> UUID | None:
        """Return the tenant whose conversation it is, forgotten or not; None if it has not begun."""
        ...

    def conversations(self, tenant: UUID) -> Iterator[CatalogueEntry]:
        """Yield the conversations that have begun, the one that moved last first."""
        ...

    def open_conversations(self, tenant: UUID) -> list[UUID]:
        """Return the ids of those that have begun and are not closed; closed ones cost nothing."""
        ...


class Blobs(Protocol):
    """Large bytes, stored once in the conversation that owns them."""

    def put_blob(self, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes]) -> Blob:
        """Store bytes, durably, and return the reference; storing them again changes nothing.

        ConversationForgotten if that was forgotten, StorageReadOnly if it is another tenant's.
        """
        ...

    def get_blob(self, conversation_id: UUID, blob: Blob) -> Iterator[bytes]:
        """Yield the bytes of a blob in pieces of at most 1 MiB; CorruptRecord if it is missing."""
        ...

    def sweep_blobs(self, age: int) -> int:
        """Delete blobs that no event refers to and that were stored `age` microseconds ago, at least.

        The store's own clock tells their age, whatever the caller's says. Returns how many went.
        """
        ...


class Backend(Log, Catalogue, Blobs, Erasure, Protocol):
    """A store: the log, its catalogue, its blobs, and how they are erased and closed."""

    def digest(self, text: str) -> bytes:
        """Return the keyed digest (16 bytes) of a name that must not stand in clear."""
        ...

    def prover(self, tenant: UUID | None) -> Callable[[bytes], bytes] | None:
        """Return what proves a tenant's word, or the log's own; None where this role may not."""
        ...

    def clock(self) -> int:
        """Return the time by the clock that stamps events, in microseconds since 1970-01-01 UTC."""
        ...

    def actors(self) -> ActorDirectory:
        """Return the names of those who act."""
        ...

    def inventory(self) -> Inventory:
        """Return all that is stored, row by row, for `onrecord verify`."""
        ...

    def close(self) -> None:
        """Let go of files and connections; using the backend afterwards is an error."""
