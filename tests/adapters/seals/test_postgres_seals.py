"""A log on PostgreSQL is sealed by its workers, shard by shard, in a role that sees all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.seals.checkpoints import ShardSeals
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.seals.places import Folder
from onrecord.adapters.seals.store_seals import StoreSeals
from onrecord.adapters.seals.trust import trusted_keys
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.domain.errors import StorageReadOnly
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.adapters.cli.command import Command, in_process, started
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.factories import TENANT, appending, prompt
from tests.patience import PATIENCE, until
from tests.postgres_places import log_with_role
from tests.postgres_server import VERSIONS

VERSION = VERSIONS[-1]
ROLE = "onrecord_sealing"


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("ONRECORD_TENANT", str(TENANT))
    with log_with_role(VERSION, ROLE) as place:
        monkeypatch.setenv("ONRECORD_URL", place)
        yield place


@pytest.fixture
def log(url: str) -> Iterator[Postgres]:
    log = open_postgres(url)
    yield log
    log.close()


@pytest.fixture
def sealing(log: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealSettings:
    key, place = tmp_path / "seal.key", tmp_path / "seals"
    make_key_file(key, key_name_of(log_id_of(log.digest)))
    monkeypatch.setenv("ONRECORD_SEAL_KEY", str(key))
    monkeypatch.setenv("ONRECORD_SEALS", str(place))
    return SealSettings((str(place),), key)


def sealed_sizes(log: Postgres, sealing: SealSettings) -> list[int]:
    """How many events are sealed of each shard, by the last checkpoints at the place."""
    log_id = log_id_of(log.digest)
    keys, place = trusted_keys(sealing).keys, Folder(Path(sealing.places[0]))
    lasts = [ShardSeals(place, log_id, each.shard, keys).last() for each in log.cursors()]
    return [0 if last is None else last.checkpoint.size for last in lasts]


def say(log: Postgres, tenants: int = 3) -> list[int]:
    """Say something for several tenants, and return how many events each shard has then."""
    for _ in range(tenants):
        log.append([appending(uuid4(), prompt("Hello"), tenant=uuid4())])
    return [each.position for each in log.cursors()]


def let_in(url: str, verb: str, *bound: UUID) -> str:
    arguments = ", ".join(["%s"] * (1 + len(bound)))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SELECT onrecord.{verb}({arguments})".encode(), (ROLE, *bound))
    return as_role(url, ROLE)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def test_each_shard_has_a_checkpoint(
    log: Postgres, sealing: SealSettings, command: Command
) -> None:
    positions = say(log)
    done = command("seal")
    assert [int(size) for _, size, *_ in done.columns] == positions
    assert sealed_sizes(log, sealing) == positions


@pytest.mark.parametrize("verb", ["admit_worker", "admit_auditor"])
def test_a_role_that_sees_all_may_seal(
    url: str, log: Postgres, sealing: SealSettings, verb: str
) -> None:
    positions = say(log)
    with onrecord.connect(let_in(url, verb), tenant=TENANT) as store:
        assert [each.checkpoint.size for each in store.seal()] == positions


def test_a_role_that_is_bound_to_a_tenant_cannot_seal(
    url: str, log: Postgres, sealing: SealSettings
) -> None:
    say(log)
    with (
        onrecord.connect(let_in(url, "admit_auditor", TENANT), tenant=TENANT) as store,
        pytest.raises(StorageReadOnly, match="does not see all events, so it cannot seal"),
    ):
        store.seal()
    assert not Path(sealing.places[0]).exists()


def test_a_store_that_closes_leaves_the_seals_to_workers(
    url: str, log: Postgres, sealing: SealSettings
) -> None:
    with onrecord.connect(url) as store:
        store.conversation("a").user("Hello")
    assert not Path(sealing.places[0]).exists()


def test_a_worker_seals_and_says_so(log: Postgres, sealing: SealSettings, command: Command) -> None:
    positions = say(log)
    done = command("worker", "--once", "--seal-every", "5")
    assert done.code == 0
    assert re.search(r"worker \S+, seals every 5 s$", done.out, re.MULTILINE)
    assert sealed_sizes(log, sealing) == positions


def test_workers_that_seal_at_once_leave_a_place_that_holds(
    log: Postgres, sealing: SealSettings
) -> None:
    def is_sealed(positions: list[int]) -> bool:
        return sealed_sizes(log, sealing) == positions

    workers = [started("worker", "--seal-every", "1") for _ in range(2)]
    try:
        for _ in range(3):
            positions = say(log, 5)
            until(partial(is_sealed, positions), "the seals")
        positions = say(log, 5)
    finally:
        for worker in workers:
            worker.terminate()
        outputs = [worker.communicate(timeout=PATIENCE) for worker in workers]
    assert sealed_sizes(log, sealing) == positions
    assert [worker.returncode for worker in workers] == [0, 0]
    assert "warning" not in "".join(text for pair in outputs for text in pair)


def test_a_worker_with_a_key_of_another_log_does_not_start(
    log: Postgres,
    sealing: SealSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Command,
) -> None:
    make_key_file(tmp_path / "other.key", "onrecord.log/another")
    monkeypatch.setenv("ONRECORD_SEAL_KEY", str(tmp_path / "other.key"))
    done = command("worker", "--once")
    assert (done.code, "is of another log" in done.err) == (1, True)


def test_the_log_is_sealed_by_one_object_for_all_shards(
    log: Postgres, sealing: SealSettings
) -> None:
    positions = say(log)
    seals = StoreSeals(log, sealing)
    seals.seal()
    assert seals.sealed == sum(positions)
