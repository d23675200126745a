"""Appends that share a commit: each caller gets its own answer, whatever befalls the others."""

import gc
import random
import signal
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from onrecord.adapters.storage.postgres.group_commit import (
    MOST_BYTES,
    MOST_REQUESTS,
    GroupCommit,
    Row,
)
from onrecord.domain.errors import (
    OnrecordError,
    StorageBusy,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
)
from tests.patience import PATIENCE, until

SEED = 20261121


class Log:
    """Answers each request with itself, and remembers each call; a test may hold a call up."""

    def __init__(self) -> None:
        self.calls: list[list[bytes]] = []
        self.threads: list[threading.Thread] = []
        self.held = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.refuses: Callable[[Sequence[bytes]], BaseException | None] = lambda _: None
        self._lock = threading.Lock()

    def ask(self, requests: Sequence[bytes]) -> list[Row]:
        with self._lock:
            self.calls.append(list(requests))
            self.threads.append(threading.current_thread())
        self.held.set()
        assert self.goes_on.wait(PATIENCE)
        error = self.refuses(requests)
        if error is not None:
            raise error
        return [(request,) for request in requests]

    def hold(self) -> None:
        self.held.clear()
        self.goes_on.clear()


class Interrupt(BaseException):
    """What a signal raises, whatever the main thread is doing."""


class Interrupts:
    """Lets a signal interrupt the main thread, once each time that it is armed."""

    def __init__(self) -> None:
        self.armed = False
        self._before = signal.signal(signal.SIGUSR1, self._raise)

    def _raise(self, *_: object) -> None:
        if self.armed:
            self.armed = False
            raise Interrupt

    def send(self, times: int, chance: random.Random) -> None:
        for _ in range(times):
            threading.Event().wait(chance.random() / 500)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def end(self) -> None:
        signal.signal(signal.SIGUSR1, self._before)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(200) as made:
        yield made


def queued(
    log: Log, group: GroupCommit, pool: ThreadPoolExecutor, requests: Sequence[Sequence[bytes]]
) -> list[Future[list[Row]]]:
    """The callers' futures, in their order: the first is held up, the others wait for it."""
    log.hold()
    futures = [pool.submit(group.commit, requests[0])]
    assert log.held.wait(PATIENCE)
    for count, own in enumerate(requests[1:], 1):
        futures.append(pool.submit(group.commit, own))
        until(lambda count=count: group.waiting == count)  # type: ignore[misc]  # mypy: bound now
    return futures


def test_a_lone_caller_makes_one_call_on_its_own_thread() -> None:
    log = Log()
    assert GroupCommit(log.ask).commit([b"a"]) == [(b"a",)]
    assert (log.calls, log.threads) == ([[b"a"]], [threading.current_thread()])


def test_who_waits_for_a_commit_shares_the_next_one_in_the_order_of_coming(
    pool: ThreadPoolExecutor,
) -> None:
    log = Log()
    group = GroupCommit(log.ask)
    callers = [[b"a"], [b"b", b"c"], [b"d"], [b"e"]]
    futures = queued(log, group, pool, callers)
    log.goes_on.set()
    answers = [future.result(PATIENCE) for future in futures]
    assert answers == [[(request,) for request in own] for own in callers]
    assert log.calls == [[b"a"], [b"b", b"c", b"d", b"e"]]


def test_a_batch_holds_so_many_requests_at_most(pool: ThreadPoolExecutor) -> None:
    log = Log()
    group = GroupCommit(log.ask)
    futures = queued(log, group, pool, [[b"a"]] * (MOST_REQUESTS + 3))
    log.goes_on.set()
    for future in futures:
        future.result(PATIENCE)
    assert [len(call) for call in log.calls] == [1, MOST_REQUESTS, 2]


def test_a_batch_has_so_many_bytes_at_most(pool: ThreadPoolExecutor) -> None:
    log = Log()
    group = GroupCommit(log.ask)
    half = bytes(MOST_BYTES // 2)
    futures = queued(log, group, pool, [[b"a"], [half], [half], [half], [half], [b"b"]])
    log.goes_on.set()
    for future in futures:
        future.result(PATIENCE)
    assert [len(call) for call in log.calls] == [1, 2, 2, 1]


@pytest.mark.parametrize("large", [[bytes(MOST_BYTES + 1)], [b"a"] * (MOST_REQUESTS + 1)])
def test_what_fills_a_commit_of_its_own_waits_for_nobody(
    large: list[bytes], pool: ThreadPoolExecutor
) -> None:
    log = Log()
    group = GroupCommit(log.ask)
    first, *_ = queued(log, group, pool, [[b"a"]])
    other = pool.submit(group.commit, large)
    until(lambda: len(log.calls) == 2)
    assert group.waiting == 0
    log.goes_on.set()
    assert other.result(PATIENCE) == [(request,) for request in large]
    first.result(PATIENCE)


def test_a_request_that_is_refused_costs_its_batch_nothing(pool: ThreadPoolExecutor) -> None:
    log = Log()
    log.refuses = lambda asked: StorageReadOnly("not yours") if b"bad" in asked else None
    futures = queued(log, GroupCommit(log.ask), pool, [[b"a"], [b"b"], [b"bad"], [b"c"]])
    log.goes_on.set()
    first, before, bad, after = futures
    assert [each.result(PATIENCE) for each in (first, before, after)] == [
        [(b"a",)],
        [(b"b",)],
        [(b"c",)],
    ]
    with pytest.raises(StorageReadOnly, match="not yours"):
        bad.result(PATIENCE)


@pytest.mark.parametrize("kind", [StorageUnavailable, StorageBusy, StorageFull])
def test_where_the_store_cannot_each_of_a_batch_gets_an_error_of_its_own(
    kind: type[OnrecordError], pool: ThreadPoolExecutor
) -> None:
    log = Log()
    log.refuses = lambda asked: kind("come back later") if len(asked) > 1 else None
    first, *others = queued(log, GroupCommit(log.ask), pool, [[b"a"], [b"b"], [b"c"], [b"d"]])
    log.goes_on.set()
    first.result(PATIENCE)
    errors = [each.exception(PATIENCE) for each in others]
    assert [type(error) for error in errors] == [kind] * 3
    assert {str(error) for error in errors} == {"come back later"}
    assert len({id(error) for error in errors}) == 3
    original = errors[0]
    assert [error.__cause__ for error in errors[1:] if error] == [original, original]
    assert len(log.calls) == 2


def test_where_the_store_is_away_all_who_wait_are_told_and_none_looks_for_it_again(
    pool: ThreadPoolExecutor,
) -> None:
    log = Log()
    log.refuses = lambda _: StorageUnavailable("come back later")
    group = GroupCommit(log.ask)
    futures = queued(log, group, pool, [[b"a"]] * (MOST_REQUESTS + 3))
    log.goes_on.set()
    errors = [each.exception(PATIENCE) for each in futures]
    assert [type(error) for error in errors] == [StorageUnavailable] * len(futures)
    assert len({id(error) for error in errors}) == len(futures)
    assert len(log.calls) == 1
    log.refuses = lambda _: None
    assert group.commit([b"later"]) == [(b"later",)]


def test_a_leader_that_is_interrupted_takes_nobody_along(pool: ThreadPoolExecutor) -> None:
    log = Log()
    interrupt = iter([SystemExit("enough")])
    log.refuses = lambda asked: next(interrupt, None) if len(asked) > 1 else None
    group = GroupCommit(log.ask)
    first, leader, *others = queued(log, group, pool, [[b"a"], [b"b"], [b"c"], [b"d"]])
    log.goes_on.set()
    assert isinstance(leader.exception(PATIENCE), SystemExit)
    assert [each.result(PATIENCE) for each in (first, *others)] == [[(b"a",)], [(b"c",)], [(b"d",)]]
    assert group.commit([b"e"]) == [(b"e",)]


def test_a_waiting_caller_that_is_interrupted_is_not_recorded_and_takes_nobody_along(
    pool: ThreadPoolExecutor,
) -> None:
    log = Log()
    group = GroupCommit(log.ask)
    (first,) = queued(log, group, pool, [[b"a"]])
    interrupts = Interrupts()

    def interrupt() -> None:
        until(lambda: group.waiting == 1)
        interrupts.send(1, random.Random(SEED))

    interrupting = pool.submit(interrupt)
    interrupts.armed = True
    with pytest.raises(Interrupt):
        group.commit([b"b"])
    interrupting.result(PATIENCE)
    interrupts.end()
    other = pool.submit(group.commit, [b"c"])
    until(lambda: group.waiting == 1)
    log.goes_on.set()
    assert (first.result(PATIENCE), other.result(PATIENCE)) == ([(b"a",)], [(b"c",)])
    assert log.calls == [[b"a"], [b"c"]]


def test_an_interrupt_at_any_time_leaves_nobody_waiting() -> None:
    """The main thread is interrupted again and again; those who share its commits come through."""
    group = GroupCommit(slowly)
    over = threading.Event()

    def write(name: bytes) -> int:
        done = 0
        while not over.is_set():
            assert group.commit([name]) == [(name,)]
            done += 1
        return done

    interrupts, interrupted = Interrupts(), 0
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, name) for name in (b"a", b"b", b"c")]
        sending = pool.submit(interrupts.send, 200, random.Random(SEED))
        while not sending.done():
            try:
                interrupts.armed = True
                group.commit([b"main"])
                interrupts.armed = False
            except Interrupt:
                interrupted += 1
        over.set()
        assert all(each.result(PATIENCE) > 0 for each in writing), f"seed {SEED}"
    interrupts.end()
    assert interrupted > 0
    assert group.commit([b"after"]) == [(b"after",)]


@pytest.mark.parametrize("other", [None, b"other"])
def test_what_a_signals_handler_commits_does_not_wait_for_its_own_thread(
    other: bytes | None, pool: ThreadPoolExecutor
) -> None:
    """The main thread is interrupted where it leads, and where it waits for one that does."""
    log, told = Log(), list[list[Row]]()
    group = GroupCommit(log.ask)
    leading = queued(log, group, pool, [[other]]) if other else []
    log.hold()

    def handle(*_: object) -> None:
        told.append(group.commit([b"handler"]))

    before = signal.signal(signal.SIGUSR1, handle)

    def interrupt() -> None:
        until(lambda: group.waiting == 1 if other else log.held.is_set())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        until(lambda: [b"handler"] in log.calls)
        log.goes_on.set()

    interrupting = pool.submit(interrupt)
    assert group.commit([b"main"]) == [(b"main",)]
    interrupting.result(PATIENCE)
    signal.signal(signal.SIGUSR1, before)
    assert told == [[(b"handler",)]]
    assert [each.result(PATIENCE) for each in leading] == [[(other,)] for _ in leading]


def test_what_was_committed_is_not_kept_in_memory() -> None:
    class Own(list[bytes]):
        """A list that can be watched."""

    group, own = GroupCommit(slowly), Own([b"large"])
    watched = weakref.ref(own)
    gc.disable()
    try:
        group.commit(own)
        del own
        assert watched() is None
    finally:
        gc.enable()


def slowly(requests: Sequence[bytes]) -> list[Row]:
    threading.Event().wait(0.0005)
    return [(request,) for request in requests]


def test_of_many_callers_at_once_each_gets_what_it_asked_for() -> None:
    log = Log()
    group = GroupCommit(log.ask)

    def write(number: int) -> None:
        chance = random.Random(SEED + number)
        for turn in range(50):
            own = [b"%d.%d.%d" % (number, turn, each) for each in range(chance.randint(1, 4))]
            assert group.commit(own) == [(request,) for request in own], f"seed {SEED + number}"

    with ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(write, number) for number in range(16)]:
            done.result(PATIENCE)
    asked = [request for call in log.calls for request in call]
    assert len(asked) == len(set(asked))
