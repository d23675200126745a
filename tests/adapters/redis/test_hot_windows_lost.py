"""A Redis that is down, slow, flushed, full or another's costs a request nothing but time."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from secrets import token_hex

import pytest

import onrecord
from onrecord.adapters.redis import connection as breaker
from onrecord.adapters.redis import connection as pace
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.store import backend_of
from tests.adapters.redis.stores import API, KEY, Stores, kept, store_on
from tests.patience import until
from tests.redis_server import Server


def test_a_redis_that_is_down_at_the_start_costs_nothing_but_time(
    own: Stores, own_server: Server
) -> None:
    own_server.kill()
    assert not own.is_hot()


def test_a_redis_that_is_killed_amid_costs_nothing_but_time(
    own: Stores, own_server: Server
) -> None:
    own.request()
    assert own.is_hot()
    own_server.kill()
    assert not own.is_hot()
    own.hot.conversation(KEY).user("And?")
    assert own.request()["messages"][-1]["content"] == "And?"


def test_a_redis_that_is_back_is_used_again(own: Stores, own_server: Server) -> None:
    own_server.kill()
    assert not own.is_hot()
    own_server.start()
    until(own.is_hot)


@pytest.mark.usefixtures("impatient")
def test_a_redis_that_says_nothing_is_not_waited_for(own: Stores, own_server: Server) -> None:
    own.request()
    with own_server.paused():
        assert not own.is_hot()
    until(own.is_hot)


def test_a_redis_whose_answers_are_late_is_left_alone_for_a_while(
    own: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.request()
    with monkeypatch.context() as late:
        late.setattr(pace, "LATE_SECONDS", 0.0)
        assert [own.is_hot() for _ in range(pace.LATE_IN_A_ROW)] == [True] * pace.LATE_IN_A_ROW
        late.setattr(breaker, "BACK_OFF", 3600.0)
        own.request()
        assert not own.is_hot()


def test_a_redis_that_was_flushed_is_filled_again(own: Stores, own_server: Server) -> None:
    own.request()
    own_server.flush()
    assert not own.is_hot()
    assert own.is_hot()


def test_a_redis_that_evicts_gives_back_what_it_has_and_no_wrong_request(
    own: Stores, own_server: Server
) -> None:
    keys = [f"support/{number}" for number in range(60)]
    for key in keys:
        own.hot.conversation(key).user(f"{key}: " + token_hex(8_000))
    with own_server.evicting():
        for key in keys:
            own.request(key)
        hits = sum(not own.renders(partial(own.request, key)) for key in keys)
    assert hits < len(keys)


def test_a_redis_with_another_password_costs_nothing_but_time(
    own: Stores, own_server: Server, tmp_path: Path
) -> None:
    with own_server.client() as client, closing(Connection(own_server.url)) as late:
        client.config_set("requirepass", "swordfish")
        try:
            store = store_on(backend_of(own.hot), tmp_path, late)
            assert store.conversation(KEY).request(API)["messages"]
        finally:
            client.config_set("requirepass", "")


@pytest.mark.parametrize("damage", [b"", b"{}", b"\x00" * 64])
def test_what_another_put_there_is_as_good_as_missing(own: Stores, damage: bytes) -> None:
    own.request()
    (key,) = kept(own.beside, backend_of(own.hot))
    answers = own.beside.ask(("HKEYS", key))
    assert answers is not None
    own.beside.ask(("HSET", key, answers[0][0], damage))
    assert not own.is_hot()
    assert own.is_hot()


def test_a_request_that_was_kept_for_another_is_as_good_as_missing(own: Stores) -> None:
    own.request()
    own.request(window=onrecord.Window(exchanges=1, step=1))
    (key,) = kept(own.beside, backend_of(own.hot))
    answers = own.beside.ask(("HGETALL", key))
    assert answers is not None
    (one, first), (other, second) = answers[0].items()
    own.beside.ask(("HSET", key, one, second, other, first))
    assert not own.is_hot()


def test_a_key_that_holds_something_else_costs_nothing_but_time(own: Stores) -> None:
    own.request()
    (key,) = kept(own.beside, backend_of(own.hot))
    own.beside.ask(("DEL", key), ("SET", key, b"another program's"))
    assert not own.is_hot()
