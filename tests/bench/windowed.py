"""The window of a long conversation, asked for by a process that just began.

The request of a process that is at work is measured in request.py; here it is the first thing that a
new process does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.bench.measure import Contender, Measure, Pace, Work, take_turns
from tests.bench.pairings import Pairing
from tests.bench.request import MESSAGES, READS
from tests.bench.workspace import Workspace

_ROOT: Final = Path(__file__).parents[2]
_KEY: Final = "{size}/0"


def measures(workspace: Workspace, sqlite: Pairing, postgres: Pairing) -> Iterator[Measure]:
    """Yield a cold process on each database, beside the peer's."""
    size = workspace.scale.sizes[-1]
    yield from _cold(sqlite, size)
    yield from _cold(postgres, size)


def _cold(pairing: Pairing, size: int) -> Iterator[Measure]:
    workspace = pairing.workspace
    chat = pairing.chats(size, "recorded")[0]
    url, key = pairing.url_of(size, "recorded"), chat.key
    sides = [_program("ours", url, key, what=f"a new process's request of {size:,} messages")]
    if workspace.peers:
        sides.append(_peer(pairing, size))
    workspace.say(f"cold processes, {pairing.database}: {len(sides)} sides in turn")
    shown = take_turns(sides, Pace(3, workspace.scale.starts))
    peer = shown.pop() if workspace.peers else None
    yield Measure(f"windowed.{pairing.database}.{size}.cold", "ms", shown[0], peer)


def _peer(pairing: Pairing, size: int) -> Contender:
    program = "sqlite-session" if pairing.database == "sqlite" else "sqlalchemy-session"
    place = pairing.session_place(size)
    what = f"a new process's {pairing.session_name}.get_items(limit={MESSAGES}) of {size:,}"
    return _program(program, place, _KEY.format(size=size), str(MESSAGES), what=what)


def _program(*arguments: str, what: str) -> Contender:
    def run() -> float:
        command = [sys.executable, "-m", "tests.bench.cold", *arguments]
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, check=True, text=True)
        return float(done.stdout)

    return Contender(what, READS, lambda _: run, _printed)


def _printed(work: Work) -> float:
    seconds: float = work()
    return seconds
