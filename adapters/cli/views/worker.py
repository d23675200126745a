"""`onrecord worker`: keep views up to date and the log sealed, and say each second what was done."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from onrecord.adapters.cli.program.options import Projections, Url
from onrecord.adapters.cli.program.stores import open_store, register_projections
from onrecord.adapters.presentation.control_characters import escaped
from onrecord.adapters.settings import settings
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.adapters.views.catching_up import is_folded_by_reading
from onrecord.domain.errors import InvalidInput, counted

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rich.live import Live

    from onrecord.adapters.redis.tails import Followed
    from onrecord.adapters.seals.store_seals import StoreSeals
    from onrecord.adapters.views.postgres.worker import Worker

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)
_LOOK: Final = 0.1
_SECOND: Final = 1.0
_SAYS_SO: Final = 60.0
"""After how many seconds in which nothing happened a line says that it is still there."""


def worker(
    context: typer.Context,
    views: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Keep these views only.", show_default="all views"),
    ] = None,
    projection: Projections = None,
    threads: Annotated[
        int, typer.Option(min=1, max=32, help="How many parts to fold at once.")
    ] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="PORT", help="Serve metrics for Prometheus at this port."
        ),
    ] = None,
    seal_every: Annotated[
        float,
        typer.Option(
            min=1, metavar="SECONDS", help="Seal so often, where ONRECORD_SEALS names a place."
        ),
    ] = 60,
    once: Annotated[
        bool, typer.Option("--once", help="Catch up with the events there are, then end.")
    ] = False,
    url: Url = None,
) -> None:
    """Keep the views of a PostgreSQL store up to date.

    Start as many as you like, on as many machines: they share the work, and if one ends, however,
    the others take over within seconds. Ctrl-C or SIGTERM finishes what is at hand and gives back
    the rest; a second one ends at once, and loses nothing either. A SQLite store needs no worker:
    its views catch up when they are read.

    Where `ONRECORD_SEALS` and `ONRECORD_SEAL_KEY` are set, it seals the log too, every 60 seconds and
    at its end.

    Example: `onrecord worker --url postgresql://localhost/agents`
    """
    chosen = None if views is None else [name.strip() for name in views.split(",") if name.strip()]
    # By the database's own URL where a pooler stands before it: a worker prepares its statements.
    place = url or context.obj or settings().listen or settings().url
    with open_store(context, url, create=not place.startswith("sqlite:")) as store:
        own = register_projections(store, projection)
        work(store, Task(place, chosen, threads, metrics_port, once, own, seal_every))


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to do: `views` None means all, `metrics_port` None tells no metrics.

    `url` is where the store is, with its password. `own` are the names of projections of one's own.
    `seal_every` is in seconds.
    """

    url: str = field(repr=False)
    views: list[str] | None
    threads: int
    metrics_port: int | None
    once: bool
    own: Sequence[str] = ()
    seal_every: float = 60.0


def work(store: Store, task: Task) -> None:
    """Work until the process is told to end, or only until the views are caught up."""
    if store.url.startswith("http"):
        raise InvalidInput(
            "a worker works where the log is: give the URL of the service's own store"
        )
    if is_folded_by_reading(store):
        output.note("There is nothing to start: views of this store catch up when they are read.")
        return
    from concurrent.futures import ThreadPoolExecutor

    worker, seals = _worker(store, task), _seals(store)
    if task.metrics_port is not None:
        from onrecord.adapters.views.postgres.metrics import serve_metrics

        serve_metrics(worker, store.views.keeper, task.metrics_port)
    with (
        _reported() as lines,
        _relaying(store),
        _ending(worker),
        ThreadPoolExecutor(1) as pool,
        _sealing(seals, task.seal_every),
    ):
        ends = worker.ends() if task.once else None
        working = pool.submit(worker.run)
        try:
            lines.line(f"worker {worker.name}{_sealing_words(seals, task.seal_every)}")
            _watch(worker, working, lines, ends, seals)
        finally:
            worker.stop()
        working.result()
        lines.line(f"ended, {counted(worker.tally.events, 'event')} folded")


def _worker(store: Store, task: Task) -> Worker:
    from onrecord.adapters.views.encrypted import reading_of
    from onrecord.adapters.views.postgres.worker import Worker

    views = store.views.own_projections.views(task.views, task.own)
    log = backend_of(store)
    wakeups = cast("Followed", log).wakeups
    return Worker(task.url, views, threads=task.threads, wakeups=wakeups, reading=reading_of(log))


def _seals(store: Store) -> StoreSeals | None:
    """Return what seals the log, if a place and a key are named; InvalidInput where they cannot be used."""
    sealing = settings().seals
    if not sealing.can_sign:
        return None
    from onrecord.adapters.seals.store_seals import StoreSeals, sealer_of

    sealer_of(backend_of(store), sealing)
    return StoreSeals(backend_of(store), sealing)


def _sealing_words(seals: StoreSeals | None, seconds: float) -> str:
    return "" if seals is None else f", seals every {seconds:g} s"


def _watch(
    worker: Worker,
    working: Future[None],
    lines: _Lines,
    ends: Mapping[int, int] | None,
    seals: StoreSeals | None,
) -> None:
    """Tell what is done until the worker ends, or has come to these ends."""
    from concurrent.futures import wait

    before, measured_at, written_at = 0, time.monotonic(), time.monotonic()
    while not wait((working,), timeout=_LOOK).done:
        if ends is not None and worker.has_come_to(ends):
            return
        now = time.monotonic()
        if now - measured_at >= _SECOND:
            events = worker.tally.events
            rate, before, measured_at = (events - before) / (now - measured_at), events, now
            words = _line(worker, rate, seals)
            if lines.progress(words, is_new=rate > 0 or now - written_at > _SAYS_SO):
                written_at = now


def _line(worker: Worker, rate: float, seals: StoreSeals | None) -> str:
    behind = max(worker.tally.behind().values(), default=0)
    parked = worker.tally.parked.total()
    sealed = () if seals is None else (f"{seals.sealed:,} sealed",)
    return ", ".join(
        (
            counted(worker.held, "part"),
            f"{rate:,.0f} events/s",
            f"{behind:,} behind",
            f"{parked:,} parked",
            *sealed,
        )
    )


class _Lines(logging.Handler):
    """Lines with a time, and below them in a terminal one that changes."""

    def __init__(self, live: Live | None) -> None:
        super().__init__(logging.INFO)
        self._live = live
        self._last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.line(f"{record.levelname.lower()}: {record.getMessage()}")

    def line(self, words: str) -> None:
        line = f"{time.strftime('%H:%M:%S')} {words}"
        if self._live is None:
            output.sentence(line)
        else:
            self._live.console.print(escaped(line))

    def progress(self, words: str, *, is_new: bool) -> bool:
        """Tell how it goes; on a terminal always, else where there is news or a change."""
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(f"{time.strftime('%H:%M:%S')} {words}"), refresh=True)
            return True
        parts = words.partition(",")[0]
        if is_new or parts != self._last:
            self.line(words)
            self._last = parts
            return True
        return False


@contextmanager
def _reported() -> Generator[_Lines]:
    """Write what the worker logs among what is told of it."""
    logger = logging.getLogger("onrecord")
    with ExitStack() as stack:
        live = None
        if output.is_drawn():
            from rich.live import Live

            live = stack.enter_context(Live(console=output.console(), auto_refresh=False))
        lines = _Lines(live)
        logger.addHandler(lines)
        logger.setLevel(logging.INFO)
        stack.callback(logger.removeHandler, lines)
        yield lines


@contextmanager
def _relaying(store: Store) -> Generator[None]:
    """Fill the tails of the Redis beside the store, where there is one."""
    relay, ended = store.relay(), threading.Event()
    if relay is None:
        yield
        return
    thread = threading.Thread(target=relay.run, args=(ended,), name="relay")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _sealing(seals: StoreSeals | None, seconds: float) -> Generator[None]:
    """Seal every so many seconds, where that is set, and at the end: other workers may do so too."""
    if seals is None:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=seals.keep_sealed, args=(ended, seconds), name="seals")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _ending(worker: Worker) -> Generator[None]:
    """Let Ctrl-C or SIGTERM end the worker gracefully, and a second one end the process at once."""

    def end(_number: int, _: FrameType | None) -> None:
        for number in _ENDING:
            signal.signal(number, signal.SIG_DFL)
        worker.stop()

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
