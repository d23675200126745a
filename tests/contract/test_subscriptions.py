"""subscribe: every position once, in order, as it comes, until it is stopped."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import Any
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.http.http import Http
from onrecord.domain.errors import StaleCursor
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from tests.contract.places import Place
from tests.factories import answer, appending, raw_event, started
from tests.patience import PATIENCE

WRITERS = 6
APPENDS = 20
EVENTS = 3


def beginnings(backend: Backend) -> list[Cursor]:
    return [replace(cursor, position=0) for cursor in backend.cursors()]


@pytest.fixture
def beginning(backend: Backend) -> Iterator[Cursor]:
    """The beginning of the shard of the tests' tenant."""
    backend.append([appending(uuid4(), started())])
    (last,) = [cursor for cursor in backend.cursors() if cursor.position]
    yield replace(last, position=0)


def test_a_subscription_brings_what_was_and_what_comes(backend: Backend, beginning: Cursor) -> None:
    with backend.subscribe(beginning) as subscription:
        assert next(subscription).position == 1
        backend.append([appending(uuid4(), answer(), answer())])
        assert [event.position for event in islice(subscription, 2)] == [2, 3]


def test_a_subscription_begins_after_its_cursor(backend: Backend, beginning: Cursor) -> None:
    backend.append([appending(uuid4(), answer(), answer())])
    with backend.subscribe(replace(beginning, position=2)) as subscription:
        assert next(subscription).position == 3


def test_a_stopped_subscription_ends_even_with_events_left(
    backend: Backend, beginning: Cursor
) -> None:
    backend.append([appending(uuid4(), answer(), answer())])
    subscription = backend.subscribe(beginning)
    next(subscription)
    subscription.stop()
    assert list(subscription) == []


def test_a_subscription_stopped_before_it_begins_brings_nothing(
    backend: Backend, beginning: Cursor
) -> None:
    subscription = backend.subscribe(beginning)
    subscription.stop()
    assert list(subscription) == []


def test_a_waiting_subscription_is_stopped_from_another_thread(
    backend: Backend, beginning: Cursor
) -> None:
    subscription = backend.subscribe(beginning)
    next(subscription)
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(list[RecordedEvent], subscription)
        subscription.stop()
        assert rest.result(timeout=PATIENCE) == []


def test_closing_the_backend_ends_its_subscriptions(backend: Backend, beginning: Cursor) -> None:
    subscription = backend.subscribe(beginning)
    next(subscription)
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(list[RecordedEvent], subscription)
        backend.close()
        assert rest.result(timeout=PATIENCE) == []


def test_closing_the_backend_amid_a_read_ends_its_subscriptions(
    backend: Backend, beginning: Cursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Over HTTP, the end of the log is asked for together with a wait.
    verb = "tail" if isinstance(backend, Http) else "read_log"
    read, closed_amid = getattr(backend, verb), threading.Event()

    def close_amid(*asked: Any) -> Any:
        if begun:
            backend.close()
            closed_amid.set()
        return read(*asked)

    begun: list[RecordedEvent] = []
    monkeypatch.setattr(backend, verb, close_amid)
    subscription = backend.subscribe(beginning)
    begun.append(next(subscription))
    assert list(subscription) == []
    assert closed_amid.is_set()


def test_no_position_is_missed_or_reordered_while_many_write(
    backend: Backend, beginning: Cursor
) -> None:
    total = 1 + WRITERS * APPENDS * EVENTS
    begun = threading.Barrier(WRITERS + 2, timeout=PATIENCE)

    def follow() -> list[RecordedEvent]:
        with backend.subscribe(beginning) as subscription:
            begun.wait()
            return list(islice(subscription, total))

    def write(conversation: UUID) -> None:
        begun.wait()
        for _ in range(APPENDS):
            backend.append([appending(conversation, *(raw_event() for _ in range(EVENTS)))])

    with ThreadPoolExecutor(WRITERS + 2) as pool:
        followers = [pool.submit(follow) for _ in range(2)]
        list(pool.map(write, [uuid4() for _ in range(WRITERS)]))
        seen = [follower.result(timeout=PATIENCE) for follower in followers]

    assert [event.position for event in seen[0]] == list(range(1, total + 1))
    assert seen[0] == seen[1] == backend.read_log(beginning, total)


def test_a_subscription_sees_what_another_process_appends(durable_place: Place) -> None:
    reader, writer = durable_place.open(), durable_place.open()
    writer.append([appending(uuid4(), started())])
    (last,) = [cursor for cursor in reader.cursors() if cursor.position]
    with reader.subscribe(last) as subscription, ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, subscription)
        writer.append([appending(uuid4(), answer())])
        assert following.result(timeout=PATIENCE).position == 2
    reader.close()
    writer.close()


def test_a_cursor_stays_good_when_the_store_is_opened_again(durable_place: Place) -> None:
    backend = durable_place.open()
    backend.append([appending(uuid4(), started(), answer())])
    cursors = beginnings(backend)
    backend.close()
    again = durable_place.open()
    assert beginnings(again) == cursors
    found = [event for cursor in cursors for event in again.read_log(cursor, 99)]
    assert [event.position for event in found] == [1, 2]
    again.close()


def test_a_shard_that_the_log_has_not_is_an_error_and_no_waiting(backend: Backend) -> None:
    [end, *_] = backend.cursors()
    with pytest.raises(StaleCursor, match="no such shard"):
        backend.subscribe(Cursor(end.incarnation, 99, 0))


def test_a_cursor_behind_the_end_says_so(backend: Backend) -> None:
    [end, *_] = backend.cursors()
    with pytest.raises(StaleCursor, match="behind the end"):
        backend.subscribe(replace(end, position=end.position + 1))
