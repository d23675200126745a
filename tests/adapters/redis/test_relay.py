"""One relay relays at a time; whoever takes over, nothing is lost and nothing erased stays."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.redis import relay as relaying
from onrecord.adapters.redis.connection import Command
from onrecord.adapters.redis.relay import Relay
from onrecord.adapters.redis.tails import mark_key
from onrecord.domain.log import Cursor
from tests.adapters.redis.followers import Followers, relayed
from tests.patience import PATIENCE, until


def test_of_two_relays_one_relays(own_log: Followers) -> None:
    other = Relay(own_log.beside, own_log.backend)
    assert own_log.relay.step()
    assert not other.step()
    own_log.say("one")
    assert own_log.relay.step()
    assert own_log.ids() == [2]


def test_a_second_relay_does_no_harm(own_log: Followers) -> None:
    other = Relay(own_log.beside, own_log.backend)
    assert own_log.relay.step()
    own_log.lose_lease()
    assert other.step()
    own_log.say("one", "two")
    assert other.step()
    own_log.lose_lease(to=own_log.relay.name)
    assert own_log.relay.step()
    own_log.say("three")
    assert own_log.relay.step()
    assert own_log.ids() == [2, 3, 4]


def test_a_relay_that_ends_lets_the_next_one_begin_at_once(own_log: Followers) -> None:
    with relayed(own_log):
        until(own_log.is_relayed)
    assert own_log.relay.step()


def test_a_relay_that_is_killed_is_followed_by_another_and_readers_miss_nothing(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaying, "LEASE_MILLISECONDS", 100)
    with own_log.follow() as reader:
        assert own_log.relay.step()  # and says no more
        own_log.say("one")
        assert next(reader).position == 2
        with relayed(own_log):
            until(own_log.is_relayed)
            own_log.say("two")
            assert next(reader).position == 3


def test_a_relay_outlives_a_log_that_cannot_be_read(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with relayed(own_log):
        until(own_log.is_relayed)

        def cursors() -> list[Cursor]:
            raise onrecord.StorageUnavailable("the server went away")

        with monkeypatch.context() as broken:
            broken.setattr(own_log.backend, "cursors", cursors)
            until(lambda: "nothing is relayed" in caplog.text)
        own_log.say("one")
        until(lambda: own_log.ids() == [2])


def test_a_relay_ends_when_the_log_is_closed(own_log: Followers) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(own_log.relay.run, threading.Event())
        until(own_log.is_relayed)
        own_log.backend.close()
        running.result(timeout=PATIENCE)
    assert not own_log.is_relayed()


def test_what_a_redis_had_saved_before_an_erasure_is_not_read_when_it_is_back(
    own_log: Followers,
) -> None:
    assert own_log.relay.step()
    own_log.say("a secret")
    assert own_log.relay.step()
    answers = own_log.beside.ask(("DUMP", own_log.key))
    assert answers is not None
    own_log.backend.forget(own_log.conversation)
    assert own_log.relay.step()
    own_log.lose_lease()
    own_log.beside.ask(("RESTORE", own_log.key, 0, answers[0], "REPLACE"))
    assert own_log.ids() == [2]
    assert own_log.relay.step()
    assert own_log.ids() == []


def test_a_log_of_another_incarnation_is_relayed_anew(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own_log.relay.step()
    own_log.say("one")
    assert own_log.relay.step()
    ends = [replace(end, incarnation=uuid4()) for end in own_log.backend.cursors()]
    monkeypatch.setattr(own_log.backend, "cursors", lambda: ends)
    assert own_log.relay.step()
    assert own_log.ids() == []
    assert own_log.beside.ask(("EXISTS", mark_key(ends[0].incarnation))) == [1]


def test_a_log_that_was_set_back_is_relayed_anew(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own_log.relay.step()
    own_log.say("one")
    assert own_log.relay.step()
    ends = [replace(end, position=end.position - 1) for end in own_log.backend.cursors()]
    monkeypatch.setattr(own_log.backend, "cursors", lambda: ends)
    assert own_log.relay.step()
    assert own_log.ids() == []


def test_what_was_added_though_no_answer_came_is_taken_back(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = own_log.beside.ask

    def unanswered_if_added(*commands: Command, may_be_refused: bool = False) -> list[Any] | None:
        answers = ask(*commands, may_be_refused=may_be_refused)
        return None if commands[0][0] == "XADD" else answers

    assert own_log.relay.step()
    own_log.say("a secret")
    with monkeypatch.context() as broken:
        broken.setattr(own_log.beside, "ask", unanswered_if_added)
        assert not own_log.relay.step()
    assert own_log.ids() == [2]
    own_log.lose_lease(to="another")
    assert not own_log.relay.step()
    assert own_log.ids() == []
