"""A text that is planted in every kind of content is found nowhere once its subject is erased."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, LiteralString, cast
from uuid import UUID

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from redis import Redis
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.redis import connection
from onrecord.adapters.redis.tails import tail_key
from onrecord.adapters.store import backend_of, tenancy_of
from onrecord.adapters.transfer.evidence import Scope
from onrecord.adapters.transfer.export import export
from onrecord.domain import events, items
from onrecord.domain.content import Blob, Document, Native, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.log import Recorded
from tests import redis_server
from tests.adapters.transfer.bundles import Sealed
from tests.adapters.wire.spooled_events import FULL
from tests.contract.places import prepared
from tests.factories import TENANT, appending, prompt
from tests.patience import PATIENCE
from tests.postgres_places import PostgresPlace
from tests.postgres_server import VERSIONS, server

ANN = "canary-subject-4711"
LONG = 3 * 1024 * 1024
"""More bytes than stand in an event: they are moved to blobs."""


TABLES: Final = "SELECT schemaname, tablename FROM pg_tables"
STATISTICS: Final = "SELECT schemaname, viewname FROM pg_views WHERE viewname ~ '^pg_stat'"
"""What a server tells of tables and of sessions: pg_stats, pg_stat_activity, pg_stat_statements if it is there."""


def planted(kind: str) -> str:
    return f"canary-{kind}-4711"


def every_kind(key: str, blob: Blob) -> list[events.Event]:
    """Events that hold the canary wherever somebody's words may stand."""
    response, native = uuid7(), {"type": "text", "text": planted("native")}
    result = ToolResult(call_id="c1", content=(Text(text=planted("result")),))
    document = Document(media_type="text/plain", name=planted("name"), blob=blob)
    return [
        events.ConversationStarted(key=key),
        events.InstructionsSet(content=planted("system")),
        events.MessageRecorded(role="user", content=(Text(text=planted("prompt")),)),
        events.MessageRecorded(
            role="assistant",
            content=(Native(api="anthropic-messages", value=native),),
            response=response,
            index=0,
        ),
        events.ReasoningRecorded(
            response=response, index=1, content=Reasoning(text=planted("reasoning"))
        ),
        events.ToolCallRecorded(
            call_id="c1",
            name="look_up",
            content=ToolCall(id="c1", name="look_up", arguments={"of": planted("argument")}),
        ),
        events.ToolResultRecorded(call_id="c1", content=result),
        events.DocumentExtracted(document=document),
        events.ResponseCompleted(
            response=response,
            api="anthropic-messages",
            envelope={"metadata": {"of": planted("metadata")}},
        ),
        events.AnnotationAdded(labels={"about": planted("label")}),
        items.ItemRecorded(framework="adk", item={"said": planted("item")}),
        items.StatePut(framework="adk", key=planted("state-key"), value=planted("state")),
        items.StatePut(framework="adk", key="title", value=planted("title")),
    ]


KINDS = (
    *("key", "system", "prompt", "native", "reasoning", "argument", "result", "name", "document"),
    *(
        "metadata",
        "label",
        "item",
        "state-key",
        "state",
        "title",
        "long",
        "spool",
        "subject",
    ),
)


def found_in(data: bytes) -> set[str]:
    """Which canaries some bytes hold, as they are or in base64, wherever it begins."""
    return {kind for kind in KINDS if any(form in data for form in forms(planted(kind)))}


def forms(text: str) -> list[bytes]:
    raw = text.encode()
    padded = (base64.b64encode(bytes(shift) + raw)[4:-4] for shift in (0, 1, 2))
    return [raw, raw.hex().encode(), *padded]


@pytest.fixture(params=("sqlite", f"postgres-{VERSIONS[-1]}"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    yield from prepared(request.param, tmp_path)


def opened(place: Any, folder: Path) -> onrecord.Store:
    kek = folder / "kek"
    if not kek.exists():
        new_key_file(kek)
    url = place.url if isinstance(place, PostgresPlace) else f"sqlite:///{folder / 'talks.db'}"
    keys, redis = folder / "keys.db", redis_url()
    return onrecord.connect(url, tenant=TENANT, actor="eve", redis=redis, keys=keys, kek=kek)


def redis_url() -> str:
    return redis_server.GIVEN or redis_server.server().network_url


def told_by_redis(store: onrecord.Store) -> bytes:
    """All that Redis holds of a log: the tails of its shards."""
    found: list[Any] = []
    with closing(cast("Any", Redis).from_url(redis_url())) as client:
        for cursor in store.cursors():
            found += client.xrange(tail_key(cursor.incarnation, cursor.shard))
    return b"\0".join(value for _, fields in found for value in fields.values())


def plant(store: onrecord.Store) -> UUID:
    """Record and leave in the spool what a subject said, in every kind of content."""
    log, key = backend_of(store), planted("key")
    own = log.open(TENANT, key)
    blob = log.put_blob(TENANT, own, [planted("document").encode()])
    begun = appending(own, *every_kind(key, blob))
    about = tuple(event._replace(subjects=(ANN,)) for event in begun.events)
    (verdict,) = log.append([begun._replace(events=about)])
    assert isinstance(verdict, Recorded)
    store.conversation(key).user(planted("long") * (LONG // 16))
    late = PendingAppend(appending(own, prompt(planted("spool"))), {})
    with warnings.catch_warnings(action="ignore"):
        tenancy_of(store).spool.put(late, FULL)
    return own


def everything(place: Any, folder: Path) -> bytes:
    """All bytes that a store has anywhere: files, and on a server all rows and statistics."""
    found = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return b"\0".join([*found, told_by_server(place, TABLES), told_by_server(place, STATISTICS)])


def told_by_server(place: Any, names: LiteralString) -> bytes:
    """All rows of tables and views, as text; nothing of what is no server."""
    if not isinstance(place, PostgresPlace):
        return b""
    found: list[bytes] = []
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        for schema, table in connection.execute(names).fetchall():
            reading = SQL("SELECT t::text FROM {}.{} AS t")
            rows = connection.execute(reading.format(Identifier(schema), Identifier(table)))
            found += [str(row).encode() for row in rows.fetchall()]
    return b"\0".join(found)


def files_of_server(place: Any) -> bytes:
    """All bytes of a server's own files, its write-ahead log among them."""
    if not isinstance(place, PostgresPlace):
        return b""
    carried = server(place.version).carried
    assert carried is not None
    data = Path(carried.pgdata)
    return b"\0".join(path.read_bytes() for path in data.rglob("*") if path.is_file())


def test_an_erased_subject_is_found_in_no_file_and_no_table(
    place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setattr(connection, "ANSWER_SECONDS", PATIENCE)
    with opened(place, tmp_path) as store:
        relay = store.relay()
        assert relay is not None
        assert relay.step()
        own = plant(store)
        assert relay.step()
        assert len(told_by_redis(store)) > len(KINDS) * 100
        exported = b"".join(store.subjects.export(ANN))
        # All of it is there, and readable, before it is erased: else the test would show nothing.
        assert found_in(exported) >= set(KINDS) - {"spool", "subject"}
        assert any((tmp_path / "spool").rglob("*.*"))
        sealed = Sealed(store, backend_of(store), tmp_path / "seals")
        sealed.seal()
        (tmp_path / "evidence").write_bytes(sealed.evidence(Scope(TENANT)))
        (tmp_path / "export").write_bytes(b"".join(export(backend_of(store), own, None)))
        # A server tells the last statement of each session, and none of this one holds a text.
        assert found_in(told_by_server(place, STATISTICS) + told_by_redis(store)) == set()
        certificate = store.subjects.erase(ANN, reason="asked to", rule="GDPR 17(1)(a)")
        assert certificate.conversations == 1
        assert ANN not in str(certificate.document())
        assert all(event.body is None for event in backend_of(store).read(own))
        assert store.verify().is_whole
        store.sweep()
        relay.step()
        assert found_in(told_by_redis(store)) == set()
        assert store.verify().is_whole
    assert found_in(everything(place, tmp_path)) == set()
    assert found_in(files_of_server(place)) == set()


def test_the_search_finds_what_is_not_encrypted(tmp_path: Path) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}", tenant=TENANT) as store:
        store.conversation(planted("key")).user(planted("prompt"))
    assert found_in(everything(None, tmp_path)) == {"key", "prompt"}
