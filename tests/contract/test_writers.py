"""Many writers at once, threads and processes: each append whole, in one order, none starved."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from uuid import UUID, uuid4

from onrecord.domain.log import Append, Backend, Conflict, Duplicate, Recorded, Verdict
from tests.contract.places import Place
from tests.factories import answer, appending, drafted, raw_event, started
from tests.ledger import by_conversation, verified_log
from tests.patience import PATIENCE

WRITERS = 8
APPENDS = 15
PROCESSES = 2


def one_verdict(backend: Backend, append: Append) -> Verdict:
    (verdict,) = backend.append([append])
    return verdict


def test_threads_that_share_a_conversation_lose_nothing(backend: Backend) -> None:
    shared = uuid4()

    def write(writer: int) -> list[UUID]:
        recorded: list[UUID] = []
        for _ in range(APPENDS):
            pair = raw_event(body=b"[%d]" % writer), raw_event(body=b"[%d]" % writer)
            (verdict,) = backend.append([appending(shared, *pair)])
            assert isinstance(verdict, Recorded)
            assert verdict.last == verdict.first + 1
            recorded += [event.event_id for event in pair]
        return recorded

    with ThreadPoolExecutor(WRITERS) as pool:
        acknowledged = list(pool.map(write, range(WRITERS)))

    events = verified_log(backend)
    assert {event.event_id for event in events} == {i for ids in acknowledged for i in ids}
    assert all(one.body == two.body for one, two in zip(events[::2], events[1::2], strict=True))
    for ids in acknowledged:
        assert [event.event_id for event in events if event.event_id in set(ids)] == ids


def test_of_threads_that_expect_the_same_version_one_wins(backend: Backend) -> None:
    conversation = uuid4()
    for version in range(10):
        requests = [
            appending(conversation, answer(str(n)), expected_version=version)
            for n in range(WRITERS)
        ]
        with ThreadPoolExecutor(WRITERS) as pool:
            verdicts = list(pool.map(partial(one_verdict, backend), requests))
        won = [verdict for verdict in verdicts if isinstance(verdict, Recorded)]
        assert len(won) == 1
        assert verdicts.count(Conflict(version + 1)) == WRITERS - 1


def test_of_threads_that_record_the_same_event_one_does_and_the_rest_are_told(
    backend: Backend,
) -> None:
    conversation = uuid4()
    for version in range(10):
        request = appending(conversation, drafted(answer(), conversation))
        with ThreadPoolExecutor(WRITERS) as pool:
            verdicts = list(pool.map(partial(one_verdict, backend), [request] * WRITERS))
        assert sum(isinstance(verdict, Recorded) for verdict in verdicts) == 1
        assert verdicts.count(Duplicate(version + 1, version + 1)) == WRITERS - 1


def write_in_a_process(place: Place, conversations: list[UUID]) -> list[UUID]:
    backend = place.open()
    recorded: list[UUID] = []
    for n in range(40):
        pair = raw_event(), raw_event()
        (verdict,) = backend.append([appending(conversations[n % len(conversations)], *pair)])
        assert isinstance(verdict, Recorded)
        recorded += [event.event_id for event in pair]
    backend.close()
    return recorded


def test_processes_that_share_a_store_lose_nothing(durable_place: Place) -> None:
    backend = durable_place.open()
    conversations = [uuid4(), uuid4()]
    backend.append([appending(conversations[0], started())])
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        writing = [
            pool.submit(write_in_a_process, durable_place, conversations) for _ in range(PROCESSES)
        ]
        own = write_in_a_process(durable_place, conversations)
        acknowledged = [own, *(future.result(timeout=PATIENCE) for future in writing)]
    events = verified_log(backend)
    assert len(events) == 1 + sum(len(ids) for ids in acknowledged)
    for ids in acknowledged:
        assert [event.event_id for event in events if event.event_id in set(ids)] == ids
    assert set(by_conversation(events)) == set(conversations)
    backend.close()


def test_two_processes_create_the_same_store_at_once(durable_place: Place) -> None:
    conversations = [uuid4()]
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        writing = [
            pool.submit(write_in_a_process, durable_place, conversations) for _ in range(PROCESSES)
        ]
        acknowledged = [future.result(timeout=PATIENCE) for future in writing]
    backend = durable_place.open()
    assert len(verified_log(backend)) == sum(len(ids) for ids in acknowledged)
    backend.close()
