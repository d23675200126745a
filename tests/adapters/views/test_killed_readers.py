"""Programs that are killed while they catch views up leave each event folded once, or not yet."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.events import ResponseCompleted
from tests.factories import appending, prompt, started
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
SEED = 20_261_121
CONVERSATIONS = 60
ANSWERS = 10
LONGEST = 0.25
"""Seconds until a reader is killed, at most."""


def filled(store: Store) -> None:
    for number in range(CONVERSATIONS):
        answers = (_answer() for _ in range(ANSWERS))
        begun = (started(f"talk {number}"), prompt("How much?"), *answers)
        backend_of(store).append([appending(uuid4(), *begun, tenant=store.tenant)])


def _answer() -> ResponseCompleted:
    return ResponseCompleted(
        response=uuid4(),
        request=uuid4(),
        api="anthropic-messages",
        model="model-1",
        stop_reason="end_turn",
        input_tokens=1,
        output_tokens=1,
        envelope={},
    )


def killed_reading(path: Path, times: int) -> int:
    """Start a reader, kill it, start the next one; return how many had something left to do."""
    dice, killed = random.Random(SEED), 0
    for _ in range(times):
        reader = subprocess.Popen(
            [sys.executable, "-m", "tests.adapters.views.reading_process", str(path)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"reading\n"
        time.sleep(dice.uniform(0, LONGEST))
        reader.kill()
        reader.communicate(timeout=PATIENCE)
        killed += reader.returncode != 0
    return killed


@pytest.mark.parametrize("times", [4, pytest.param(200, marks=pytest.mark.soak)])
def test_killed_readers_fold_no_event_twice_and_skip_none(tmp_path: Path, times: int) -> None:
    path = tmp_path / "talks.db"
    with onrecord.connect(f"sqlite:///{path}") as store:
        filled(store)
    assert killed_reading(path, times) >= 1, f"no reader was killed amid its work, seed {SEED}"
    with onrecord.connect(f"sqlite:///{path}") as store:
        while store.views.usage().behind or store.views.audit().behind:
            pass
        (used,) = store.views.usage()
        expected = CONVERSATIONS * ANSWERS
        assert (used.responses, used.input_tokens) == (expected, expected), f"seed {SEED}"
        positions = [deed.position for deed in store.views.audit(limit=1_000)]
        assert positions == list(range(CONVERSATIONS * (ANSWERS + 2), 0, -1)), f"seed {SEED}"
        assert store.views.keeper.parked() == []
        before = list(store.views.usage())
        store.views.keeper.rebuild("usage")
        assert list(store.views.usage()) == before
