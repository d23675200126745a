"""Whatever a Redis does, who asks it gets an answer or None, and soon."""

from __future__ import annotations

import os
import signal
import socketserver
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.redis.connection import Connection, client_of
from tests.patience import PATIENCE, join, until
from tests.redis_server import Server

LONG = 20.0
PASSWORD = "open-sesame"


def is_there(asked: Connection) -> bool:
    return asked.ask(("PING",)) == [True]


@contextmanager
def answering(answer: bytes) -> Generator[str]:
    """Where something listens that is no Redis: it says this to what it is asked, and goes."""

    class Answer(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while heard := self.request.recv(4096):
                introductions = heard.count(b"SETINFO")  # The driver says who it is.
                self.request.sendall(b"+OK\r\n" * introductions or answer)
                if not introductions:
                    return

    with socketserver.TCPServer(("127.0.0.1", 0), Answer) as listening:
        port = listening.server_address[1]
        serving = threading.Thread(target=listening.handle_request)
        serving.start()
        yield f"redis://127.0.0.1:{port}"
        join(serving)


def test_answers_come_in_the_order_of_the_commands(asked: Connection) -> None:
    key = "onrecord:test"
    assert asked.ask(("SET", key, b"1"), ("INCR", key), ("GET", key)) == [True, 2, b"2"]


@pytest.mark.parametrize("scheme", ["redis", "rediss", "unix"])
def test_whatever_the_scheme_it_is_the_server_that_fails_not_the_way_to_ask_it(
    scheme: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = f"{tmp_path}/redis.sock" if scheme == "unix" else "127.0.0.1:1"
    with closing(Connection(f"{scheme}://{nobody}")) as asked:
        assert not is_there(asked)
    assert "(ConnectionError: Error" in caplog.text


def test_it_is_reached_by_the_network_and_by_a_socket(own_server: Server) -> None:
    for url in (own_server.network_url, own_server.url):
        with closing(Connection(url)) as asked:
            assert is_there(asked)


def test_as_many_connections_are_opened_as_threads_ask_at_once(url: str) -> None:
    client = client_of(url, LONG)
    with closing(client.connection_pool) as pool:
        assert len([pool.get_connection() for _ in range(120)]) == 120


def test_commands_are_done_all_or_none(asked: Connection, own_server: Server) -> None:
    with own_server.client() as client:
        assert asked.ask(("SET", "onrecord:a", 1), ("NO-SUCH-COMMAND",)) is None
        assert client.get("onrecord:a") is None


def test_one_that_is_down_at_the_start_is_no_error(own_server: Server) -> None:
    own_server.kill()
    with closing(Connection(own_server.url)) as asked:
        assert not is_there(asked)


def test_one_that_is_killed_amid_is_no_error(own_server: Server) -> None:
    with closing(Connection(own_server.url)) as asked:
        assert is_there(asked)
        own_server.kill()
        assert not is_there(asked)


def test_one_that_is_back_is_asked_again(own_server: Server) -> None:
    with closing(Connection(own_server.url)) as asked:
        own_server.kill()
        assert not is_there(asked)
        own_server.start()
        until(lambda: is_there(asked))


@pytest.mark.usefixtures("impatient")
def test_one_that_says_nothing_is_not_waited_for(own_server: Server) -> None:
    with closing(Connection(own_server.url)) as asked:
        assert is_there(asked)
        with own_server.paused():
            assert not is_there(asked)
        until(lambda: is_there(asked))


def test_one_that_failed_is_asked_all_the_same_by_who_insists(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onrecord.adapters.redis.connection.BACK_OFF", 3600.0)
    with closing(Connection(own_server.url)) as asked:
        own_server.kill()
        assert not is_there(asked)
        own_server.start()
        assert not is_there(asked)
        assert asked.ask(("PING",), insists=True) == [True]
        assert is_there(asked)


def test_one_that_is_full_is_of_no_use(own_server: Server) -> None:
    with own_server.client() as client, closing(Connection(own_server.url)) as asked:
        client.config_set("maxmemory", 1)
        assert asked.ask(("SET", "onrecord:a", b"1")) is None
        client.config_set("maxmemory", 0)
        until(lambda: asked.ask(("SET", "onrecord:a", b"1")) == [True])


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b":no number\r\n",
        b"$99999999999999999999\r\n",
        b"-MOVED 1 nowhere\r\n",
        b"*1\r\n" * 2000,
        b"+OK\r\n:5\r\n$1\r\nx\r\n:7\r\n",
    ],
)
def test_what_answers_in_no_words_of_a_redis_is_as_good_as_none(answer: bytes) -> None:
    with answering(answer) as url, closing(Connection(url)) as asked:
        assert asked.ask(("SET", "onrecord:a", 1), ("GET", "onrecord:a")) is None


def test_a_closed_one_is_asked_nothing(url: str) -> None:
    asked = Connection(url)
    assert is_there(asked)
    asked.close()
    assert not is_there(asked)


def test_who_asks_while_it_is_closed_leaves_no_connection_open(url: str) -> None:
    key, name = "onrecord:awaited", "closed-meanwhile"
    asked = Connection(f"{url}?client_name={name}")
    with client_of(url, LONG) as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(asked.ask, ("BLPOP", key, 0), is_patient=True)
        until(lambda: client.info("clients")["blocked_clients"] > 0)
        asked.close()
        client.lpush(key, b"come")
        assert waiting.result(timeout=PATIENCE) == [(key.encode(), b"come")]
        until(lambda: name not in {each["name"] for each in client.client_list()})


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own(asked: Connection) -> None:
    assert is_there(asked)
    child = os.fork()
    if child == 0:
        os._exit(0 if is_there(asked) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert is_there(asked)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_what_a_thread_of_its_parent_held(
    asked: Connection,
) -> None:
    held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        quick: Any = vars(asked)["_quick"]
        with vars(quick.connection_pool)["_lock"]:
            held.set()
            may_go.wait(PATIENCE)

    assert is_there(asked)
    holding = threading.Thread(target=hold)
    holding.start()
    held.wait(PATIENCE)
    child = os.fork()
    if child == 0:
        signal.alarm(int(LONG))
        os._exit(0 if is_there(asked) else 1)
    may_go.set()
    join(holding)
    assert os.waitpid(child, 0)[1] == 0


def test_a_wrong_password_is_as_good_as_no_redis_and_stands_in_no_log(
    own_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with own_server.client() as client:
        client.config_set("requirepass", PASSWORD)
        try:
            wrong = Connection(f"{own_server.url}?password=swordfish")
            right = Connection(f"{own_server.url}?password={PASSWORD}")
            with closing(wrong), closing(right):
                assert not is_there(wrong)
                assert is_there(right)
        finally:
            client.config_set("requirepass", "")
    assert "is of no use now" in caplog.text
    assert "swordfish" not in caplog.text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://localhost", "redis://localhost:6379/0"),
        ("redis://:secret@there:1234/2", "redis://there:1234/2"),
        ("rediss://me:secret@there/2?password=secret", "rediss://there:6379/2"),
        ("unix:///run/redis.sock?password=secret", "unix:///run/redis.sock"),
    ],
)
def test_it_is_shown_without_its_password(url: str, shown: str) -> None:
    with closing(Connection(url)) as asked:
        assert asked.shown == shown


@pytest.mark.parametrize(
    "url",
    [
        *("redis://ana:12#hush@127.0.0.1:1", "redis://ana:12/hush@127.0.0.1:1"),
        *("rediss://ana:12?hush@127.0.0.1:1", "redis://127.0.0.1:1?password=hush@x"),
        *("unix://ana:hu/sh@/redis.sock", "unix:///redis#hush.sock"),
    ],
)
def test_a_password_that_would_be_taken_for_a_place_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(onrecord.InvalidInput, match="%23 for a #, %2F for a /") as failed:
        Connection(url)
    assert "sh@" not in str(failed.value)
    assert "hush" not in str(failed.value)
    assert "ana" not in str(failed.value)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://ana:1%232%2F3%3F4%405@127.0.0.1:1/2", "redis://127.0.0.1:1/2"),
        ("unix:///a@b/redis.sock?username=ana@here", "unix:///a@b/redis.sock"),
    ],
)
def test_a_place_that_can_be_told_from_the_password_is_shown(url: str, place: str) -> None:
    with closing(Connection(url)) as asked:
        assert asked.shown == place


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://:secret@there",
        "redis://:secret@a:b",
        "redis://:secret@a..b",
        "redis://:secret@a\0b",
        "redis+sentinel://:secret@there/main",
        "rediss://:secret@there?ssl_cert_reqs=maybe",
        "rediss://:secret@there?ssl_ca_cert=misspelt",
    ],
)
def test_what_is_no_url_is_invalid_input_that_does_not_repeat_it(url: str) -> None:
    with pytest.raises(onrecord.InvalidInput, match="write redis://") as failed:
        Connection(url)
    assert "secret" not in str(failed.value)


def test_no_option_in_the_url_changes_how_it_is_asked(url: str) -> None:
    mark = "&" if "?" in url else "?"
    wished = f"{url}{mark}socket_timeout=3600&socket_connect_timeout=3600&decode_responses=1&protocol=3&no_such=1"
    with closing(Connection(wished)) as asked:
        assert asked.ask(("ECHO", b"\xff")) == [b"\xff"]
    waits = client_of(wished, 1.5).connection_pool.connection_kwargs
    assert (waits["socket_timeout"], waits["socket_connect_timeout"]) == (1.5, LONG)
