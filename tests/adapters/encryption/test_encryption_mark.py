"""A log says itself that it is encrypted: programs without its keys are held to that, and it is verified."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import psycopg
import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.app import migrate
from onrecord.adapters.encryption.encrypted_log import EncryptedLog, stored_of
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.encryption.readable_log import is_marked_encrypted
from onrecord.adapters.encryption.sqlite.key_store import open_key_store
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.store import backend_of
from onrecord.domain.seals.checkpoint import log_id_of
from onrecord.errors import CorruptRecord, SchemaOlder, StorageReadOnly, StorageUnavailable
from tests.adapters.encryption.places import key
from tests.adapters.storage.eventsourcing.refunds import Refunds, environment
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.factories import OTHER_TENANT, TENANT, appending, prompt
from tests.postgres_places import fresh_log, log_with_role
from tests.postgres_server import VERSIONS, server
from tests.sqlite_by_hand import ByHand

ROLE = "onrecord_marked"


@dataclass(frozen=True)
class Log:
    """Where a log is, how its superuser changes it, and what takes its mark and its step away."""

    url: str
    run: Callable[[str], None]
    unset: str
    older: tuple[str, ...]


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key-encryption key, and a key store, as the environment names them."""
    new_key_file(tmp_path / "kek")
    monkeypatch.setenv("ONRECORD_KEYS", str(tmp_path / "keys.db"))
    monkeypatch.setenv("ONRECORD_KEK", str(tmp_path / "kek"))


@pytest.fixture(params=["sqlite", "postgres"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    yield from in_file(tmp_path / "log.db") if request.param == "sqlite" else on_server()


def in_file(file: Path) -> Iterator[Log]:
    def run(statement: str) -> None:
        with closing(ByHand.open(file)) as hand:
            hand.run(statement)

    older = (
        "ALTER TABLE meta DROP COLUMN encrypted",
        "DELETE FROM migration WHERE number = 4",
        "PRAGMA user_version = 3",
    )
    yield Log(f"sqlite:///{file}", run, "UPDATE meta SET encrypted = 0", older)


def on_server() -> Generator[Log]:
    url = fresh_log(VERSIONS[-1])

    def run(statement: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(cast("Any", statement))

    older = (
        "ALTER TABLE onrecord.shard_lock DROP COLUMN encrypted",
        "DELETE FROM onrecord.migration WHERE part = 'tables' AND number = 17",
    )
    yield Log(url, run, "UPDATE onrecord.shard_lock SET encrypted = false", older)
    server(VERSIONS[-1]).drop(url)


def without_keys(log: Log) -> onrecord.Store:
    return onrecord.connect(log.url, keys="", kek="")


def faults_of(store: onrecord.Store) -> list[str]:
    return [fault.why for fault in store.verify().faults]


def test_a_program_without_keys_that_opened_first_says_nothing_in_clear(log: Log) -> None:
    with without_keys(log) as first, onrecord.connect(log.url) as store:
        for _ in range(2):
            with pytest.raises(StorageReadOnly, match="ONRECORD_KEYS"):
                first.conversation("a").user("Hello")
            refunds = Refunds(env=environment(log.url))
            refunds.request(500)
            refunds.close()
            assert first.forget("a", reason="asked to", actor="eve").events == 0
            assert [listed.key for listed in store.conversations()] in ([], ["b"])
            store.conversation("b").user("Hello")
        with pytest.raises(CorruptRecord, match="start it anew with the keys"):
            first.get("b").history()
        assert faults_of(store) == []


def test_a_mark_that_is_gone_is_told_and_so_is_what_came_in_clear_then(log: Log) -> None:
    with onrecord.connect(log.url) as store:
        store.conversation("a").user("Hello")
        log.run(log.unset)
        (gone,) = faults_of(store)
        assert gone.startswith("2 events of conversations are encrypted, the first at position 1 ")
        assert gone.endswith("and the mark that the log is encrypted is gone")
        with without_keys(log) as careless:
            assert faults_of(careless) == [gone]
            careless.conversation("b").user("Hello")
        with onrecord.connect(log.url) as again:
            assert again.get("a").history()[0].text == "Hello"
            (clear,) = faults_of(again)
            (found,) = again.verify("b").faults
        assert clear.startswith(
            "the log is encrypted, and 2 events of conversations are in clear, the first at position 3 "
        )
        assert found.why.startswith(
            "the log is encrypted, and 2 events of conversations are in clear"
        )
        with without_keys(log) as careless, pytest.raises(StorageUnavailable):
            careless.conversation("b").user("Hello")


def test_a_key_store_without_a_key_of_the_log_s_events_is_refused(log: Log, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with onrecord.connect(log.url) as store:
        log_id = log_id_of(backend_of(store).digest)
        open_key_store(other, log_id).close()
        store.conversation("a").user("Hello")
    with pytest.raises(StorageUnavailable, match="holds no key of this log"):
        onrecord.connect(log.url, keys=other)
    with closing(open_key_store(other, log_id)) as keys:
        keys.add(key(1))
    with pytest.raises(StorageUnavailable, match="holds no key of this log"):
        onrecord.connect(log.url, keys=other)
    with onrecord.connect(log.url) as store:
        assert store.get("a").history()[0].text == "Hello"


def test_a_role_that_may_not_mark_a_log_makes_no_key_store(tmp_path: Path) -> None:
    with log_with_role(VERSIONS[-1], ROLE) as url:
        with psycopg.connect(url, autocommit=True) as owner:
            onrecord.connect(url, keys="", kek="").close()
            owner.execute("SELECT onrecord.admit_auditor(%s)", (ROLE,))
        with pytest.raises(StorageUnavailable, match="there is no key store at"):
            onrecord.connect(as_role(url, ROLE))
        assert not (tmp_path / "keys.db").exists()
        onrecord.connect(url).close()
        onrecord.connect(as_role(url, ROLE)).close()


def test_a_mark_that_is_gone_from_some_shards_is_set_again_whatever_was_said_since() -> None:
    with contextmanager(on_server)() as log:
        with onrecord.connect(log.url) as store:
            log.run(f"{log.unset} WHERE shard <> 0")
            for number in range(1, 9):
                with suppress(StorageReadOnly):  # Of the shard that has its mark.
                    said = appending(uuid7(), prompt(), tenant=UUID(int=number))
                    stored_of(backend_of(store)).append([said])
        onrecord.connect(log.url).close()
        with psycopg.connect(log.url) as connection:
            marks = connection.execute("SELECT DISTINCT encrypted FROM onrecord.shard_lock")
            assert marks.fetchall() == [(True,)]


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_a_log_from_before_the_mark_gets_it_as_it_is_migrated(
    log: Log, is_encrypted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    refunds = Refunds(env=environment(log.url))
    refunds.request(500)
    refunds.close()
    if not is_encrypted:
        monkeypatch.delenv("ONRECORD_KEYS")
        monkeypatch.delenv("ONRECORD_KEK")
    with onrecord.connect(log.url) as store:
        operators = Operators(backend_of(store), store.tenant)
        operators.destroy_key("a" * 43, uuid4(), "ann")
        store.conversation("a").user("Hello")
        operators.destroy_key("b" * 43, uuid4(), "ann")
    for statement in log.older:
        log.run(statement)
    with pytest.raises(SchemaOlder):
        without_keys(log)
    assert migrate(log.url) == 1
    with without_keys(log) as store:
        assert isinstance(backend_of(store), EncryptedLog) == is_encrypted
        assert is_marked_encrypted(backend_of(store)) == is_encrypted
        assert faults_of(store) == []


def test_a_role_that_is_bound_to_a_new_tenant_sees_the_mark() -> None:
    with log_with_role(VERSIONS[-1], ROLE) as url:
        role = as_role(url, ROLE)
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("SELECT onrecord.admit_auditor(%s)", (ROLE,))
            with onrecord.connect(role, tenant=TENANT, keys="", kek="") as reading:
                assert not is_marked_encrypted(backend_of(reading))
            owner.execute("SELECT onrecord.admit(%s, %s)", (ROLE, OTHER_TENANT))
        with onrecord.connect(url, tenant=TENANT) as store:
            store.conversation("a").user("Hello")
        with (
            onrecord.connect(role, tenant=OTHER_TENANT, keys="", kek="") as bound,
            pytest.raises(StorageUnavailable, match="is encrypted"),
        ):
            bound.conversation("b").user("Hello")
