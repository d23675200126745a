"""Answers without an end, or of a size that no service sends: read within bounds of bytes and of time."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, repeat
from uuid import UUID

import pytest
from pydantic import BaseModel

from onrecord.adapters.storage.http import bounded_answers, transport
from onrecord.adapters.storage.http.append_forms import VerdictsForm
from onrecord.adapters.storage.http.bounded_answers import (
    ANSWER_SECONDS,
    LEAST_RATE,
    Allowance,
)
from onrecord.adapters.storage.http.event_forms import CursorsForm, OpenCallForm, TellForm
from onrecord.adapters.storage.http.forms import ActorsForm
from onrecord.adapters.storage.http.transport import Answer, Ask, Transport
from onrecord.domain.errors import StorageUnavailable
from tests.adapters.storage.http.stranger import BODY, WHOLE, Stranger

MOST = 1 << 20
ASK = Ask("GET", "/v1/log", most=MOST)
CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
PROBLEM = b"HTTP/1.1 422 No\r\ncontent-type: application/problem+json\r\ntransfer-encoding: chunked\r\n\r\n"
ENDS_AFTER = 16 * MOST
"""What a stranger sends in these tests before it stops: so that no test takes for ever."""


def enough(piece: bytes) -> Iterator[bytes]:
    return repeat(piece, ENDS_AFTER // len(piece))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


BLANKS = b" " * 4_000

ENDLESS: dict[str, Callable[[], Iterator[bytes]]] = {
    "body": lambda: chain([CHUNKED], enough(chunk(BLANKS)), [chunk(BODY), chunk(b"")]),
    "chunk extensions": lambda: chain(
        [CHUNKED], enough(b"1;" + BLANKS + b"\r\n \r\n"), [chunk(BODY), chunk(b"")]
    ),
    "trailers": lambda: chain(
        [CHUNKED, chunk(BODY), b"0\r\n"], enough(b"a: " + BLANKS + b"\r\n"), [b"\r\n"]
    ),
    "interim answers": lambda: chain(enough(b"HTTP/1.1 100 Continue\r\n\r\n"), [WHOLE]),
}


DRIPS = {
    "head": [*repeat(b"HTTP/1.1 100 Continue\r\n\r\n", 400), WHOLE],
    "line": [b"HTTP/1.1 200 OK\r\na: ", *repeat(b"a", 400), b"\r\n", WHOLE.partition(b"\r\n")[2]],
    "body": [CHUNKED, *repeat(chunk(b" "), 400), chunk(BODY), chunk(b"")],
}


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    with closing(Stranger()) as one:
        yield one


@pytest.fixture
def asking(stranger: Stranger) -> Iterator[Transport]:
    with closing(Transport(stranger.url, "ork_canary")) as one:
        yield one


def answered(asking: Transport, ask: Ask) -> bytes:
    return asking.answer(ask).data


def streamed(asking: Transport, ask: Ask) -> bytes:
    return b"".join(asking.stream(ask))


READINGS = [answered, streamed]


@pytest.mark.parametrize("read", READINGS)
@pytest.mark.parametrize("kind", ENDLESS)
def test_an_answer_without_end_is_an_error_and_takes_no_memory(
    stranger: Stranger, asking: Transport, kind: str, read: Callable[[Transport, Ask], bytes]
) -> None:
    stranger.answers = [ENDLESS[kind]()]
    tracemalloc.start()
    with pytest.raises(StorageUnavailable, match="more than a service does"):
        read(asking, ASK)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 * MOST
    assert len(stranger.heads) == 1
    assert read(asking, ASK) == BODY


@pytest.mark.parametrize("read", READINGS)
@pytest.mark.parametrize(
    "framing",
    [b"content-length: 9999999999999", b"content-length: " + b"9" * 400],
    ids=["terabytes", "no number"],
)
def test_no_room_is_made_for_what_is_only_announced(
    stranger: Stranger, asking: Transport, framing: bytes, read: Callable[[Transport, Ask], bytes]
) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n"
    stranger.answers = [chain([head], enough(BLANKS))]
    with pytest.raises(StorageUnavailable, match="more than a service does"):
        read(asking, ASK)


@pytest.mark.parametrize("read", READINGS)
@pytest.mark.parametrize("size", [b"fffffffffffffff", b"-5"])
def test_no_chunk_is_believed_to_be_of_its_announced_size(
    stranger: Stranger, asking: Transport, size: bytes, read: Callable[[Transport, Ask], bytes]
) -> None:
    stranger.answers = [chain([CHUNKED, size + b"\r\n"], enough(BLANKS))]
    with pytest.raises(StorageUnavailable, match="at this URL"):
        read(asking, ASK)


@pytest.mark.parametrize("read", READINGS)
@pytest.mark.parametrize("drips", DRIPS.values(), ids=DRIPS)
def test_an_answer_of_a_byte_now_and_then_is_given_up(
    stranger: Stranger,
    monkeypatch: pytest.MonkeyPatch,
    drips: list[bytes],
    read: Callable[[Transport, Ask], bytes],
) -> None:
    monkeypatch.setattr(bounded_answers, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(bounded_answers, "LEAST_RATE", 1 << 30)

    def dripping() -> Iterator[bytes]:
        for piece in drips:
            # The pace of the stranger: no pause of it is as long as the bound.
            time.sleep(0.05)
            yield piece

    stranger.answers = [dripping()]
    with (
        closing(Transport(stranger.url, None, patience=0)) as asking,
        pytest.raises(StorageUnavailable, match="cannot be reached"),
    ):
        read(asking, ASK)


def test_the_bytes_that_came_may_have_taken_their_time() -> None:
    allowance = Allowance(MOST)
    allowance.take(1, ANSWER_SECONDS)
    assert 0 < allowance.seconds() < 1
    allowance.take(10 * LEAST_RATE, 5)
    assert 5 < allowance.seconds() < 6
    allowance.take(0, 6)
    with pytest.raises(TimeoutError):
        allowance.seconds()


def test_nobody_waits_longer_for_the_next_byte_because_many_came() -> None:
    allowance = Allowance(MOST)
    allowance.take(MOST, 0)
    assert allowance.seconds() == ANSWER_SECONDS


@pytest.mark.parametrize("read", READINGS)
def test_a_coding_that_was_not_asked_for_is_not_undone(
    stranger: Stranger, asking: Transport, read: Callable[[Transport, Ask], bytes]
) -> None:
    packed = gzip.compress(BODY)
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    stranger.answers = [head + packed]
    with pytest.raises(StorageUnavailable, match="no Onrecord service"):
        read(asking, ASK)
    assert len(stranger.heads) == 1


@pytest.mark.parametrize("read", READINGS)
def test_a_problem_that_is_larger_than_any_is_not_read(
    stranger: Stranger,
    asking: Transport,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[Transport, Ask], bytes],
) -> None:
    monkeypatch.setattr(transport, "_MOST_OF_PROBLEM", MOST // 2)
    stranger.answers = [chain([PROBLEM], enough(chunk(BLANKS)), [chunk(b"")])]
    with pytest.raises(StorageUnavailable, match="no Onrecord service"):
        read(asking, ASK)


@pytest.mark.parametrize("read", READINGS)
def test_a_problem_that_is_cut_is_asked_for_again(
    stranger: Stranger, asking: Transport, read: Callable[[Transport, Ask], bytes]
) -> None:
    stranger.answers = [PROBLEM + b"5\r\n{", PROBLEM + chunk(b"{}")[:-2]]
    assert read(asking, ASK) == BODY
    assert len(stranger.heads) == 3


def test_a_download_that_goes_on_after_each_cut_is_not_given_up(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = bytes(8 * (1 << 16))
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(document)
    pauses = list[float]()
    clock = iter(range(0, 1_000, 10))
    monkeypatch.setattr(transport, "time", Clock(clock, pauses))
    cut = [head + document[: (each + 1) * (1 << 16)] for each in range(7)]
    stranger.answers = [*cut, head + document]
    with closing(Transport(stranger.url, None)) as asking:
        assert streamed(asking, ASK) == document
    assert len(pauses) == 7


class Clock:
    """A clock that ten seconds pass on at each look."""

    def __init__(self, moments: Iterator[int], pauses: list[float]) -> None:
        self._moments = moments
        self.sleep = pauses.append

    def monotonic(self) -> float:
        return float(next(self._moments))


ODD: dict[str, tuple[type[BaseModel], bytes]] = {
    "verdict": (
        VerdictsForm,
        b'{"incarnation": "%b", "verdicts": [{"verdict": "recorded"}]}' % str(UUID(int=1)).encode(),
    ),
    "cursors": (CursorsForm, b'{"cursors": []}'),
    "told": (TellForm, b'{"events": [], "is_all": false}'),
    "call": (OpenCallForm, b'{"call_id": "_w==", "version": 1}'),
    "name": (ActorsForm, b'{"actors": [{"digest": "", "name": "_w=="}]}'),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_answer_that_no_service_gives_is_an_error_of_ours(asking: Transport, kind: str) -> None:
    form, data = ODD[kind]
    with pytest.raises(StorageUnavailable, match="no Onrecord service"):
        asking.read(Answer(data, is_repeated=False), form)
