"""`onrecord.connect(url, redis=...)`: a store with a Redis beside it, whatever that does."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from redis import Redis

import onrecord
from onrecord import AsyncStore
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.redis.accelerator import Accelerator
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.redis.tails import tail_key
from onrecord.adapters.settings import settings
from onrecord.adapters.store import Store
from onrecord.domain.log import Backend, RecordedEvent
from tests.adapters.redis.stores import API, KEY, followed, said
from tests.factories import BECAUSE, TENANT
from tests.patience import PATIENCE

NOBODY = "redis://:swordfish@127.0.0.1:1/0"
"""Where no Redis ever listens (port 1)."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONRECORD_REDIS", raising=False)


def test_without_a_redis_there_is_none() -> None:
    assert settings({"ONRECORD_REDIS": ""}).redis is None


def test_settings_are_shown_without_the_passwords_that_urls_hold() -> None:
    names = ("ONRECORD_URL", "ONRECORD_LISTEN_URL", "ONRECORD_REDIS", "ONRECORD_KEYS")
    assert "swordfish" not in repr(
        settings(dict.fromkeys(names, NOBODY) | {"ONRECORD_KEK": "env:K"})
    )


def test_a_store_that_finds_no_redis_does_all_that_it_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with onrecord.connect("sqlite:///talks.db", redis=NOBODY) as store:
        chat = store.conversation(KEY)
        said(chat)
        assert chat.request(API)["messages"]
        (end,) = store.cursors()
        with store.subscribe(replace(end, position=0)) as events:
            assert next(events).position == 1
        assert store.forget(KEY, **BECAUSE).events == end.position
        assert "swordfish" not in repr(store)
    assert caplog.text.count("is of no use now") == 1
    assert "swordfish" not in caplog.text


def test_a_store_forgets_in_redis_too(url: str) -> None:
    with onrecord.connect("memory://", redis=url) as store:
        chat = store.conversation(KEY)
        said(chat)
        chat.request(API)
        store.forget(KEY, **BECAUSE)
        with pytest.raises(onrecord.NothingToSend):
            chat.request(API)


def test_a_subscription_follows_the_tail_of_its_tenant(url: str) -> None:
    with onrecord.connect("sqlite:///talks.db", redis=url) as store, ThreadPoolExecutor(1) as pool:
        said(store.conversation(KEY))
        (end,) = store.cursors()
        with store.subscribe(end) as events:
            following = pool.submit(next, events)
            store.conversation(KEY).user("And?")
            assert following.result(timeout=PATIENCE).position == end.position + 1


def test_tails_of_an_encrypted_store_hold_ciphertext(url: str, tmp_path: Path) -> None:
    new_key_file(tmp_path / "kek")
    with (
        onrecord.connect("sqlite:///talks.db", redis=url, keys="keys.db", kek="kek") as store,
        closing(cast("Any", Redis).from_url(url)) as client,
    ):
        relay, (start,) = store.relay(), store.cursors()
        assert relay is not None
        relay.step()
        store.conversation(KEY).user("swordfish")
        relay.step()
        tail = tail_key(start.incarnation, start.shard)
        assert client.xlen(tail) == 2
        assert b"swordfish" not in (client.dump(tail) or b"")
        with store.subscribe(start) as events:
            assert b"swordfish" in b"".join(next(events).body or b"" for _ in range(2))


def test_closing_a_store_ends_its_subscriptions(url: str) -> None:
    store = onrecord.connect("memory://", redis=url)
    said(store.conversation(KEY))
    (end,) = store.cursors()
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(list[RecordedEvent], store.subscribe(end))
        store.close()
        assert rest.result(timeout=PATIENCE) == []


def test_a_url_that_is_none_of_a_redis_is_invalid_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(onrecord.InvalidInput, match="write redis://"):
        onrecord.connect("sqlite:///talks.db", redis="localhost:6379")
    assert not (tmp_path / "talks.db").exists()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("onrecord.adapters.redis")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(onrecord.StorageUnavailable, match=r"pip install 'onrecord\[redis\]'"):
        onrecord.connect("memory://", redis="redis://localhost")


async def test_coroutines_use_a_store_beside_redis(
    url: str, backend: Backend, tmp_path: Path
) -> None:
    beside = Connection(url)
    accelerator = Accelerator(beside, followed(backend))
    spool = Spool(tmp_path / "spool")
    with Store(backend, "test://", spool=spool, tenant=TENANT, accelerator=accelerator) as store:
        chat = AsyncStore(store).conversation(KEY)
        await chat.user("Hello")
        assert (await chat.request(API))["messages"]
        [first, *_] = store.conversation(KEY).events()
        cursor = next(each for each in store.cursors() if each.shard == first.shard)
        async with AsyncStore(store).subscribe(replace(cursor, position=0)) as events:
            async with asyncio.timeout(PATIENCE):
                assert (await anext(events)).type == "conversation.started"
                following = asyncio.ensure_future(anext(events))
                assert (await following).type == "message.recorded"
                last = asyncio.ensure_future(anext(events))
                await chat.user("More")
                assert (await last).position == cursor.position + 1
        await AsyncStore(store).forget(KEY, **BECAUSE)
