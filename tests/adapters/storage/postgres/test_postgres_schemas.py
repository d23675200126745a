"""Two logs in one database are apart: each is a schema of its own, whatever the schema is called."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import LiteralString, NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.sql import SQL, Identifier

import onrecord
from onrecord.adapters.storage.postgres.connections import address_of, connected
from onrecord.adapters.storage.postgres.postgres import Postgres, is_there, migrate, open_postgres
from onrecord.adapters.storage.queries import load_migrations, load_queries, lock_of
from onrecord.domain.errors import ForeignDatabase, InvalidInput
from onrecord.domain.log import Forgotten, Recorded
from onrecord.projections.views.audit import AUDIT
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.workers import caught_up, chat
from tests.awaited import appended
from tests.factories import TENANT, appending, prompt, raw_event
from tests.patience import PATIENCE, until
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.postgres_sessions import never_poll, shard_of

VERSION = VERSIONS[-1]
OTHER = "support_2"
LISTENERS = """
SELECT classid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND mode = 'ShareLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
ROLE = "onrecord_visitor"
LOCKS: dict[str, LiteralString] = {
    "shard": "SELECT FROM onrecord.shard_lock FOR UPDATE",
    "migration": "LOCK TABLE onrecord.migration IN EXCLUSIVE MODE",
    "erasure": "LOCK TABLE onrecord.erasure IN EXCLUSIVE MODE",
}


class Logs(NamedTuple):
    """The log in the schema `onrecord`, the one beside it, and their URLs."""

    one: Postgres
    other: Postgres
    url: str
    beside: str


@pytest.fixture
def logs() -> Iterator[Logs]:
    url = fresh_log(VERSION)
    beside = in_schema(url, OTHER)
    with ExitStack() as stack:
        stack.callback(server(VERSION).drop, url)
        one = stack.enter_context(closing(open_postgres(url)))
        yield Logs(one, stack.enter_context(closing(open_postgres(beside))), url, beside)


def in_schema(url: str, schema: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}schema={schema}"


def asked(url: str, query: str, *parameters: object) -> list[tuple[object, ...]]:
    """What a query answers, `{log}` standing for the schema of the URL."""
    with connected(address_of(url)) as connection:
        filled_in = query.replace("{log}", connection.schema).encode()
        return connection.execute(filled_in, parameters).fetchall()


def test_an_event_of_one_is_not_in_the_other(logs: Logs) -> None:
    conversation = uuid4()
    for log, body in ((logs.one, b'"here"'), (logs.other, b'"there"')):
        (verdict,) = log.append([appending(conversation, raw_event(body=body))])
        assert verdict == Recorded(1, 1, 1)
    assert [event.body for event in logs.one.read(conversation)] == [b'"here"']
    assert [event.body for event in logs.other.read(conversation)] == [b'"there"']
    assert logs.one.incarnation() != logs.other.incarnation()
    assert logs.one.digest("key") != logs.other.digest("key")
    assert logs.one.open(TENANT, "support/1") != logs.other.open(TENANT, "support/1")


async def appended_async(log: Postgres, conversation: UUID) -> object:
    return (await appended(log, [appending(conversation, raw_event())]))[0]


def test_coroutines_append_to_the_log_that_is_theirs(logs: Logs) -> None:
    import asyncio

    conversation = uuid4()
    assert asyncio.run(appended_async(logs.other, conversation)) == Recorded(1, 1, 1)
    assert list(logs.one.read(conversation)) == []
    assert len(list(logs.other.read(conversation))) == 1


def test_erasing_in_one_leaves_the_other(logs: Logs) -> None:
    conversation = uuid4()
    for log in (logs.one, logs.other):
        log.append([appending(conversation, raw_event(body=b'"said"'))])
        blob = log.put_blob(TENANT, conversation, [b"a report"])
    assert logs.other.forget(conversation) == 1
    assert [event.body for event in logs.one.read(conversation)] == [b'"said"']
    assert b"".join(logs.one.get_blob(conversation, blob)) == b"a report"
    assert [event.body for event in logs.other.read(conversation)] == [None]
    assert logs.other.append([appending(conversation, raw_event())]) == [Forgotten()]
    assert (logs.one.erasures(), logs.other.erasures()) == (0, 1)


def test_an_erasure_in_one_cannot_change_events_of_the_other(logs: Logs) -> None:
    logs.one.append([appending(uuid4(), raw_event())])
    with (
        psycopg.connect(logs.url) as connection,
        pytest.raises(errors.ObjectNotInPrerequisiteState),
    ):
        connection.execute("SELECT set_config(%s, 'on', true)", (f"{OTHER}.erasing",))
        connection.execute("UPDATE onrecord.event SET salt = NULL, body = NULL")


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_of_one_holds_nobody_up_in_the_other(logs: Logs, lock: str) -> None:
    with psycopg.connect(logs.url) as holder:
        holder.execute(LOCKS[lock])
        conversation = uuid4()
        (verdict,) = logs.other.append([appending(conversation, prompt())])
        assert isinstance(verdict, Recorded)
        assert migrate(logs.beside) == 0
        caught_up(logs.beside, {"audit": AUDIT})
        assert logs.other.forget(conversation) == 1


def test_views_and_their_workers_are_a_log_s_own(logs: Logs) -> None:
    chat(logs.one, [uuid4()], 2)
    chat(logs.other, [uuid4()], 3)
    caught_up(logs.beside, {"audit": AUDIT})
    count = "SELECT count(*) FROM {log}.view_audit"
    assert asked(logs.url, count) == [(0,)]
    assert asked(logs.beside, count) == [(3,)]
    assert asked(logs.url, "SELECT count(*) FROM {log}.generation") == [(0,)]


def test_a_hint_reaches_the_readers_of_its_log_alone(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_poll(monkeypatch)
    shard = shard_of(logs.other)
    after = next(cursor for cursor in logs.other.cursors() if cursor.shard == shard)
    with closing(open_postgres(logs.beside)) as reader, ThreadPoolExecutor(1) as pool:
        subscription = reader.subscribe(after)
        heard = pool.submit(next, iter(subscription))
        until(lambda: asked(logs.url, LISTENERS) == [(lock_of(OTHER),)], "the listener")
        logs.other.append([appending(uuid4(), raw_event(body=b'"heard"'))])
        assert heard.result(PATIENCE).body == b'"heard"'


def test_a_role_is_let_into_one_log_only(logs: Logs, request: pytest.FixtureRequest) -> None:
    server(VERSION).execute("CREATE ROLE {} LOGIN", ROLE)
    request.addfinalizer(lambda: server(VERSION).execute("DROP ROLE {}", ROLE))
    request.addfinalizer(lambda: _disowned(logs.url))
    asked(logs.beside, "SELECT {log}.admit($1)", ROLE)
    with closing(open_postgres(as_role(logs.beside, ROLE))) as guest:
        (verdict,) = guest.append([appending(uuid4(), raw_event())])
        assert isinstance(verdict, Recorded)
    with (
        psycopg.connect(as_role(logs.url, ROLE)) as stranger,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        stranger.execute("SELECT count(*) FROM onrecord.event")


def _disowned(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SQL("DROP OWNED BY {}").format(Identifier(ROLE)))


def test_a_store_is_opened_by_the_schema_in_its_url(logs: Logs, tmp_path: Path) -> None:
    with closing(onrecord.connect(logs.beside)) as store:
        store.conversation("support/4711").user("Where is my parcel?")
        assert f"schema={OTHER}" in repr(store)
        assert [found.key for found in store.conversations()] == ["support/4711"]
    with closing(onrecord.connect(logs.url)) as store:
        assert list(store.conversations()) == []


def test_a_schema_that_is_not_there_is_not_made_by_looking(logs: Logs) -> None:
    assert is_there(logs.beside)
    assert not is_there(in_schema(logs.url, "nobody_s"))
    assert asked(logs.url, "SELECT to_regnamespace('nobody_s')") == [(None,)]


def test_a_schema_of_another_program_is_left_alone(logs: Logs) -> None:
    with psycopg.connect(logs.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA parliament CREATE TABLE speech (text text)")
    with pytest.raises(ForeignDatabase, match="`parliament`"):
        open_postgres(in_schema(logs.url, "parliament"))


REFUSED = ["", "Upper", "a-b", "a.b", "1st", "pg_mine", "public", "x" * 64, 'a"b', "a;b", "a'b"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_would_need_quotes_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="schema in the URL"):
        address_of(f"postgresql://me@host/db?schema={name}")


def test_a_word_of_sql_is_refused_where_a_log_is_to_be_made(logs: Logs) -> None:
    with pytest.raises(InvalidInput, match="word of SQL"):
        migrate(in_schema(logs.url, "table"))
    with pytest.raises(InvalidInput, match="word of SQL"):
        open_postgres(in_schema(logs.url, "table"))


@pytest.mark.parametrize(
    ("url", "rest"),
    [
        ("postgresql://me@host/db?schema=mine", "postgresql://me@host/db"),
        ("postgresql://me@host/db?schema=mine&port=1", "postgresql://me@host/db?port=1"),
        ("postgresql://me@host/db?port=1&schema=mine", "postgresql://me@host/db?port=1"),
    ],
)
def test_the_rest_of_the_url_is_libpq_s(url: str, rest: str) -> None:
    assert address_of(url) == address_of(rest)._replace(schema="mine")


def test_no_sql_names_a_schema_but_by_its_placeholder() -> None:
    of_another = "\n".join(
        [
            *load_queries("postgres", "elsewhere").values(),
            *(step.sql for step in load_migrations("postgres", "elsewhere")),
        ]
    )
    assert "elsewhere.event" in of_another
    assert re.findall(r"\bonrecord\b|\{log\}|\{lock\}", of_another) == []
