"""Bodies that are held at once: together they have so many bytes, and the rest is refused unread."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.routes import log_blobs
from tests.adapters.service.keys import Keys
from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE, until

MOST = 100_000
LIMITS = Limits(bodies=MOST, body_seconds=PATIENCE)
READER, WRITER = UUID(int=1), UUID(int=2)
PATHS = ("/v1/conversations/a/prompts", "/v1/conversations/a/documents", "/v1/append")


@contextmanager
def open_body(
    service: Served, path: str, length: str, key: str | None = None
) -> Generator[socket.socket]:
    """A request whose body is announced, and does not come."""
    at = urlsplit(service.url)
    kind = "application/octet-stream" if path.endswith("documents") else "application/json"
    key_line = "" if key is None else f"authorization: Bearer {key}\r\n"
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n{key_line}{length}\r\n\r\n"
    with socket.create_connection((at.hostname or "", at.port or 0), PATIENCE) as connection:
        connection.sendall(head.encode())
        yield connection


def held(service: Served) -> int:
    return service.service.bodies.total


def holds(service: Served, size: int) -> bool:
    return held(service) == size


def say(service: Served, size: int, key: str | None = None) -> tuple[int, str | None]:
    answer = service.ask("POST", "/v1/conversations/a/prompts", {"text": "x" * size}, key=key)
    return answer.status, answer.headers.get("retry-after")


@pytest.mark.parametrize("path", PATHS)
def test_what_bodies_announce_is_held_until_they_are_answered(path: str) -> None:
    with served(limits=LIMITS) as service:
        with open_body(service, path, "content-length: 80000"):
            until(lambda: held(service) == 80_000, "the body that is announced")
            assert say(service, 30_000) == (503, "1")
            assert say(service, 10_000) == (201, None)
        until(lambda: not held(service), "the end of the body")
        assert say(service, 30_000) == (201, None)
        assert held(service) == 0


def test_a_body_without_room_is_refused_before_it_is_read() -> None:
    with (
        served(limits=LIMITS) as service,
        open_body(service, PATHS[0], "content-length: 80000"),
    ):
        until(lambda: held(service) == 80_000, "the body that is announced")
        with open_body(service, PATHS[0], "content-length: 30000") as connection:
            assert connection.recv(65_536).startswith(b"HTTP/1.1 503")


def test_a_body_of_no_announced_length_is_held_as_it_comes() -> None:
    with (
        served(limits=LIMITS) as service,
        open_body(service, PATHS[0], "transfer-encoding: chunked") as connection,
    ):
        for count in range(1, 5):
            connection.sendall(b"4e20\r\n" + b" " * 20_000 + b"\r\n")
            until(partial(holds, service, count * 20_000), "the chunk")
        assert say(service, 30_000) == (503, "1")
        connection.sendall(b"7530\r\n" + b" " * 30_000 + b"\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 503")
        until(lambda: not held(service), "the end of the body")


def test_one_key_has_half_of_the_room_for_bodies() -> None:
    with served(limits=LIMITS, keyring=Keys()) as service:
        with open_body(service, PATHS[0], "content-length: 40000", "writer"):
            until(lambda: held(service) == 40_000, "the body that is announced")
            assert say(service, 20_000, "writer") == (429, "1")
            assert say(service, 20_000, "stranger") == (201, None)
        until(lambda: not held(service), "the end of the body")
        assert say(service, 20_000, "writer") == (201, None)


def test_a_document_that_goes_through_a_file_takes_one_piece_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_blobs, "PIECE_SIZE", 60_000)
    path = f"/v1/log/conversations/{1:032x}/blobs"
    with served(limits=LIMITS) as service:
        at = urlsplit(service.url)
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000000\r\n\r\n"
        with socket.create_connection((at.hostname or "", at.port or 0), PATIENCE) as connection:
            connection.sendall(head.encode() + b"x" * 10_000)
            until(lambda: held(service) == 60_000, "the piece")
            assert say(service, 50_000) == (503, "1")
        until(lambda: not held(service), "the end of the document")


def test_the_bytes_of_bodies_are_metrics() -> None:
    with (
        served(limits=LIMITS) as service,
        open_body(service, PATHS[0], "content-length: 80000"),
    ):
        until(lambda: held(service) == 80_000, "the body that is announced")
        assert b"onrecord_http_body_bytes 80000.0" in service.ask("GET", "/metrics").data


def test_a_share_is_given_back_whatever_happens() -> None:
    quota = Quota(10)
    with pytest.raises(Problem), quota.share(READER) as share:
        share.hold(4)
        share.hold(3)
        assert (quota.total, quota.of_keys[READER]) == (4, 4)
        share.hold(6)
    with pytest.raises(Problem), quota.share(None) as share, quota.share(WRITER) as other:
        share.hold(8)
        other.hold(3)
    assert (quota.total, dict(quota.of_keys)) == (0, {})
