"""Hints by Redis reach other processes, cost nobody a wait, and may all be lost."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.redis.accelerator import RedisHints
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.storage import subscription
from onrecord.adapters.storage import subscription as hints
from tests.patience import PATIENCE, until
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.redis_server import Server

INCARNATION = uuid4()


class Ear:
    """Counts what is heard."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is told go soon, though nobody listened a moment ago."""
    monkeypatch.setattr(hints, "UNHEARD_PACE", 0.01)


@contextmanager
def telling(url: str) -> Generator[RedisHints]:
    """The hints of a process of its own."""
    with (
        closing(Connection(url)) as beside,
        closing(RedisHints(beside, lambda: INCARNATION)) as told,
    ):
        yield told


@contextmanager
def listening(url: str) -> Generator[tuple[RedisHints, Ear]]:
    """A process that tells, and what another one hears."""
    ear = Ear()
    with telling(url) as teller, telling(url) as listener, listener.listen(ear):
        yield teller, ear


def is_heard(teller: RedisHints, ear: Ear) -> bool:
    """Tell, and say whether anything has been heard since."""
    before = ear.times
    teller.tell()
    return ear.times > before or threading.Event().wait(0.02) or ear.times > before


def test_another_process_hears_a_hint(url: str) -> None:
    with listening(url) as (teller, ear):
        until(lambda: ear.times == 1)  # that it listens now
        teller.tell()
        until(lambda: ear.times == 2)


def test_a_process_does_not_hear_its_own_hints(url: str) -> None:
    own = Ear()
    with listening(url) as (teller, others), teller.listen(own):
        until(lambda: own.times == others.times == 1)
        teller.tell()
        until(lambda: others.times == 2)
    assert own.times == 1


def test_a_hint_of_another_log_is_not_heard(url: str, asked: Connection) -> None:
    other = RedisHints(asked, uuid4)
    with closing(other), listening(url) as (teller, ear):
        until(lambda: ear.times == 1)
        other.tell()
        other.close()  # It is sent by now.
        teller.tell()
        until(lambda: ear.times == 2)


def test_who_listens_to_a_log_that_was_restored_hears_the_hints_of_its_new_incarnation(
    asked: Connection,
) -> None:
    was, restored = [uuid4()], uuid4()
    teller, listener = RedisHints(asked, lambda: restored), RedisHints(asked, lambda: was[-1])
    ear = Ear()
    with closing(teller), closing(listener), listener.listen(ear):
        until(lambda: ear.times == 1)
        was.append(restored)
        until(lambda: ear.times == 2)  # hints may have been missed
        until(lambda: is_heard(teller, ear))


def test_the_last_hint_is_told_before_it_is_closed(url: str) -> None:
    ear = Ear()
    with telling(url) as listener, listener.listen(ear):
        until(lambda: ear.times == 1)
        with telling(url) as teller:
            teller.tell()
        until(lambda: ear.times == 2)


def test_telling_a_redis_that_is_down_is_tried_and_given_up(
    own_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    own_server.kill()
    with telling(own_server.url) as teller:
        teller.tell()
    assert "is of no use now" in caplog.text


def test_who_listens_to_a_redis_that_is_down_hears_when_it_is_there(own_server: Server) -> None:
    own_server.kill()
    with listening(own_server.url) as (teller, ear):
        assert ear.times == 0
        own_server.start()
        until(lambda: ear.times == 1)
        until(lambda: is_heard(teller, ear))


def test_who_listens_to_a_redis_that_is_killed_amid_hears_when_it_is_back(
    own_server: Server,
) -> None:
    with listening(own_server.url) as (teller, ear):
        until(lambda: ear.times == 1)
        own_server.kill()
        own_server.start()
        until(lambda: ear.times == 2)  # hints may have been missed
        until(lambda: is_heard(teller, ear))


@pytest.mark.usefixtures("impatient")
def test_who_tells_a_redis_that_says_nothing_is_not_kept_waiting(own_server: Server) -> None:
    with listening(own_server.url) as (teller, ear):
        until(lambda: ear.times == 1)
        with own_server.paused():
            teller.tell()
        until(lambda: is_heard(teller, ear))


def test_a_redis_that_was_flushed_passes_hints_on(own_server: Server) -> None:
    with listening(own_server.url) as (teller, ear):
        until(lambda: ear.times == 1)
        own_server.flush()
        until(lambda: is_heard(teller, ear))


def test_a_redis_that_evicts_passes_hints_on(own_server: Server) -> None:
    with own_server.evicting(room=1), listening(own_server.url) as (teller, ear):
        until(lambda: ear.times == 1)
        until(lambda: is_heard(teller, ear))


def test_a_redis_with_another_password_is_as_good_as_none(own_server: Server) -> None:
    with own_server.client() as client:
        client.config_set("requirepass", "swordfish")
        try:
            with listening(own_server.url) as (teller, ear):
                teller.tell()
        finally:
            client.config_set("requirepass", "")
    assert ear.times == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_subscription_on_postgresql_wakes_up_by_redis(
    version: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path))
    place = fresh_log(version)
    with onrecord.connect(place, redis=url) as writer, onrecord.connect(place, redis=url) as reader:
        writer.conversation("support/4711").user("one")
        (end,) = [cursor for cursor in reader.cursors() if cursor.position]
        with reader.subscribe(replace(end, position=0)) as events, ThreadPoolExecutor(1) as pool:
            found = [next(events) for _ in range(end.position)]
            # From here on nobody looks by himself in time.
            monkeypatch.setattr(subscription, "POLL_SECONDS", 3600)
            following = pool.submit(next, events)
            writer.conversation("support/4711").user("two")
            assert following.result(timeout=PATIENCE).position == len(found) + 1
    server(version).drop(place)
