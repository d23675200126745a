"""`onrecord worker` as its own process: it shares, takes over, ends well, and tells its metrics."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from urllib.request import urlopen
from uuid import UUID, uuid4

import pytest
from typer.testing import CliRunner

from onrecord.adapters.cli.commands import app
from onrecord.adapters.cli.views import worker as worker_command
from onrecord.adapters.redis.tails import tail_key
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.store import Store
from onrecord.projections.views.audit import AUDIT
from tests import redis_server
from tests.adapters.views.row_stores import everything
from tests.adapters.views.workers import asked, caught_up, chat, folded, from_scratch
from tests.patience import PATIENCE, until

SEED = 20261121
KILLS = 4


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    """Ends what a test starts, however the test ends."""
    with ExitStack() as stack:
        yield stack


def _start(
    processes: ExitStack, url: str, *options: str, redis: str | None = None
) -> subprocess.Popen[str]:
    command = (sys.executable, "-c", "from onrecord.adapters.cli import main; main()", "worker")
    process = subprocess.Popen(
        [*command, "--url", url, "--views", "audit", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "ONRECORD_REDIS": redis or ""},
    )
    processes.enter_context(process)
    processes.callback(process.kill)
    return process


def _holders(url: str) -> dict[str, int]:
    rows = asked(
        url,
        "SELECT split_part(owner, '/', 2), count(*) FROM onrecord.part "
        "WHERE owner IS NOT NULL GROUP BY 1",
    )
    return dict(rows)


def test_a_worker_that_is_killed_loses_nothing_and_another_takes_over(
    url: str, log: Postgres, processes: ExitStack
) -> None:
    conversations = [uuid4() for _ in range(16)]
    chat(log, conversations)
    killed, other = _start(processes, url), _start(processes, url)
    until(lambda: sorted(_holders(url).values()) == [16, 16], "the even share")
    killed.kill()
    killed.wait(PATIENCE)
    chat(log, conversations)
    # Its lease runs out by the server's clock, which the test turns on.
    gone = f"%/{killed.pid}/%"
    asked(url, "UPDATE onrecord.part SET leased_until = 0 WHERE owner LIKE %s", gone)
    asked(url, "UPDATE onrecord.worker SET seen_at = 0 WHERE name LIKE %s", gone)
    until(lambda: folded(url) == {one: [1, 2] for one in conversations}, "the take-over")
    assert _holders(url) == {str(other.pid): 32}


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_asked_to_end_gives_back_its_parts(
    url: str, log: Postgres, processes: ExitStack, sign: signal.Signals
) -> None:
    worker = _start(processes, url)
    until(lambda: _holders(url) == {str(worker.pid): 32}, "the parts")
    worker.send_signal(sign)
    said, _ = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0, said
    assert _holders(url) == {}
    assert asked(url, "SELECT name FROM onrecord.worker") == []
    assert re.search(r"ended, 0 events folded", said)


def test_once_catches_up_and_ends(url: str, log: Postgres, processes: ExitStack) -> None:
    conversation = uuid4()
    chat(log, [conversation], 3)
    worker = _start(processes, url, "--once")
    said, _ = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0, said
    assert "ended, 3 events folded" in said
    assert folded(url) == {conversation: [1, 2, 3]}


def test_a_worker_goes_past_a_pooler(
    url: str, log: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: list[worker_command.Task] = []

    def noted(_store: Store, task: worker_command.Task) -> None:
        tasks.append(task)

    monkeypatch.setattr(worker_command, "work", noted)
    monkeypatch.setenv("ONRECORD_URL", url)
    own = f"{url}{'&' if '?' in url else '?'}application_name=own"
    monkeypatch.setenv("ONRECORD_LISTEN_URL", own)
    for options in ([], ["--url", url]):
        result = CliRunner().invoke(app, ["worker", *options])
        assert result.exit_code == 0, result.output
    assert [task.url for task in tasks] == [own, url]


def test_a_store_in_a_file_needs_no_worker(tmp_path: Path, processes: ExitStack) -> None:
    worker = _start(processes, f"sqlite:///{tmp_path / 'talks.db'}")
    said, _ = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 1
    assert "there is no store" in said


def test_metrics_tell_how_far_the_views_are(url: str, log: Postgres, processes: ExitStack) -> None:
    chat(log, [uuid4()], 3)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    _start(processes, url, "--metrics-port", str(port))
    until(lambda: sum(map(len, folded(url).values())) == 3)
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        told = answer.read().decode()
    assert "onrecord_worker_parts_held 32.0" in told
    assert 'onrecord_worker_folded_events_total{view="audit"} 3.0' in told
    assert 'onrecord_view_lag_events{view="audit"} 0.0' in told
    assert 'onrecord_view_stopped{view="audit"} 0.0' in told


def test_the_page_on_workers_lists_every_metric(
    url: str, log: Postgres, processes: ExitStack
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    worker = _start(processes, url, "--metrics-port", str(port))
    until(lambda: _holders(url) == {str(worker.pid): 32}, "the parts")
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        told = answer.read().decode()
    names = set(re.findall(r"^# TYPE (\w+)", told, re.MULTILINE))
    page = (Path(__file__).parents[3] / "docs" / "workers.md").read_text("utf-8")
    assert names == set(re.findall(r"^\| `(onrecord_\w+)`", page, re.MULTILINE))


def test_a_worker_fills_the_live_tails_of_a_redis(
    url: str, log: Postgres, processes: ExitStack
) -> None:
    if redis_server.binary() is None:
        pytest.skip("it takes a redis-server")
    redis = redis_server.server()
    with redis.client() as client:
        chat(log, [uuid4()], 3)
        [shard] = [cursor.shard for cursor in log.cursors() if cursor.position]
        _start(processes, url, redis=redis.url)
        until(lambda: sum(map(len, folded(url).values())) == 3)
        chat(log, [uuid4()])
        until(lambda: client.xlen(tail_key(log.incarnation(), shard)) > 0, "the tail")


def test_after_random_kills_the_view_is_as_a_fold_from_scratch(
    url: str, log: Postgres, processes: ExitStack
) -> None:
    random = Random(SEED)
    conversations = [UUID(int=random.getrandbits(128), version=4) for _ in range(40)]
    for _ in range(KILLS):
        worker = _start(processes, url)
        until(lambda pid=str(worker.pid): pid in _holders(url), "the worker")  # type: ignore[misc]
        before = sum(map(len, folded(url).values()))
        for _ in range(random.randrange(1, 20)):
            chat(log, random.sample(conversations, 10))
        until(lambda seen=before: sum(map(len, folded(url).values())) > seen)  # type: ignore[misc]
        worker.kill()
        worker.wait(PATIENCE)
        asked(url, "UPDATE onrecord.part SET leased_until = 0")
        asked(url, "DELETE FROM onrecord.worker")
    caught_up(url, {"audit": AUDIT})
    events = everything(log)
    rows = asked(url, "SELECT to_jsonb(v) - 'generation' FROM onrecord.view_audit AS v")
    found = {(row["conversation_id"], row["version"]): row for (row,) in rows}
    assert len(rows) == len(events)
    assert found == from_scratch(events), f"seed {SEED}"
