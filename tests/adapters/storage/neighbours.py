"""Two tenants of one shard on PostgreSQL, each with a row in every table that has tenants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID, uuid4

import psycopg
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.storage.postgres.postgres import open_postgres
from onrecord.domain.actors import actor_id
from onrecord.domain.content import Blob
from onrecord.domain.marks.marked_ids import operators_of
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.workers import caught_up
from tests.factories import BECAUSE, TENANT, answer, prompt, tool_call

OURS: Final = TENANT
_KEPT: Final = """
SELECT c.relname, EXISTS (
    SELECT FROM pg_attribute AS a
    WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped)
FROM pg_class AS c
WHERE c.relnamespace = 'onrecord'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY c.relname
"""


@dataclass(frozen=True)
class Neighbour:
    """What one tenant has, by which it is known again wherever it appears."""

    tenant: UUID
    conversation: UUID
    incoming: UUID
    blob: Blob
    key: bytes
    word: str
    actor: bytes
    """The digest of who acts there, whose name is the word."""

    @property
    def actor_id(self) -> UUID:
        """What the name of who acts there is erased by."""
        return actor_id(self.tenant, self.actor)

    def marks(self) -> tuple[str, ...]:
        """How the ids, the digests and the words of this tenant look in any text form of a row."""
        things = (self.conversation, self.incoming, self.actor_id)
        ids = (self.tenant, operators_of(self.tenant), *things)
        return (
            *(str(one) for one in ids),
            *(one.hex for one in ids),
            self.key.hex(),
            self.actor.hex(),
            self.word,
            self.word.encode().hex(),
        )


def neighbour_of(url: str) -> UUID:
    """Return a tenant that comes into the shard of OURS."""
    shard = "SELECT abs(mod(hashtextextended(%s::text, 0), onrecord.shards()::bigint))"
    with psycopg.connect(url, autocommit=True) as connection:

        def of(tenant: UUID) -> object:
            return connection.execute(shard, (str(tenant),)).fetchone()

        return next(found for found in iter(uuid4, None) if of(found) == of(OURS))


def settled(url: str, tenant: UUID) -> Neighbour:
    """Return a tenant that has recorded, erased, tracked and stored something of every sort."""
    word = f"secret{tenant.hex[-6:]}x"
    with onrecord.connect(url, tenant=tenant, actor=word) as store:
        kept, gone = store.conversation(f"kept {word}"), store.conversation(f"gone {word}")
        kept.log.append(prompt(word), tool_call("c1"), answer(word))
        gone.user(word)
        store.forget(f"gone {word}", **BECAUSE)
    log = open_postgres(url)
    conversation = log.open(tenant, f"kept {word}")
    blob = log.put_blob(tenant, conversation, [word.encode()])
    incoming = uuid7()
    log.connections.ask("put_chunk", (tenant, conversation, incoming, 0, word.encode()))
    key, actor = log.digest(f"kept {word}"), log.digest(word)
    log.close()
    caught_up(url, VIEWS)
    _besides(url, tenant, conversation, word)
    return Neighbour(tenant, conversation, incoming, blob, key, word, actor)


def _besides(url: str, tenant: UUID, conversation: UUID, word: str) -> None:
    """What no verb of the store makes here: a snapshot, a tracking, a parked event, a sum, an own row."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO onrecord.snapshot VALUES (%s, %s, 1, 'topic', %s)",
            (tenant, conversation, word.encode()),
        )
        owner.execute("SELECT onrecord.track(%s, %s, 'application', 1)", (tenant, word))
        owner.execute(
            "INSERT INTO onrecord.parked SELECT 'window', 1, %s, %s, 0, 0, 1, 1, 'type', 'kind', %s, "
            "1, 0, NULL",
            (conversation, tenant, word),
        )
        owner.execute(
            "INSERT INTO onrecord.view_usage SELECT 1, %s, '2026-01-01', 'api', %s, 0, 0, '', NULL, "
            "1, 1, 1, 0, 0, 0",
            (tenant, word),
        )
        owner.execute(
            "INSERT INTO onrecord.view_own SELECT 'own', 1, %s, %s, %s, to_jsonb(%s::text)",
            (tenant, conversation, word, word),
        )


def kept(url: str, besides: UUID | None) -> dict[str, list[str]]:
    """Return every row of every table, but those of one tenant, as the owner sees them."""
    own = [] if besides is None else [besides, operators_of(besides)]
    with psycopg.connect(url, autocommit=True) as owner:
        return {table: list(_rows(owner, table, own if has else [])) for table, has in tables(url)}


def tables(url: str) -> list[tuple[str, bool]]:
    """Return every table of the log, and whether its rows are tenants'."""
    with psycopg.connect(url, autocommit=True) as owner:
        return [(table, has) for table, has in owner.execute(_KEPT).fetchall()]


def _rows(
    owner: psycopg.Connection[tuple[object, ...]], table: str, but: list[UUID]
) -> Iterator[str]:
    where = " WHERE tenant <> ALL (%s)" if but else ""
    query = f'SELECT t::text FROM onrecord."{table}" AS t{where} ORDER BY 1'
    for (row,) in owner.execute(query.encode(), (but,) if but else ()).fetchall():
        yield sha256(str(row).encode()).hexdigest() if len(str(row)) > 5_000 else str(row)
