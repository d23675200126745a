"""A timer that raises at any moment: another process goes on, and so does this one, which can fork."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.store import backend_of
from tests.factories import appending, raw_event
from tests.ledger import verified_log
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["sqlite", *(f"postgresql {version}" for version in VERSIONS)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    kind, _, version = request.param.partition(" ")
    return f"sqlite:///{tmp_path / 'log.db'}" if kind == "sqlite" else fresh_log(version)


def goes_on(url: str, seed: int, times: int) -> None:
    command = [sys.executable, "-m", "tests.alarmed", url, str(seed), str(times)]
    with (
        onrecord.connect(url) as store,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as program,
    ):
        assert program.stdin is not None
        assert program.stdout is not None
        said = program.stdout.readline()
        while said == "pause\n":
            backend_of(store).append([appending(uuid4(), raw_event())])
            program.stdin.write("go on\n")
            program.stdin.flush()
            said = program.stdout.readline()
        assert said, "the program failed: its error is above"
        told = json.loads(said)
        conversation = UUID(told["conversation"])
        own = [e for e in verified_log(backend_of(store)) if e.conversation_id == conversation]
        ids = [str(event.event_id) for event in own]
        assert len(ids) == len(set(ids))
        assert set(told["acknowledged"]) <= set(ids)
    assert program.returncode == 0


def test_a_timer_that_raises_holds_up_nobody(url: str) -> None:
    goes_on(url, 1, 40)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 6))
def test_a_timer_that_raises_a_thousand_times_holds_up_nobody(url: str, seed: int) -> None:
    goes_on(url, seed, 1000)
