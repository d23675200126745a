"""A store is its owner's alone; who shares the database shares what stands beside it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.store import tenancy_of

KEY = "support/4711"


@pytest.fixture(autouse=True, params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever the mask of the process is."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def used(file: Path) -> None:
    with onrecord.connect(f"sqlite:///{file}") as store:
        store.conversation(KEY).user("What is this?", documents=[b"some bytes"])
        store.views.conversations()
        modes = modes_in(file.parent)
        assert {f"{file.name}{ending}" for ending in ("", "-wal", "-lock", "-views")} <= set(modes)


def modes_in(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_nobody_else_reads_or_writes_a_new_store(tmp_path: Path) -> None:
    file = tmp_path / "talks.db"
    with onrecord.connect(f"sqlite:///{file}") as store:
        store.conversation(KEY).user("What is this?")
        store.views.conversations()
        assert set(modes_in(tmp_path).values()) == {0o600}
    used(file)
    assert set(modes_in(tmp_path).values()) == {0o600}


def test_what_a_group_may_use_stays_the_groups_with_all_that_is_beside(tmp_path: Path) -> None:
    file = tmp_path / "talks.db"
    file.touch()
    file.chmod(0o660)
    used(file)
    assert set(modes_in(tmp_path).values()) == {0o660}


def test_a_mode_that_is_narrower_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "talks.db"
    used(file)
    file.chmod(0o640)
    file.with_name("talks.db-views").unlink()
    used(file)
    modes = modes_in(tmp_path)
    assert (modes["talks.db"], modes["talks.db-views"]) == (0o640, 0o640)


def test_what_waits_for_a_store_is_in_a_folder_of_its_owners(tmp_path: Path) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        tenancy_of(store).spool.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        assert stat.S_IMODE(tenancy_of(store).spool.folder.stat().st_mode) == 0o700
