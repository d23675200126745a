"""A key store on PostgreSQL: what it is refused for, who may use it, and what a server's end does to it."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.encryption.postgres.key_store import open_postgres_keys
from onrecord.adapters.encryption.postgres.schema import DatabasePlace
from onrecord.domain.encryption.wrapped import DestroyedKey, Rewrapping, Wrapped
from onrecord.domain.errors import (
    ForeignDatabase,
    InvalidInput,
    OnrecordError,
    SchemaNewer,
    SchemaUnreleased,
    StorageBusy,
    StorageReadOnly,
    StorageUnavailable,
)
from tests.adapters.encryption.conftest import empty_database
from tests.adapters.encryption.places import LOG, key
from tests.postgres_places import fresh_log
from tests.postgres_server import GUARDED, VERSIONS, server

VERSION = VERSIONS[-1]
RUNTIME = "onrecord_keys_runtime"


@pytest.fixture
def url() -> Iterator[str]:
    database = empty_database(VERSION)
    yield database
    server(VERSION).drop(database)


def run(url: str, statement: str) -> list[tuple[object, ...]]:
    """Run SQL as the superuser, and return its rows."""
    with psycopg.connect(url, autocommit=True) as by_hand:
        cursor = by_hand.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def of(url: str, role: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}user={role}"


@contextmanager
def runtime_role() -> Generator[str]:
    server(VERSION).execute("CREATE ROLE {} LOGIN", RUNTIME)
    yield RUNTIME
    server(VERSION).execute("DROP ROLE {}", RUNTIME)


FILES = """SELECT coalesce(string_agg(encode(pg_read_binary_file(pg_relation_filepath(c.oid)), 'hex'), ''), '')
FROM pg_class c WHERE c.relnamespace = 'onrecord_keys'::regnamespace AND c.relkind IN ('r', 'i')"""


def is_in_a_file(url: str, data: bytes) -> bool:
    """Whether bytes are in a file of a table or an index of the key store."""
    run(url, "CHECKPOINT")
    return data.hex() in str(run(url, FILES)[0][0])


def test_no_bytes_of_a_key_that_was_destroyed_or_replaced_are_left_in_its_tables(url: str) -> None:
    with closing(open_postgres_keys(url, LOG, wait=0.2)) as keys:
        for number in range(60):
            keys.add(key(number))
        gone, replaced, stays = key(7), key(8), key(9)
        keys.destroy(gone.key_id, 1)
        keys.replace([Rewrapping(replaced.key_id, replaced.wrapped, Wrapped("g1", b"anew"))])
        run(url, "ANALYZE onrecord_keys.subject_key")
        assert is_in_a_file(url, gone.subject)
        with psycopg.connect(url) as reader:
            reader.execute("SELECT * FROM onrecord_keys.subject_key")
            with pytest.raises(StorageBusy):
                keys.scrub()
        keys.scrub()
        found = [is_in_a_file(url, each.wrapped.data) for each in (gone, replaced, stays)]
        assert found == [False, False, True]
        assert not is_in_a_file(url, gone.subject)
        samples = "SELECT attname FROM pg_stats WHERE attname IN ('subject', 'wrapped')"
        assert run(url, samples) == []
        assert keys.get(stays.key_id) == stays


def test_a_role_that_its_owner_let_in_reads_and_uses_the_verbs_and_has_no_other_right(
    url: str,
) -> None:
    with runtime_role() as role:
        with pytest.raises(StorageReadOnly, match=r"onrecord_keys\.admit"):
            open_postgres_keys(of(url, role), LOG)
        open_postgres_keys(url, LOG).close()
        with pytest.raises(StorageReadOnly, match=r"onrecord_keys\.admit"):
            open_postgres_keys(of(url, role), LOG)
        run(url, f"SELECT onrecord_keys.admit('{role}')")
        elsewhere = DatabasePlace(server=1, database=1)
        with closing(open_postgres_keys(of(url, role), LOG, elsewhere)) as keys:
            keys.add(key(1))
            keys.add(key(2))
            assert keys.destroy("id-1", 5) == DestroyedKey("id-1", 5)
            keys.close_generation("g0")
            anew = Rewrapping("id-2", key(2).wrapped, Wrapped("g1", b"anew"))
            assert (keys.replace([anew]), keys.replace([])) == (1, 0)
            keys.note_retired("g0", 1, None)
            keys.scrub()
            assert [each.is_retired for each in keys.generations()] == [True, False]
        rights = f"""SELECT DISTINCT c.relname || ' ' || p FROM pg_class c, unnest(ARRAY['INSERT', 'UPDATE',
            'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS p
            WHERE c.relnamespace = 'onrecord_keys'::regnamespace AND c.relkind = 'r'
            AND has_table_privilege('{role}', c.oid, p)"""
        assert run(url, rights) == []
        verbs = f"""SELECT proname::text FROM pg_proc WHERE pronamespace = 'onrecord_keys'::regnamespace
            AND has_function_privilege('{role}', oid, 'EXECUTE') ORDER BY proname"""
        assert [name for (name,) in run(url, verbs)] == [
            *("add_key", "close_generation", "destroy_key", "note_retired", "replace_keys", "scrub")
        ]
        assert run(url, f"SELECT has_schema_privilege('{role}', 'onrecord_keys', 'CREATE')") == [
            (False,)
        ]
        run(url, f"DROP OWNED BY {role}")


def test_what_is_no_key_store_of_this_release_is_refused_and_nothing_is_made(url: str) -> None:
    run(url, "CREATE SCHEMA others CREATE TABLE others.notes (a text)")
    with pytest.raises(ForeignDatabase, match="others"):
        open_postgres_keys(f"{url}{'&' if '?' in url else '?'}schema=others", LOG)
    with pytest.raises(StorageUnavailable, match="no key store at"):
        open_postgres_keys(url, LOG, may_make=False)
    assert run(url, "SELECT to_regnamespace('onrecord_keys')") == [(None,)]
    open_postgres_keys(url, LOG).close()
    run(url, "INSERT INTO onrecord_keys.migration VALUES (2, '')")
    with pytest.raises(SchemaNewer, match="upgrade"):
        open_postgres_keys(url, LOG)
    run(url, "DELETE FROM onrecord_keys.migration WHERE number = 2")
    run(url, "UPDATE onrecord_keys.migration SET digest = ''")
    with pytest.raises(SchemaUnreleased):
        open_postgres_keys(url, LOG)


@pytest.mark.parametrize("word", ["select", "user", "table"])
def test_a_word_of_sql_is_refused_as_a_schema(url: str, word: str) -> None:
    with pytest.raises(InvalidInput, match=f"`{word}` is a word of SQL"):
        open_postgres_keys(f"{url}{'&' if '?' in url else '?'}schema={word}", LOG)


def test_the_database_of_the_log_is_refused_by_whatever_name_and_so_is_a_log(
    tmp_path: Path,
) -> None:
    log, other = fresh_log(VERSION), fresh_log(VERSION)
    new_key_file(tmp_path / "kek")
    parts = urlsplit(log)
    also = f"postgresql:///{parts.path.lstrip('/')}?{parts.query}&user={parts.username}"
    try:
        for keys in (f"{log}{'&' if parts.query else '?'}schema=keys", also):
            with pytest.raises(InvalidInput, match="the database of the log"):
                onrecord.connect(log, keys=keys, kek=tmp_path / "kek")
        with pytest.raises(InvalidInput, match="is a log"):
            open_postgres_keys(f"{other}{'&' if parts.query else '?'}schema=onrecord", LOG)
        assert run(log, "SELECT to_regnamespace('keys')") == [(None,)]
    finally:
        for each in (log, other):
            server(VERSION).drop(each)


def test_a_server_that_goes_away_is_told_of_and_used_again_when_it_is_back(url: str) -> None:
    database = urlsplit(url).path.lstrip("/")
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"
    with closing(open_postgres_keys(url, LOG, wait=0.2)) as keys:
        keys.add(key(1))
        run(server(VERSION).url, ended.format(database))
        assert keys.get("id-1") == key(1)
        run(server(VERSION).url, ended.format(database))
        assert keys.add(key(2)) == key(2)
        # The answer to a step may be lost with the connection, and the step is done a second time.
        anew = Wrapped("g1", b"anew")
        for _ in range(2):
            assert keys.replace([Rewrapping("id-2", key(2).wrapped, anew)]) == 1
        assert keys.replace([Rewrapping("id-2", anew, key(2).wrapped)]) == 1
        run(server(VERSION).url, f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        run(server(VERSION).url, ended.format(database))
        for verb in (partial(keys.find, key(1).subject), partial(keys.add, key(3))):
            with pytest.raises(StorageUnavailable, match="the key store") as error:
                verb()
            assert error.value.__cause__ is None
        run(server(VERSION).url, f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
        assert keys.add(key(3)) == key(3)
        keys.close_generation("g0")
        assert keys.get("id-2") == key(2)
    with pytest.raises(StorageUnavailable, match="closed"):
        keys.get("id-1")


def test_a_key_store_that_another_one_was_put_in_the_place_of_takes_no_keys(url: str) -> None:
    with closing(open_postgres_keys(url, LOG)) as keys:
        run(url, "UPDATE onrecord_keys.meta SET log = gen_random_uuid()")
        with pytest.raises(OnrecordError, match="the keys of another log"):
            keys.add(key(1))
        assert keys.get("id-1") is None


def test_no_message_holds_a_password(url: str) -> None:
    secret = f"{url}{'&' if '?' in url else '?'}user={GUARDED}&password=xq9-secret"
    with pytest.raises(StorageUnavailable) as refused:
        open_postgres_keys(secret, LOG)
    with pytest.raises(InvalidInput) as misspelt:
        open_postgres_keys("postgresql://ana:xq9@secret@host/keys", LOG)
    with closing(
        open_postgres_keys(f"{url}{'&' if '?' in url else '?'}password=xq9-secret", LOG)
    ) as keys:
        texts = [str(refused.value), str(misspelt.value), repr(keys)]
    assert [text for text in texts if "xq9" in text] == []
