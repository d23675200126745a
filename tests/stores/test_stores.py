"""Stores of each release open in this one: they hold, they render, and their schema is as a fresh one.

Every release keeps its own (`make freeze`), in a folder of its name beside this file.
"""

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import onrecord
from onrecord.adapters.storage.postgres import schema
from onrecord.adapters.storage.postgres.postgres import migrate as migrate_postgres
from onrecord.adapters.storage.postgres.schema import FUNCTIONS_REVISION
from onrecord.adapters.storage.queries import Migration, load_functions, load_migrations
from onrecord.adapters.storage.sqlite.sqlite import migrate_sqlite
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer.importing import import_file
from onrecord.adapters.views.sqlite.file import ViewsFile
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.workers import caught_up
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.sqlite_by_hand import ByHand
from tests.stores.make import (
    EXPORT,
    EXPORTED,
    HERE,
    POSTGRES,
    RENDERED,
    SQLITE,
    SQLITE_VIEWS,
    holding,
    made_of,
    unpacked,
)
from tests.stores.objects import objects_of_postgres, objects_of_sqlite

RELEASES = sorted(path.parent.name for path in HERE.glob("*/made-of.json"))
FOLDERS = [HERE / release for release in RELEASES]
PUT_BACK = (
    "{what} was changed, and stores have run it as it was ({release}): put the file back, and write "
    "the change as a step with the next number"
)
KEEP = "{what} is in no kept store: run `make freeze` and commit what it makes"
RAISE = (
    "the functions were changed since {release}: raise FUNCTIONS_REVISION in "
    "adapters/storage/postgres/schema.py, and with the release run `make freeze`"
)


@pytest.fixture(params=FOLDERS, ids=RELEASES)
def kept(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture
def file(kept: Path, tmp_path: Path) -> Path:
    """A SQLite store of a release, with its views."""
    unpacked(kept / SQLITE_VIEWS, tmp_path / "log.sqlite-views")
    return unpacked(kept / SQLITE, tmp_path / "log.sqlite")


@pytest.fixture(params=VERSIONS)
def loaded(request: pytest.FixtureRequest, kept: Path) -> Iterator[str]:
    """A database that a release's log was loaded into."""
    running = server(request.param)
    url = running.create("bare", lambda _: None)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(gzip.decompress((kept / POSTGRES).read_bytes()))
    yield url
    running.drop(url)


def of(kept: Path, name: str) -> Any:
    return json.loads((kept / name).read_text("utf-8"))


def test_stores_of_a_release_are_kept() -> None:
    assert RELEASES != []


def test_what_made_a_kept_store_never_changes(kept: Path) -> None:
    now = made_of()["steps"]
    for dialect, steps in of(kept, "made-of.json")["steps"].items():
        for number, digest in steps.items():
            what = f"step {number} of {dialect}"
            assert now[dialect].get(number) == digest, PUT_BACK.format(what=what, release=kept.name)


@pytest.mark.parametrize("dialect", ["postgres", "sqlite", "sqlite_views"])
def test_every_step_is_in_a_kept_store(dialect: str) -> None:
    known = {
        number for folder in FOLDERS for number in of(folder, "made-of.json")["steps"][dialect]
    }
    for step in load_migrations(dialect):
        assert str(step.version) in known, KEEP.format(what=f"step {step.version} of {dialect}")


def test_functions_that_change_get_another_revision(kept: Path) -> None:
    now, then = made_of()["functions"], of(kept, "made-of.json")["functions"]
    assert now["revision"] >= then["revision"]
    if now["revision"] == then["revision"]:
        assert now["digest"] == then["digest"], RAISE.format(release=kept.name)


def test_a_file_of_a_release_holds_and_is_as_a_fresh_one(file: Path, kept: Path) -> None:
    migrate_sqlite(file)
    with closing(onrecord.connect(f"sqlite:///{file}")) as store:
        must_hold(store, of(kept, "holds.json"))
    fresh = file.with_name("fresh.sqlite")
    migrate_sqlite(fresh)
    assert objects_of_sqlite(file) == objects_of_sqlite(fresh)


def test_a_file_of_views_is_brought_to_what_a_fresh_one_is(file: Path) -> None:
    path = file.with_name("log.sqlite-views")
    by_hand = ByHand.open(path)
    ((incarnation, before),) = by_hand.run(
        "SELECT incarnation, (SELECT count(*) FROM view_audit) FROM meta"
    )
    by_hand.close()
    for place in (path, path.with_name("fresh-views")):
        views = ViewsFile(place, 10.0)
        with views.turn(UUID(str(incarnation))), views.borrowed():
            pass
        views.close()
    assert objects_of_sqlite(path) == objects_of_sqlite(path.with_name("fresh-views"))
    by_hand = ByHand.open(path)
    assert by_hand.run("SELECT count(*) FROM view_audit") == [(before,)]
    by_hand.close()
    assert before


def test_a_log_of_a_release_holds_and_is_as_a_fresh_one(
    loaded: str, kept: Path, request: pytest.FixtureRequest
) -> None:
    migrate_postgres(loaded)
    version = request.node.callspec.params["loaded"]
    fresh = fresh_log(version)
    request.addfinalizer(lambda: server(version).drop(fresh))
    assert objects_of_postgres(loaded) == objects_of_postgres(fresh)
    with closing(onrecord.connect(loaded)) as store:
        must_hold(store, of(kept, "holds-postgres.json"))
    caught_up(loaded, VIEWS)
    with closing(onrecord.connect(loaded)) as store:
        assert [found.key for found in store.views.conversations(key=EXPORTED)] == [EXPORTED]


def test_a_later_step_and_later_functions_bring_a_kept_log_to_what_a_fresh_one_is(
    loaded: str, kept: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every release after this one will: the rule is held before there is one."""
    known = load_migrations("postgres")
    functions = load_functions("postgres", FUNCTIONS_REVISION)
    number = known[-1].version + 1
    sql = "ALTER TABLE onrecord.event ADD later text; CREATE TABLE onrecord.later (tenant uuid)"
    later = Migration(number, sql, b"later")
    clock = "CREATE OR REPLACE FUNCTION onrecord.later() RETURNS int LANGUAGE sql RETURN 1;\n"
    changed = Migration(functions.version + 1, clock + functions.sql, b"changed")

    def steps(*_: object, **__: object) -> tuple[Migration, ...]:
        return (*known, later)

    def replaced(*_: object, **__: object) -> Migration:
        return changed

    monkeypatch.setattr(schema, "load_migrations", steps)
    monkeypatch.setattr(schema, "load_functions", replaced)
    behind = number - max(map(int, of(kept, "made-of.json")["steps"]["postgres"]))
    assert migrate_postgres(loaded) == behind
    running = server(request.node.callspec.params["loaded"])
    fresh = running.create("bare", lambda _: None)
    request.addfinalizer(lambda: running.drop(fresh))
    migrate_postgres(fresh)
    upgraded = objects_of_postgres(loaded)
    assert upgraded == objects_of_postgres(fresh)
    # What is added is guarded like the rest: no statistics of texts, own rows only, no rights.
    assert ("policy", "onrecord.later.own") in upgraded
    assert not re.search(r"[{,]=X/", upgraded["function", "onrecord.later()"])
    assert {name for kind, name in upgraded if kind == "step"} >= {f"tables {number}"}


def test_an_object_that_an_upgrade_leaves_out_is_found(loaded: str) -> None:
    before = objects_of_postgres(loaded)
    (body,) = (
        (kind, name)
        for (kind, name), told in before.items()
        if kind == "column" and name.startswith("event.") and told.startswith("body ")
    )
    with psycopg.connect(loaded, autocommit=True) as connection:
        connection.execute("GRANT SELECT ON onrecord.meta TO PUBLIC")
        connection.execute("ALTER TABLE onrecord.event ALTER COLUMN body SET STATISTICS 7")
        connection.execute("DROP POLICY own ON onrecord.blob")
    after = objects_of_postgres(loaded)
    assert {key for key in before | after if before.get(key) != after.get(key)} == {
        ("table", "meta"),
        body,
        ("policy", "onrecord.blob.own"),
    }


def test_an_export_of_a_release_is_taken_in(kept: Path, tmp_path: Path) -> None:
    path = unpacked(kept / EXPORT, tmp_path / "export.jsonl")
    with closing(onrecord.connect("memory://")) as store:
        import_file(backend_of(store), store.tenant, path)
        versions = {it["key"]: it["version"] for it in of(kept, "holds.json").values()}
        assert store.get(EXPORTED).head().version == versions[EXPORTED]
        assert store.verify().faults == ()


def must_hold(store: onrecord.Store, held: object) -> None:
    """Verified, the same events as when it was kept, and the next request can be made of it."""
    assert holding(store) == held
    assert store.verify().faults == ()
    request = store.get(RENDERED).request("anthropic-messages")
    assert request["messages"][0]["role"] == "user"
    assert "weather" in json.dumps(request["messages"])
