"""Readers of a tail miss nothing while Redis is down, slow, flushed, full or another's."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count, islice

import pytest

from onrecord.adapters.redis import relay as relaying
from onrecord.adapters.redis import tails
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.redis.tails import mark_key
from onrecord.domain.log import Subscription
from tests.adapters.redis.followers import Followers, relayed
from tests.patience import PATIENCE, until
from tests.redis_server import Server

SEED = 4711


@pytest.fixture(autouse=True)
def brief_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let readers find out soon that nobody relays."""
    monkeypatch.setattr(relaying, "LEASE_MILLISECONDS", 200)


def said_and_heard(followers: Followers, reader: Subscription, text: str) -> bool:
    """Whether the next event of a reader is what is said now."""
    followers.say(text)
    return next(reader) == followers.log()[-1]


def test_a_redis_that_is_down_at_the_start_leaves_readers_the_log(
    own_log: Followers, own_server: Server
) -> None:
    own_server.kill()
    with relayed(own_log), own_log.follow() as reader:
        assert said_and_heard(own_log, reader, "one")


def test_a_redis_that_is_killed_amid_leaves_readers_the_log(
    own_log: Followers, own_server: Server
) -> None:
    with relayed(own_log), own_log.follow() as reader:
        until(own_log.is_relayed)
        assert said_and_heard(own_log, reader, "one")
        own_server.kill()
        assert said_and_heard(own_log, reader, "two")


def test_a_redis_that_is_back_is_filled_and_read_again(
    own_log: Followers, own_server: Server
) -> None:
    with relayed(own_log), own_log.follow() as reader:
        own_server.kill()
        assert said_and_heard(own_log, reader, "one")
        own_server.start()
        until(own_log.is_relayed)
        assert said_and_heard(own_log, reader, "two")
        until(lambda: own_log.ids() == [3])
        assert said_and_heard(own_log, reader, "three")


@pytest.mark.usefixtures("impatient")
def test_a_redis_that_says_nothing_leaves_readers_the_log(
    own_log: Followers, own_server: Server
) -> None:
    with relayed(own_log), own_log.follow() as reader:
        until(own_log.is_relayed)
        with own_server.paused():
            assert said_and_heard(own_log, reader, "one")
        until(own_log.is_relayed)
        assert said_and_heard(own_log, reader, "two")


def test_a_redis_that_was_flushed_leaves_readers_the_log_and_is_filled_again(
    own_log: Followers, own_server: Server
) -> None:
    with relayed(own_log), own_log.follow() as reader:
        until(own_log.is_relayed)
        assert said_and_heard(own_log, reader, "one")
        own_server.flush()
        assert said_and_heard(own_log, reader, "two")
        until(own_log.is_relayed)
        own_log.say("three")
        until(lambda: own_log.ids()[-1:] == [4])
        assert next(reader).position == 4


def test_a_tail_that_was_evicted_is_taken_from_the_log(
    own_log: Followers, own_server: Server
) -> None:
    assert own_log.relay.step()
    own_log.say("one", "two")
    assert own_log.relay.step()
    others = (f"another:{number}" for number in count())
    with own_server.evicting(), own_server.client() as client:
        until(lambda: client.set(next(others), bytes(20_000)) and not client.exists(own_log.key))
    with own_log.follow() as reader:
        assert list(islice(reader, 2)) == own_log.log()


def test_entries_that_are_missing_amid_are_taken_from_the_log(own_log: Followers) -> None:
    assert own_log.relay.step()
    own_log.say("one", "two", "three", "four")
    assert own_log.relay.step()
    own_log.beside.ask(("XDEL", own_log.key, "3-0", "4-0"))
    with own_log.follow() as reader:
        assert list(islice(reader, 4)) == own_log.log()


def test_a_redis_that_is_full_leaves_readers_the_log(
    own_log: Followers, own_server: Server
) -> None:
    with relayed(own_log), own_log.follow() as reader, own_server.client() as client:
        until(own_log.is_relayed)
        client.config_set("maxmemory", 1)
        assert said_and_heard(own_log, reader, "one")
        client.config_set("maxmemory", 0)
        until(own_log.is_relayed)
        assert said_and_heard(own_log, reader, "two")


def test_a_redis_with_another_password_leaves_readers_the_log(
    own_log: Followers, own_server: Server
) -> None:
    with own_server.client() as client, closing(Connection(own_server.url)) as late:
        client.config_set("requirepass", "swordfish")
        try:
            followers = Followers(own_log.backend, late)
            with relayed(followers), followers.follow(followers.end.position) as reader:
                assert said_and_heard(followers, reader, "one")
        finally:
            client.config_set("requirepass", "")


@pytest.mark.parametrize("damage", [b"", b"x" * 200])
def test_what_another_put_into_a_tail_is_as_good_as_missing(
    own_log: Followers, damage: bytes
) -> None:
    assert own_log.relay.step()
    own_log.say("one")
    own_log.beside.ask(("XADD", own_log.key, "2-0", "event", damage))
    own_log.say("two")
    assert own_log.relay.step()
    assert own_log.ids() == [2, 3]
    with own_log.follow() as reader:
        assert list(islice(reader, 2)) == own_log.log()


def test_a_key_that_holds_something_else_leaves_readers_the_log(own_log: Followers) -> None:
    assert own_log.relay.step()
    own_log.beside.ask(("SET", own_log.key, b"another program's"))
    with own_log.follow() as reader:
        assert said_and_heard(own_log, reader, "one")


@pytest.mark.parametrize("mark", [b"1", b"2", b"99", b"-1", b"no number", b""])
def test_a_mark_that_says_what_is_not_so_keeps_nothing_from_readers(
    own_log: Followers, mark: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tails, "LOOK_SECONDS", 0.0)
    own_log.beside.ask(("HSET", mark_key(own_log.end.incarnation), own_log.end.shard, mark))
    with own_log.follow() as reader:
        assert said_and_heard(own_log, reader, "one")
        assert said_and_heard(own_log, reader, "two")


@pytest.mark.parametrize("events", [150, pytest.param(20_000, marks=pytest.mark.soak)])
def test_whatever_redis_does_under_load_every_event_comes_once_and_in_order(
    own_log: Followers, own_server: Server, events: int
) -> None:
    drawn = random.Random(SEED)

    def trouble() -> None:
        while not done.is_set():
            match drawn.choice(["kill", "flush", "evict", "lose"]):
                case "kill":
                    own_server.kill()
                    own_server.start()
                case "flush":
                    own_server.flush()
                case "evict":
                    own_log.beside.ask(("DEL", own_log.key))
                case _:
                    own_log.lose_lease()
            done.wait(drawn.random() / 50)

    def follow() -> list[int]:
        with own_log.follow() as reader:
            return [event.position for event in islice(reader, events)]

    done = threading.Event()
    with relayed(own_log), relayed(own_log), ThreadPoolExecutor(5) as pool:
        following = [pool.submit(follow) for _ in range(4)]
        troubling = pool.submit(trouble)
        try:
            for number in range(events):
                own_log.say(f"said {number}")
                done.wait(drawn.random() / 200)
            seen = [reader.result(PATIENCE) for reader in following]
        finally:
            done.set()
        troubling.result(timeout=PATIENCE)
    assert seen == [list(range(2, events + 2))] * 4, f"drawn from the seed {SEED}"
