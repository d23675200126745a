"""HTTP that no client sends by accident: the right status or a closed connection, and nothing stored."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from onrecord.adapters.gateway import bounded_http
from onrecord.adapters.service.bodies import Limits
from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE

PATH = b"/v1/conversations/hostile/prompts"
BODY = b'{"text": "hostile"}'
HOST = b"host: localhost\r\ncontent-type: application/json\r\n"
LENGTH = b"content-length: %d\r\n" % len(BODY)
POST = b"POST " + PATH + b" HTTP/1.1\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
IN_CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
SECOND = POST + HOST + LENGTH + b"\r\n" + BODY

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")


@pytest.fixture
def quick() -> Iterator[Served]:
    """A service that waits for no body for long."""
    with served(limits=Limits(body_seconds=0.2, body=1 << 20)) as service:
        yield service


def sent(service: Served, *pieces: bytes) -> list[int]:
    """Statuses of all answers to these bytes, until the connection is closed or nothing comes."""
    host, port = urlsplit(service.url).hostname, urlsplit(service.url).port
    assert host is not None
    with closing(socket.create_connection((host, port or 0), PATIENCE)) as connection:
        answer = bytearray()
        try:
            for piece in pieces:
                connection.sendall(piece)
        except OSError:
            pass  # It was refused before all was sent.
        try:
            answer += connection.recv(65536)
            # Nothing more comes from here: what is left is answered, or the connection is closed.
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                answer += piece
        except OSError:
            pass
    return [int(status) for status in _STATUS.findall(answer)]


def is_untouched(service: Served) -> bool:
    return service.ask("GET", "/v1/conversations/hostile").status == 404


MALFORMED = {
    "two lengths": POST + HOST + LENGTH + b"content-length: 3\r\n\r\n" + BODY,
    "two equal lengths": POST + HOST + LENGTH + LENGTH + b"\r\n" + BODY,
    "a list of lengths": POST + HOST + b"content-length: 19, 3\r\n\r\n" + BODY,
    "a signed length": POST + HOST + b"content-length: +19\r\n\r\n" + BODY,
    "a length below zero": POST + HOST + b"content-length: -1\r\n\r\n" + BODY,
    "length and chunks": POST + HOST + LENGTH + CHUNKED + b"\r\n" + IN_CHUNKS,
    "chunks and length": POST + HOST + CHUNKED + LENGTH + b"\r\n" + IN_CHUNKS + SECOND,
    "chunks of another spelling": POST + HOST + b"transfer-encoding: xchunked\r\n\r\n" + IN_CHUNKS,
    "chunks twice": POST + HOST + b"transfer-encoding: chunked, identity\r\n\r\n" + IN_CHUNKS,
    "a size that is none": POST + HOST + CHUNKED + b"\r\nzz\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a huge size": POST + HOST + CHUNKED + b"\r\n" + b"f" * 20 + b"\r\n" + BODY,
    "a coding before the chunks": POST
    + HOST
    + b"transfer-encoding: gzip, chunked\r\n\r\n"
    + IN_CHUNKS,
    "a lone CR": POST + HOST + b"x-a: b\rcontent-length: 19\r\n\r\n" + BODY,
    "a space before the colon": POST + HOST + b"content-length : 19\r\n\r\n" + BODY,
    "a null byte": POST + HOST + b"x-a: b\x00c\r\n" + LENGTH + b"\r\n" + BODY,
    "no version": b"POST " + PATH + b"\r\n" + HOST + LENGTH + b"\r\n" + BODY,
    "another version": b"POST " + PATH + b" HTTP/9.9\r\n" + HOST + LENGTH + b"\r\n" + BODY,
    "no host": POST + b"content-type: application/json\r\n" + LENGTH + b"\r\n" + BODY,
    "two hosts": POST + HOST + b"host: other\r\n" + LENGTH + b"\r\n" + BODY,
    "huge headers": POST + HOST + b"x-a: " + b"b" * 200_000 + b"\r\n" + LENGTH + b"\r\n" + BODY,
    "many headers": POST + HOST + b"x-a: b\r\n" * 20_000 + LENGTH + b"\r\n" + BODY,
    "a huge path": b"POST "
    + PATH
    + b"?"
    + b"a" * 200_000
    + b" HTTP/1.1\r\n"
    + HOST
    + LENGTH
    + b"\r\n"
    + BODY,
    "a path that goes up": b"POST /v1/../../etc/passwd HTTP/1.1\r\n"
    + HOST
    + LENGTH
    + b"\r\n"
    + BODY,
    "a body that is packed": POST + HOST + b"content-encoding: gzip\r\n" + LENGTH + b"\r\n" + BODY,
    "a body of a form": POST
    + b"host: localhost\r\ncontent-type: text/plain\r\n"
    + LENGTH
    + b"\r\n"
    + BODY,
    "a body that is cut": POST + HOST + b"content-length: 1000\r\n\r\n" + BODY,
    "chunks that are cut": POST + HOST + CHUNKED + b"\r\nff\r\n" + BODY,
    "a body that is announced too large": POST
    + HOST
    + b"content-length: 9999999999\r\n\r\n"
    + BODY,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_good_http_stores_nothing(quick: Served, name: str) -> None:
    statuses = sent(quick, MALFORMED[name])
    assert len(statuses) <= 1, "a second request was smuggled in"
    assert set(statuses) <= {400, 404, 405, 408, 413, 414, 415, 421, 422, 431}
    assert is_untouched(quick)


def test_a_body_that_is_too_slow_is_refused(quick: Served) -> None:
    host, port = urlsplit(quick.url).hostname, urlsplit(quick.url).port
    assert host is not None
    with closing(socket.create_connection((host, port or 0), PATIENCE)) as connection:
        connection.sendall(POST + HOST + LENGTH + b"\r\n" + BODY[:5])
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408")
    assert is_untouched(quick)


def test_a_body_without_a_length_that_is_too_large_is_refused(quick: Served) -> None:
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    statuses = sent(quick, POST + HOST + CHUNKED + b"\r\n", *[chunk] * 17, b"0\r\n\r\n")
    assert set(statuses) <= {413}
    assert is_untouched(quick)


def test_a_good_request_in_pieces_is_answered(quick: Served) -> None:
    request = POST + HOST + CHUNKED + b"\r\n" + IN_CHUNKS
    pieces = [request[at : at + 7] for at in range(0, len(request), 7)]
    assert sent(quick, *pieces) == [201]
    assert not is_untouched(quick)


ENDLESS = {
    "a trailer": b"0\r\nx-a: ",
    "trailers": b"0\r\n",
    "what stands behind the size of a chunk": b"5;a=",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_follows_a_body_without_an_end_is_not_read_for_ever(quick: Served, name: str) -> None:
    host, port = urlsplit(quick.url).hostname, urlsplit(quick.url).port
    assert host is not None
    piece = b"a: b\r\n" * 8192 if name == "trailers" else b"a" * 65536
    with closing(socket.create_connection((host, port or 0), PATIENCE)) as connection:
        connection.sendall(POST + HOST + CHUNKED + b"\r\n" + ENDLESS[name])
        with pytest.raises(OSError):  # The connection is closed: who sends on is told so.
            for _ in range(1024):
                connection.sendall(piece)
    assert is_untouched(quick)


def test_a_body_that_goes_on_behind_its_answer_is_not_read_for_ever(
    quick: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_http, "MOST_UNWANTED", 1 << 20)
    host, port = urlsplit(quick.url).hostname, urlsplit(quick.url).port
    assert host is not None
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with closing(socket.create_connection((host, port or 0), PATIENCE)) as connection:
        connection.sendall(POST.replace(PATH, b"/nowhere") + HOST + CHUNKED + b"\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 404")
        with pytest.raises(OSError):
            for _ in range(1024):
                connection.sendall(chunk)


def test_a_body_of_too_many_values_is_refused_before_it_is_read(quick: Served) -> None:
    with served(limits=Limits(values=1000)) as service:
        many: dict[str, list[list[str]]] = {"content": [[]] * 600}
        answer = service.ask("POST", "/v1/conversations/hostile/signals", many)
        assert answer.status == 413
        assert is_untouched(service)
        text = {"text": ',[{"' * 1000}
        assert service.ask("POST", PATH.decode(), text).status == 201


def test_a_path_with_a_slash_too_many_is_not_sent_elsewhere(quick: Served) -> None:
    statuses = sent(quick, b"GET /health/ HTTP/1.1\r\nhost: elsewhere.example\r\n\r\n")
    assert statuses == [404]
