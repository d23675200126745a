"""`onrecord worker` fills the tails where there is a Redis; when it is killed, readers miss nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.redis.tails import mark_key, tail_key
from tests.adapters.cli.command import PROGRAM
from tests.patience import PATIENCE, until
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server


@pytest.fixture
def place() -> Iterator[str]:
    made = fresh_log(VERSIONS[0])
    yield made
    server(VERSIONS[0]).drop(made)


def test_a_worker_relays_and_may_be_killed(
    place: str, url: str, asked: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_relayed() -> bool:
        """Whether something that is said now comes into the tail, sooner or later."""
        chat.user("Are you there?")
        return asked.ask(("EXISTS", tail_key(end.incarnation, end.shard))) == [1]

    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path))
    with onrecord.connect(place, redis=url) as store:
        chat = store.conversation("support/4711")
        chat.user("one")
        (end,) = [cursor for cursor in store.cursors() if cursor.position]
        worker = subprocess.Popen(
            [*PROGRAM, "worker", "--url", place],
            env={**os.environ, "ONRECORD_REDIS": url},
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
        )
        try:
            with store.subscribe(end) as events:
                until(lambda: asked.ask(("EXISTS", mark_key(end.incarnation))) == [1])
                until(is_relayed)
                worker.kill()
                worker.wait(PATIENCE)
                chat.user("And now?")
                last = chat.head().version
                assert [event.version for event in islice(events, last - 2)] == [
                    *range(3, last + 1)
                ]
        finally:
            worker.kill()
            worker.wait(PATIENCE)
