"""The window of a long conversation, asked for by a process that just began, and with Redis.

The warm request of a process that is at work is measured in request.py; here are the same request
as the first thing of a new process, and the one that another process rendered before: from Redis.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import onrecord
from tests.bench.measure import Contender, Measure, Pace, Work, take_turns
from tests.bench.pairings import Pairing
from tests.bench.payload import API
from tests.bench.request import LAST, MESSAGES, READS
from tests.bench.workspace import Workspace
from tests.redis_server import server

_ROOT: Final = Path(__file__).parents[2]
_KEY: Final = "{size}/0"


def measures(workspace: Workspace, sqlite: Pairing, postgres: Pairing) -> Iterator[Measure]:
    """Yield a cold process on each database beside the peer's, and the warm one with Redis."""
    size = workspace.scale.sizes[-1]
    yield from _cold(sqlite, size)
    yield from _cold(postgres, size)
    yield from _with_redis(postgres, size)


def _cold(pairing: Pairing, size: int) -> Iterator[Measure]:
    workspace = pairing.workspace
    chat = pairing.chats(size, "recorded")[0]
    url, key = pairing.url_of(size, "recorded"), chat.key
    sides = [_program("ours", url, key, "", what=f"a new process's request of {size:,} messages")]
    if pairing.database == "postgres":
        redis = _redis()
        with onrecord.connect(url, redis=redis) as store:
            store.conversation(key).request(API, window=LAST)
        what = f"the same of {size:,} messages, kept hot in Redis"
        sides.append(_program("ours", url, key, redis, what=what))
    if workspace.peers:
        sides.append(_peer(pairing, size))
    workspace.say(f"cold processes, {pairing.database}: {len(sides)} sides in turn")
    shown = take_turns(sides, Pace(3, workspace.scale.starts))
    peer = shown.pop() if workspace.peers else None
    for figures, name in zip(shown, ("cold", "cold.redis"), strict=False):
        yield Measure(f"windowed.{pairing.database}.{size}.{name}", "ms", figures, peer)


def _with_redis(pairing: Pairing, size: int) -> Iterator[Measure]:
    chat = pairing.chats(size, "recorded")[0]
    store = pairing.workspace.closing.enter_context(
        onrecord.connect(pairing.url_of(size, "recorded"), redis=_redis())
    )
    hot = store.conversation(chat.key)
    sides = (
        Contender(
            f"Conversation.request of a window of {size:,} messages, hot in Redis",
            READS,
            lambda _: lambda: hot.request(API, window=LAST),
        ),
        Contender(
            "the same, rendered from PostgreSQL",
            READS,
            lambda _: lambda: chat.request(API, window=LAST),
        ),
    )
    ours, rendered = take_turns(sides, pairing.workspace.scale.pace)
    yield Measure(f"windowed.postgres.{size}.redis", "ms", ours, rendered)


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


def _redis() -> str:
    running = server()
    running.start()
    return running.url
