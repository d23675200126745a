"""Tails: each event comes once and in order, to whom it belongs, and slow readers cost no memory."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest
import urllib3
from urllib3.util import Timeout

from onrecord.adapters.service.access import Access
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.service.hub import PAGE, Channel, Frame, Hub
from onrecord.domain.log import Cursor, RecordedEvent
from tests.adapters.service.keys import KEYS, Keys
from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE, until


@dataclass
class Tail:
    """A client that follows."""

    response: urllib3.BaseHTTPResponse
    ids: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        # One iterator for good: what a line was cut from waits in it.
        self._lines = (line.decode().rstrip("\n") for line in self.response)

    def lines(self) -> Iterator[str]:
        """Lines as they come, to the end of the stream."""
        return self._lines

    def events(self, count: int) -> list[Any]:
        """The next events, so many of them."""
        found = list[Any]()
        for line in self.lines():
            if line.startswith("id: "):
                self.ids.append(line[4:])
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
            if len(found) == count and not line:
                break
        return found


@contextmanager
def tail(
    service: Served, path: str = "/v1/tail", *, last: str | None = None, key: str | None = None
) -> Generator[Tail]:
    headers = {} if last is None else {"last-event-id": last}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    with urllib3.PoolManager() as pool:
        response = pool.request(
            "GET",
            service.url + path,
            headers=headers,
            preload_content=False,
            retries=False,
            timeout=Timeout(PATIENCE),
        )
        assert response.status == 200, response.data
        try:
            yield Tail(response)
        finally:
            response.close()


def say(service: Served, text: str, key: str = "a", by: str | None = None) -> None:
    path = f"/v1/conversations/{key}/prompts"
    assert service.ask("POST", path, {"text": text}, key=by).status == 201


def texts(events: list[Any]) -> list[str]:
    return [
        event["body"]["content"][0]["text"]
        for event in events
        if event["type"] == "message.recorded"
    ]


def test_what_is_said_next_comes_once_and_in_order(each_service: Served) -> None:
    say(each_service, "before")
    with tail(each_service) as following:
        assert following.response.headers["x-accel-buffering"] == "no"
        assert following.response.headers["cache-control"] == "no-cache"
        for number in range(20):
            say(each_service, str(number))
        assert texts(following.events(20)) == [str(number) for number in range(20)]


def test_a_tail_goes_on_behind_the_last_event_that_it_had(each_service: Served) -> None:
    for number in range(10):
        say(each_service, str(number))
    with tail(each_service, "/v1/tail?after=start") as following:
        assert len(following.events(5)) == 5
        last = following.ids[-1]
    for number in range(10, 15):
        say(each_service, str(number))
    with tail(each_service, last=last) as following:
        # The conversation began with an event of its own: four were texts.
        assert texts(following.events(11)) == [str(number) for number in range(4, 15)]


def test_a_place_in_another_log_is_gone(service: Served) -> None:
    say(service, "Hallo")
    with tail(service, "/v1/tail?after=start") as following:
        following.events(1)
        (place,) = following.ids
    incarnation, shard, _ = place.split(":")
    for other in (f"{uuid4()}:{shard}:1", f"{incarnation}:{shard}:99", f"{incarnation}:7:1"):
        answer = service.ask("GET", "/v1/tail", headers={"last-event-id": other})
        assert (answer.status, answer.json()["type"]) == (410, "/problems/stale-cursor")
    malformed = service.ask("GET", "/v1/tail", headers={"last-event-id": "1"})
    assert malformed.status == 400


def test_the_tail_of_a_conversation_tells_nothing_of_others(service: Served) -> None:
    say(service, "first", "a")
    with tail(service, "/v1/conversations/a/tail") as following:
        say(service, "other", "b")
        say(service, "second", "a")
        assert texts(following.events(1)) == ["second"]
    assert service.ask("GET", "/v1/conversations/c/tail").status == 404


def test_a_tail_tells_nothing_of_another_tenant() -> None:
    with served(keyring=Keys()) as service:
        every = "/v1/tail?after=start"
        with tail(service, every, key="stranger") as strange, tail(service, key="reader") as own:
            say(service, "ours", by="writer")
            say(service, "theirs", by="stranger")
            say(service, "ours again", by="writer")
            say(service, "theirs again", by="stranger")
            assert texts(own.events(3)) == ["ours", "ours again"]
            assert texts(strange.events(3)) == ["theirs", "theirs again"]
        say(service, "ours", by="writer")
        with tail(service, "/v1/tail?after=start", key="reader") as own:
            ours = own.events(4)
            place = own.ids[0]
        with tail(service, last=place, key="stranger") as strange:
            seen = strange.events(2)
        assert {event["conversation"] for event in ours}.isdisjoint(
            event["conversation"] for event in seen
        )


def test_many_tails_read_the_log_once_together() -> None:
    with served() as service:
        say(service, "begin")
        backend, reads = service.service.tenants.backend, list[Cursor]()
        read_log = backend.read_log

        def counted(after: Cursor, limit: int) -> list[RecordedEvent]:
            reads.append(after)
            return read_log(after, limit)

        backend.read_log = counted  # type: ignore[method-assign]
        tails = [tail(service) for _ in range(30)]
        following = [each.__enter__() for each in tails]
        say(service, "all are there")
        for each in following:
            assert texts(each.events(1)) == ["all are there"]
        reads.clear()
        for number in range(10):
            say(service, str(number))
        for each in following:
            assert texts(each.events(10)) == [str(number) for number in range(10)]
        assert len(reads) <= 100, "300 events were handed on"
        for scope in tails:
            scope.__exit__(None, None, None)


def test_the_tail_of_a_conversation_reads_that_one_alone(each_service: Served) -> None:
    service = each_service
    for number in range(5):
        say(service, f"other {number}", "b")
        say(service, str(number), "a")
    backend, limits = service.service.tenants.backend, list[int]()
    read_log = backend.read_log

    def counted(after: Cursor, limit: int) -> list[RecordedEvent]:
        limits.append(limit)
        return read_log(after, limit)

    backend.read_log = counted  # type: ignore[method-assign]
    path = "/v1/conversations/a/tail"
    with tail(service, f"{path}?after=start") as following:
        # It began with an event of its own.
        assert texts(following.events(6)) == [str(number) for number in range(5)]
    with tail(service, path, last=following.ids[2]) as own:
        assert texts(own.events(3)) == ["2", "3", "4"]
    assert set(limits) <= {1}, "pages of the log were read"


def test_the_tail_of_a_conversation_goes_on_behind_an_event_of_another(
    each_service: Served,
) -> None:
    service = each_service
    for number in range(5):
        say(service, str(number), "a")
        say(service, f"other {number}", "b")
    with tail(service, "/v1/conversations/b/tail?after=start") as following:
        following.events(3)
    with tail(service, "/v1/conversations/a/tail", last=following.ids[-1]) as own:
        assert texts(own.events(3)) == ["2", "3", "4"]
        say(service, "5", "a")
        assert texts(own.events(1)) == ["5"]


def test_the_tail_of_a_long_conversation_comes_page_by_page(service: Served) -> None:
    count = PAGE + 50
    for number in range(count):
        say(service, str(number), "a")
    with tail(service, "/v1/conversations/a/tail?after=start") as following:
        assert len(following.events(count + 1)) == count + 1
        say(service, "last", "a")
        assert texts(following.events(1)) == ["last"]


def test_a_reader_that_is_slow_misses_nothing(service: Served) -> None:
    text = "x" * 20_000
    with tail(service) as following:
        for number in range(400):
            say(service, f"{number} {text}")
        found = texts(following.events(401))
    assert [each.partition(" ")[0] for each in found] == [str(number) for number in range(400)]


def frame(position: int, size: int = 1) -> Frame:
    return Frame(Cursor(UUID(int=1), 0, position), UUID(int=2), position, b"x" * size)


def test_who_is_behind_what_is_kept_reads_by_himself() -> None:
    channel = Channel(complete={0: 0})
    channel.add(frame(position) for position in range(1, 2001))
    assert len(channel.frames) == 1000
    assert channel.since({0: 500}) is None
    kept = channel.since({0: 1990})
    assert kept is not None
    assert [each.cursor.position for each in kept] == list(range(1991, 2001))


def test_what_is_kept_for_tails_is_small_whatever_was_said() -> None:
    channel = Channel(complete={0: 0})
    for position in range(1, 100):
        channel.add([frame(position, 1 << 20)])
    assert channel.size <= 4 << 20
    channel.add([frame(100, 64 << 20)])
    assert (channel.size, len(channel.frames)) == (0, 0)
    assert channel.since({0: 99}) is None
    assert channel.since({0: 100}) == []


def test_more_tails_than_are_allowed_are_refused() -> None:
    with served(limits=Limits(tails=4), keyring=Keys()) as service:
        with tail(service, key="reader"), tail(service, key="reader"):
            assert service.ask("GET", "/v1/tail", key="reader").status == 429
            with tail(service, key="writer"), tail(service, key="writer"):
                full = service.ask("GET", "/v1/tail", key="stranger")
                assert (full.status, full.headers["retry-after"]) == (503, "1")
        tails = service.service.tails.open_tails
        until(lambda: not tails.total, "the end of the tails")


def test_a_tail_that_is_idle_says_that_it_is_there() -> None:
    with served(limits=Limits(tail_seconds=0.05)) as service, tail(service) as following:
        lines = following.lines()
        assert next(lines) == "retry: 2000"
        assert [next(lines) for _ in range(3)] == ["", ": ", ""]


def test_tails_end_when_the_server_is_told_to_end(service: Served) -> None:
    with tail(service) as following:
        say(service, "Hallo")
        following.events(2)
        service.end()
        assert list(following.lines()) == []
    refused = service.ask("GET", "/v1/conversations/a")
    assert (refused.status, refused.json()["type"]) == (503, "/problems/ending")
    assert service.ask("GET", "/ready").status == 503
    assert service.ask("GET", "/health").status == 200


@dataclass
class Revocable:
    """A keyring whose keys can be taken away."""

    is_good: bool = True

    def access(self, token: str) -> Access | None:
        return KEYS.get(token) if self.is_good else None

    def is_used(self) -> bool:
        return True

    def record_uses(self) -> int:
        return 0


def test_a_tail_ends_when_its_key_counts_no_more() -> None:
    keys = Revocable()
    limits = Limits(tail_seconds=0.05)
    with served(keyring=keys, limits=limits) as service, tail(service, key="writer") as following:
        lines = following.lines()
        assert next(lines) == "retry: 2000"
        keys.is_good = False
        assert set(lines) <= {"", ": "}


def test_nothing_is_sent_of_a_tail_whose_headers_are_asked_for(service: Served) -> None:
    answer = service.ask("HEAD", "/v1/tail")
    assert (answer.status, answer.data) == (200, b"")


def test_tails_go_on_where_the_log_was_not_understood_for_a_moment(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, raised = vars(Hub)["_look"], list[str]()

    def failing_once(self: Hub, tenants: frozenset[UUID]) -> object:
        if "x" in waited and not raised:
            raised.append("x")
            raise ValueError("nobody foresaw this")
        found: object = look(self, tenants)
        return found

    waited = list[str]()
    monkeypatch.setattr(Hub, "_look", failing_once)
    with tail(service) as followed:
        say(service, "one")
        assert followed.events(2)
        waited.append("x")
        until(lambda: bool(raised))
        say(service, "two")
        assert [event["type"] for event in followed.events(1)] == ["message.recorded"]
