"""Two users of one machine: a store is its owner's alone, until the owner shares its files."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from tests.patience import PATIENCE

ANA, BEN, TEAM = 1001, 1002, 3000

# Each user is a child of one program that has imported all: only root may read where Python lies.
USERS = """
import os, sys
import onrecord

def act(path, deed, name):
    with onrecord.connect("sqlite:///" + path) as store:
        conversation = store.conversation("shared")
        if deed == "say":
            for number in range(20):
                conversation.user(f"{name} {number}")
            return len(list(store.views.search(name, limit=200)))
        if deed == "forget":
            store.conversation(name).user("gone")
            store.forget(name, reason="asked", actor=name)
            return len(store.sweep().residue)
        return len(store.verify().faults)

def child(user, path, deed):
    if process := os.fork():
        return process
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(user))
    os.umask(0o007)
    try:
        said = act(path, deed, f"user{user}")
    except Exception as error:
        said = f"{type(error).__name__} {error}"
    # In one piece: others write at the same time.
    os.write(1, f"{user} {deed} {said}\\n".encode())
    os._exit(0)

first = sys.argv[2]
for deed in ("say", "forget", "verify"):
    act(first, deed, "root")
for step in sys.argv[4:]:
    users, deed = step.split(":")
    for process in [child(user, sys.argv[3], deed) for user in users.split("+")]:
        os.waitpid(process, 0)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that both users may write to, as teams have them."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    # Not below pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)
        shared = place / "team"
        shared.mkdir()
        os.chown(shared, ANA, TEAM)
        shared.chmod(0o2770)
        yield shared


def users_do(folder: Path, *steps: str) -> list[str]:
    """Return what the users printed; a step is `user+user:deed`, its users are at work at once."""
    warm = folder.parent / f"warm-{len(list(folder.parent.iterdir()))}.db"
    store = folder / "log.db"
    program = [sys.executable, "-c", USERS, str(TEAM), str(warm), str(store), *steps]
    run = subprocess.run(program, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    return sorted(run.stdout.splitlines())


def share(folder: Path) -> None:
    for file in folder.iterdir():
        file.chmod(0o660)


def test_a_store_is_its_owners_alone(folder: Path) -> None:
    assert users_do(folder, f"{ANA}:say") == [f"{ANA} say 20"]
    assert {file.stat().st_mode & 0o077 for file in folder.iterdir()} == {0}
    (refusal,) = users_do(folder, f"{BEN}:say")
    assert refusal.startswith(f"{BEN} say StorageReadOnly")
    assert "check its permissions" in refusal
    assert users_do(folder, f"{ANA}:verify") == [f"{ANA} verify 0"]


def test_users_who_share_a_store_write_views_and_sweep_in_turn(folder: Path) -> None:
    users_do(folder, f"{ANA}:say")
    share(folder)
    both = f"{ANA}+{BEN}"
    assert users_do(folder, f"{both}:say") == [f"{ANA} say 40", f"{BEN} say 20"]
    swept = users_do(folder, f"{BEN}:forget", f"{ANA}:forget", f"{both}:verify")
    assert swept == [f"{user} {deed} 0" for user in (ANA, BEN) for deed in ("forget", "verify")]
    assert users_do(folder, f"{both}:say") == [f"{ANA} say 60", f"{BEN} say 40"]


def test_a_file_that_one_user_makes_anew_is_shared_as_the_log_is(folder: Path) -> None:
    users_do(folder, f"{ANA}:say")
    share(folder)
    (folder / "log.db-views").unlink()
    assert users_do(folder, f"{BEN}:say") == [f"{BEN} say 20"]
    assert (folder / "log.db-views").stat().st_uid == BEN
    assert users_do(folder, f"{ANA}:say") == [f"{ANA} say 40"]
    with onrecord.connect(f"sqlite:///{folder / 'log.db'}") as store:
        assert store.verify().faults == ()
