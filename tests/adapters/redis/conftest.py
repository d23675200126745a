"""A Redis for each test, empty; and waits that fit a machine on which much runs at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
import redis

from onrecord.adapters.redis import accelerator, connection
from onrecord.adapters.redis import connection as breaker
from onrecord.adapters.redis.connection import Connection
from onrecord.domain.log import Backend
from tests import redis_server
from tests.adapters.redis.clock import Clock
from tests.adapters.redis.followers import Followers
from tests.adapters.redis.stores import followed
from tests.contract.places import PLACES
from tests.redis_server import Server

LONG = 20.0
"""More seconds than an answer ever takes: what the server does not do is then never bad luck."""

SHORT = 0.05


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait long for what must come, and not long until a Redis that failed is asked again."""
    monkeypatch.setattr(connection, "ANSWER_SECONDS", LONG)
    monkeypatch.setattr(connection, "CONNECT_SECONDS", LONG)
    for module in (breaker, accelerator):
        monkeypatch.setattr(module, "BACK_OFF", SHORT)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still, for who backs off."""
    stopped = Clock()
    monkeypatch.setattr(breaker, "time", stopped)
    monkeypatch.setattr(breaker, "BACK_OFF", 5.0)
    return stopped


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait as briefly as in earnest for a server that is to be silent."""
    monkeypatch.setattr(connection, "ANSWER_SECONDS", SHORT)


@pytest.fixture
def own_server() -> Iterator[Server]:
    """The tests' own Redis, empty; it runs when the test begins, whatever that does to it."""
    if redis_server.GIVEN and redis_server.binary() is None:
        pytest.skip("a Redis of yours is not to be killed: it takes a redis-server of the tests'")
    own = redis_server.server()
    own.flush()
    yield own
    own.start()


@pytest.fixture
def url() -> Iterator[str]:
    """Where a Redis is on the network, yours or the tests'; what the test puts there goes with it."""
    given = redis_server.GIVEN or redis_server.server().network_url
    with closing(cast("Any", redis.Redis).from_url(given)) as client:
        before = set(client.scan_iter("onrecord:*"))
        yield given
        for key in set(client.scan_iter("onrecord:*")) - before:
            client.delete(key)


@pytest.fixture
def asked(url: str) -> Iterator[Connection]:
    """A connection to that Redis."""
    with closing(Connection(url)) as connected:
        yield connected


@pytest.fixture(params=PLACES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    place = PLACES[request.param](tmp_path)
    with closing(place.open()) as opened:
        yield opened
    place.remove()


@pytest.fixture(params=PLACES)
def followers(
    request: pytest.FixtureRequest, tmp_path: Path, asked: Connection
) -> Iterator[Followers]:
    place = PLACES[request.param](tmp_path)
    with closing(place.open()) as backend:
        yield Followers(followed(backend), asked)
    place.remove()


@pytest.fixture
def own_log(tmp_path: Path, own_server: Server) -> Iterator[Followers]:
    """Beside the tests' own Redis, to which much will be done."""
    backend = PLACES["memory"](tmp_path).open()
    with closing(backend), closing(Connection(own_server.url)) as beside:
        yield Followers(followed(backend), beside)
