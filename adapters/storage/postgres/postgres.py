"""The log on PostgreSQL: every verb is one statement, and what it means is in sql/."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8
from uuid_utils.compat import uuid7

from onrecord.adapters.storage.append import Digested, Proof, keyed_digest, must_take_clear, pieces
from onrecord.adapters.storage.interrupts import begin_anew_in_children, releasing
from onrecord.adapters.storage.postgres import batch, blobs, schema
from onrecord.adapters.storage.postgres.actors import PostgresActors
from onrecord.adapters.storage.postgres.async_appends import AsyncAppends
from onrecord.adapters.storage.postgres.async_connections import AsyncConnections
from onrecord.adapters.storage.postgres.batch import head_of, packed, parameters_of, verdict_of
from onrecord.adapters.storage.postgres.connections import (
    Address,
    Connections,
    address_of,
    connected,
    direct,
)
from onrecord.adapters.storage.postgres.event_loops import Connecting
from onrecord.adapters.storage.postgres.group_commit import GroupCommit
from onrecord.adapters.storage.postgres.hints import PostgresHints
from onrecord.adapters.storage.postgres.inventory import PostgresInventory, Residue
from onrecord.adapters.storage.steps import LoopSteps, each_beside_loop, is_driven, wait_for
from onrecord.adapters.storage.subscription import (
    Hints,
    PollingSubscription,
    Wakeups,
    must_be_current,
    owned_by,
)
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import KeyedBytes
from onrecord.domain.head import Head, Pointer
from onrecord.domain.log import (
    BEFORE_FIRST,
    Append,
    CatalogueEntry,
    Cursor,
    NewSince,
    RecordedEvent,
    Subscription,
    Told,
    Verdict,
)

_LAST: Final = 2**63 - 1
_PAGE: Final = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """How a process uses its server.

    At most `connections` are open at once, and a verb waits for one at most `wait` seconds.
    `prepared` statements save the server the planning of each call. They live in a connection of
    the server, so behind PgBouncer in transaction mode they need its max_prepared_statements
    (1.21 or newer); set it to False for an older one. `listen` is the URL at which subscriptions
    hear of other processes' appends, where `url` is a pooler's: it must lead to the server itself.
    """

    connections: int = 10
    wait: float = 10.0
    prepared: bool = True
    listen: str | None = None


DEFAULT_LIMITS: Final = Limits()


def open_postgres(
    url: str, limits: Limits = DEFAULT_LIMITS, new_hints: Callable[[], Hints] | None = None
) -> Postgres:
    """Return the log in a schema of a database, made there if there is none.

    `url` is what libpq takes, postgresql://user@host/database; its parameter `schema` names the
    schema where that is not `onrecord`. `new_hints` makes, once a process,
    what tells other processes of appends; by default PostgreSQL itself does. Raises
    StorageUnavailable, StorageReadOnly, ForeignDatabase, SchemaOlder or SchemaNewer, each saying
    what to do.
    """
    address = address_of(url)
    with connected(address) as connection:
        schema.ready(connection)
    return Postgres(address, limits, new_hints)


def is_there(url: str) -> bool:
    """Return whether a database holds a log; nothing is made in it."""
    with connected(address_of(url)) as connection:
        return schema.is_there(connection)


def migrate(url: str) -> int:
    """Bring the schema of a database to this release's and return how many steps that took."""
    with connected(address_of(url)) as connection:
        return schema.migrate(connection)


class Postgres:
    """A log, a catalogue and blobs in a database. Safe for threads; a forked child opens anew.

    `connections` and `wakeups` are for what shares the database: the `eventsourcing` recorders.
    """

    connections: Connections
    wakeups: Wakeups
    _group: GroupCommit
    _async_appends: AsyncAppends
    _async_connections: AsyncConnections

    def __init__(
        self, address: Address, limits: Limits, new_hints: Callable[[], Hints] | None = None
    ) -> None:
        """Use a database whose schema is ready; open_postgres() sees to that."""
        self._address = address
        self._limits = limits
        self._new_hints = new_hints or self._own_hints
        self.steps: Final = LoopSteps()
        self._residue = Residue()
        self._inherited: list[object] = []
        self._begin()
        _OPEN.add(self)

    @releasing
    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        """Record what can be recorded and return a verdict for each request, in order.

        What other threads append meanwhile may share the commit, or other coroutines of the loop that
        drives this; each has its own verdict.
        """
        if not appends:
            return []
        requests = packed(appends, self.digest)
        if is_driven():
            rows = wait_for(self._async_appends.commit(requests))
        else:
            rows = self._group.commit(requests)
        self.wakeups.appended()
        return [verdict_of(row) for row in rows]

    @property
    def waiting(self) -> int:
        """How many threads wait for a commit to share that has not begun: what a gauge shows."""
        return self._group.waiting

    def read(
        self,
        conversation_id: UUID,
        *,
        after: int = BEFORE_FIRST,
        until: int | None = None,
        limit: int | None = None,
    ) -> Iterator[RecordedEvent]:
        """Yield a conversation's events with after < version <= until, in order of version."""
        last = _LAST if until is None else until
        left = _LAST if limit is None else limit
        while left > 0:
            page = min(left, _PAGE)
            events = self._events("read", conversation_id, Int8(after), Int8(last), Int8(page))
            yield from events
            if len(events) < page:
                return
            after, left = events[-1].version, left - page

    def first_events(self, conversation_ids: Sequence[UUID]) -> list[RecordedEvent]:
        """Return the events of version 1 of several conversations, by one query."""
        return self._events("first_events", list(conversation_ids))

    def tell(
        self, conversation_id: UUID, *, exchange: int = 0, until: int | None = None
    ) -> Iterator[Told]:
        """Yield what a fold takes of a conversation's events, from an exchange on."""
        after, last = BEFORE_FIRST, _LAST if until is None else until
        while True:
            place = (conversation_id, Int8(exchange), Int8(after), Int8(last), Int8(_PAGE))
            rows = self.connections.ask("tell", place)
            yield from map(Told._make, rows)
            if len(rows) < _PAGE:
                return
            exchange, after = 0, rows[-1][1]

    def read_log(self, after: Cursor, limit: int) -> list[RecordedEvent]:
        """Return at most `limit` events of a shard after a cursor, in order of position."""
        events = self._events("read_log", after.shard, Int8(after.position), Int8(limit))
        # A page that begins right behind the cursor is proof that the cursor was reached here.
        last = after.position if events else self._last_position(after.shard)
        must_be_current(after, Cursor(self.connections.incarnation(), after.shard, last))
        return events

    def subscribe(self, after: Cursor, tenant: UUID | None = None) -> Subscription:
        """Return the events of a shard after a cursor, those to come included."""
        ends = {end.shard: end for end in self.cursors()}
        must_be_current(
            replace(after, position=0), ends.get(after.shard) or next(iter(ends.values()))
        )
        self.read_log(after, 1)
        wanted = owned_by(tenant, self.owner)
        return PollingSubscription(self.read_log, after, self.wakeups, wanted)

    def cursors(self) -> list[Cursor]:
        """Return the cursor of the last position of each shard."""
        rows = self.connections.ask("last_positions")
        incarnation = self.connections.incarnation()
        return [Cursor(incarnation, shard, position) for shard, position in rows]

    def incarnation(self) -> UUID:
        """Return the incarnation of the log, as the newest connection found it."""
        return self.connections.incarnation()

    def head(self, conversation_id: UUID) -> Head:
        """Return where a conversation stands; an empty Head if it has not begun."""
        rows = self.connections.ask("head", (conversation_id,))
        return head_of(rows[0]) if rows else Head()

    def new_since(self, conversation_id: UUID, after: int, limit: int) -> NewSince:
        """Return where a conversation stands, and at most `limit` events that came after a version."""
        rows = self.connections.ask("progress", (conversation_id, Int8(after), Int8(limit)))
        return batch.new_since_of(rows, self.connections.incarnation())

    def pointed(
        self, conversation_id: UUID, pointer: Pointer, until: int, limit: int
    ) -> list[RecordedEvent]:
        """Return the last events up to a version whose effect `points` so, the last one first."""
        return self._events("pointed", conversation_id, pointer, Int8(until), Int8(limit))

    def exchange_start(self, conversation_id: UUID, exchange: int) -> int:
        """Return the version of the prompt that opened an exchange; 0 if there is none such."""
        rows = self.connections.ask("exchange_start", (conversation_id, Int8(exchange)))
        return int(rows[0][0]) if rows else 0

    def open(self, tenant: UUID, key: str, conversation_id: UUID | None = None) -> UUID:
        """Return the id of the conversation of that key, made now if the key is new."""
        known = self.find(tenant, key)
        if known is not None:
            return known
        place = (tenant, self.digest(key), conversation_id or uuid7())
        return _uuid(self.connections.ask("open_conversation", place))

    def find(self, tenant: UUID, key: str) -> UUID | None:
        """Return the id of the conversation of that key, or None."""
        rows = self.connections.ask("find_conversation", (tenant, self.digest(key)))
        return _uuid(rows) if rows else None

    def owner(self, conversation_id: UUID) -> UUID | None:
        """Return the tenant whose conversation it is; None if it has not begun."""
        rows = self.connections.ask("owner", (conversation_id,))
        return _uuid(rows) if rows else None

    def conversations(self, tenant: UUID) -> Iterator[CatalogueEntry]:
        """Yield the conversations that have begun, the one that moved last first."""
        for *head, conversation_id, started_at, recorded_at in self.connections.ask(
            "conversations", (tenant,)
        ):
            yield CatalogueEntry(conversation_id, head_of(tuple(head)), started_at, recorded_at)

    def open_conversations(self, tenant: UUID) -> list[UUID]:
        """Return the conversations that have begun and are not closed, by their ids."""
        return [
            conversation_id
            for (conversation_id,) in self.connections.ask("open_conversations", (tenant,))
        ]

    def put_blob(self, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes]) -> Blob:
        """Store bytes, durably, and return the reference; storing them again changes nothing."""
        must_take_clear(self.is_encrypted())
        digested = Digested(each_beside_loop(pieces(chunks)))
        return blobs.put(self.connections, tenant, conversation_id, digested, digested.blob)

    def put_keyed_blob(self, tenant: UUID, conversation_id: UUID, stored: KeyedBytes) -> KeyedBlob:
        """Store the bytes of an encrypted blob, durably, and return where they stand."""
        arriving = each_beside_loop(pieces(stored))
        return blobs.put(self.connections, tenant, conversation_id, arriving, stored.address)

    def get_blob(self, conversation_id: UUID, blob: Blob | KeyedBlob) -> Iterator[bytes]:
        """Yield the bytes of a blob in pieces of at most 1 MiB."""
        yield from blobs.get(self.connections, conversation_id, blob)

    def sweep_blobs(self, age: int) -> int:
        """Delete blobs that no event refers to and that were stored so long ago, at least."""
        return int(self.connections.ask("sweep_blobs", (Int8(age),))[0][0])

    def is_encrypted(self) -> bool:
        """Return whether the log is marked as encrypted."""
        return bool(self.connections.ask("is_encrypted")[0][0])

    def may_mark(self) -> bool:
        """Return whether the role that connected may mark the log."""
        return bool(self.connections.ask("may_mark")[0][0])

    def mark_encrypted(self) -> bool:
        """Mark the log as encrypted, unless its conversations are in clear; return whether it is."""
        return bool(self.connections.ask("mark_encrypted")[0][0])

    def clock(self) -> int:
        """Return the server's time, in microseconds since 1970-01-01 UTC."""
        return int(self.connections.ask("clock")[0][0])

    def forget(self, conversation_id: UUID) -> int:
        """Erase bodies, salts, blobs and the key of a conversation; return how many events."""
        return int(self.connections.ask("forget", (conversation_id,))[0][0])

    def may_forget(self) -> bool:
        """Return whether the role that connected may erase."""
        return bool(self.connections.ask("may_forget")[0][0])

    def residue(self) -> tuple[str, ...]:
        """Say where bytes that were erased may still be on the disk, and what to do."""
        return self._residue.sentences(self.connections)

    def rewrite(self) -> tuple[str, ...]:
        """Write the tables anew, as far as this role may, if something was erased since."""
        return self._residue.write_anew(direct(self._address, self._limits.listen))

    def erasures(self) -> int:
        """Return how often something was erased."""
        return int(self.connections.ask("erasures")[0][0])

    def erased(self, after: int) -> list[UUID]:
        """Return the conversations of the erasures that come after so many, in order."""
        return [
            conversation_id for (conversation_id,) in self.connections.ask("erased", (Int8(after),))
        ]

    def digest(self, text: str) -> bytes:
        """Return the keyed digest (16 bytes) of a name that must not stand in clear."""
        return keyed_digest(self.connections.identity().digest_key, text)

    def prover(self, tenant: UUID | None) -> Proof | None:
        """Return what proves a tenant's word, or the log's own; None where this role may not."""
        return self.connections.identity().prover(tenant)

    def actors(self) -> PostgresActors:
        """Return the names of those who act."""
        return PostgresActors(self.connections)

    def inventory(self) -> PostgresInventory:
        """Return all that is stored, row by row."""
        return PostgresInventory(self.connections)

    def close(self) -> None:
        """End all subscriptions and close the connections; using it afterwards is an error."""
        self.wakeups.close()
        self._async_appends.close()
        self._async_connections.close()
        self.connections.close()

    def begin_anew(self) -> None:
        """Leave the connections to the process that opened them: what a forked child does first."""
        self._inherited += (self.connections, self._async_appends, self._async_connections)
        self._begin()

    def _begin(self) -> None:
        self.connections = Connections(
            self._address,
            most=self._limits.connections,
            wait=self._limits.wait,
            prepared=self._limits.prepared,
        )
        self.wakeups = Wakeups(self._new_hints())
        self._group = GroupCommit(self._ask_appends)
        threshold = 0 if self._limits.prepared else None
        introduced = self.connections.introduced
        connecting = Connecting(self._address, self._limits.wait, threshold, introduced)
        self._async_appends = AsyncAppends(connecting)
        self._async_connections = AsyncConnections(connecting, most=self._limits.connections)
        self.connections.in_loops = self._async_connections.ask

    def _own_hints(self) -> Hints:
        return PostgresHints(self.connections, direct(self._address, self._limits.listen))

    def _ask_appends(self, requests: Sequence[bytes]) -> list[TupleRow]:
        return self.connections.ask("append", parameters_of(requests))

    def _events(self, name: str, *parameters: object) -> list[RecordedEvent]:
        return list(map(RecordedEvent._make, self.connections.ask(name, parameters)))

    def _last_position(self, shard: int) -> int:
        return int(self.connections.ask("last_position", (shard,))[0][0])


_OPEN: Final[weakref.WeakSet[Postgres]] = weakref.WeakSet()
begin_anew_in_children(_OPEN)


def _uuid(rows: list[TupleRow]) -> UUID:
    value = rows[0][0]
    assert isinstance(value, UUID)
    return value
