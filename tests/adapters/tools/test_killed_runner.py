"""A process without leases that is killed amid a round: whoever runs next repeats no finished call, and loses none."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import onrecord
from tests.adapters.tools import killed_runner
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.patience import PATIENCE

CALLS = 4


def run(url: str, file: Path, *, fatal: int, way: str) -> int:
    root = str(Path(__file__).parents[3])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(killed_runner.__file__), url, str(file), str(fatal), way],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        timeout=PATIENCE,
    )
    return done.returncode


@pytest.mark.parametrize("way", ["in-order", "parallel"])
@pytest.mark.parametrize("fatal", [1, 3, 4])
def test_a_kill_between_calls_repeats_no_finished_one_and_loses_none(
    fatal: int, way: str, tmp_path: Path
) -> None:
    url, file = f"sqlite:///{tmp_path / 'talks.db'}", tmp_path / "lines"
    with onrecord.connect(url) as store:
        call_tools(
            store.conversation("support/4711"),
            *(("leave", {"number": number}) for number in range(1, CALLS + 1)),
        )
    assert run(url, file, fatal=fatal, way=way) == -signal.SIGKILL
    with onrecord.connect(url) as store:
        finished = {call for call, _, _ in recorded_results(store.conversation("support/4711"))}
    assert {f"call_{number}" for number in range(1, fatal)} <= finished
    assert f"call_{fatal}" not in finished
    assert run(url, file, fatal=0, way=way) == 0
    with onrecord.connect(url) as store:
        chat = store.conversation("support/4711")
        expected = [(f"call_{n}", f"result {n}", False) for n in range(1, CALLS + 1)]
        assert recorded_results(chat) == expected
        assert chat.open_calls() == []
    begun = Counter(file.read_text("utf-8").splitlines())
    for number in range(1, CALLS + 1):
        was_finished = f"call_{number}" in finished
        assert begun[f"begun {number}"] == 1 if was_finished else begun[f"begun {number}"] >= 1
        assert begun[f"done {number}"] >= 1
