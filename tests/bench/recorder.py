"""What recording costs a model call, beside the same call unrecorded, with each official client.

`python -m tests.bench.recorder` prints a JSON line a measure: a chunk of a stream, wrapping a client,
the durable prompt, the durable answer, and how many commits a call takes. The provider is a transport
that answers from memory; the store is SQLite, on the disk of the folder for temporary files. With the
URL of an empty PostgreSQL database, only calls are measured, recorded there.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import Conversation, stream_of, tenancy_of
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.log import Append, Verdict
from tests.bench.canned import List, Service, services
from tests.bench.measure import (
    Aim,
    Contender,
    Figures,
    Measure,
    Pace,
    Work,
    computing,
    take_turns,
)
from tests.bench.payload import text

_CHUNKS: Final = 400
_BEGINNING: Final = 3
"""Chunks of a stream before those that are timed: until all APIs are amid their deltas."""

_CHUNK_PACE: Final = Pace(rounds=9, each=3)
_CALL_PACE: Final = Pace(rounds=9, each=5)
_WRAP_PACE: Final = Pace(rounds=9, each=20)
_OVER: Final = Aim(2)
_OVER_POSTGRES: Final = Aim(2.5)
_OVER_COMPUTING: Final = Aim(1.5)
_FSYNC: Final = "one flush of the write-ahead log"


def main(url: str | None = None) -> None:
    """Print all measures, or those of calls that are recorded in a PostgreSQL database."""
    with tempfile.TemporaryDirectory() as folder:
        for measure in measures(Path(folder)) if url is None else postgres_measures(url):
            print(json.dumps(measure.line()), flush=True)


def measures(folder: Path) -> Iterator[Measure]:
    """Yield what recording costs, for each API in turn."""
    with connect(f"sqlite:///{folder / 'talks.db'}") as store:
        numbers = itertools.count()

        def chat() -> Conversation:
            return store.conversation(f"bench/{next(numbers)}")

        for service in services(_CHUNKS + _BEGINNING):
            yield _chunk(service, chat)
            yield _wrapping(service, chat)
            yield from _calls(service, store, chat, f"recorder.{service.api}", _OVER)


def postgres_measures(url: str) -> Iterator[Measure]:
    """Yield what recording a call in a PostgreSQL database costs, for each API in turn."""
    with connect(url) as store:
        numbers = itertools.count()

        def chat() -> Conversation:
            return store.conversation(f"bench/{next(numbers)}")

        for service in services(_BEGINNING):
            name = f"recorder.postgres.{service.api}"
            yield from _calls(service, store, chat, name, _OVER_POSTGRES)


def _chunk(service: Service, chat: Callable[[], Conversation]) -> Measure:
    """Measure a recorded stream from its first to its last delta, less the same one unrecorded."""
    plain = service.client()
    sides = [_between(service, plain), _between(service, chat().record(plain))]
    contenders = [Contender("stream", "", _nothing, partial(_timed, side)) for side in sides]
    rounds = [
        [[seconds / _CHUNKS for seconds in found] for found in figures.rounds]
        for figures in take_turns(contenders, _CHUNK_PACE)
    ]
    extra = [
        [max(with_it - without, 0.0) for with_it, without in zip(ours, peer, strict=True)]
        for peer, ours in zip(*rounds, strict=True)
    ]
    figures = Figures("recorded less unrecorded", "", extra)
    name = f"recorder.{service.api}.chunk"
    return Measure(name, "us", figures, aim=Aim(50, "below"), note=f"{_CHUNKS} deltas")


def _between(service: Service, client: Any) -> Callable[[], float]:
    """Return what times the raw chunks of a stream but the last, where the commit is."""

    def timed() -> float:
        with service.stream(client, _question()) as response:
            chunks = response.http_response.iter_raw()
            for _ in range(_BEGINNING):
                next(chunks)
            began = perf_counter()
            for _ in range(_CHUNKS):
                next(chunks)
            taken = perf_counter() - began
            for _ in chunks:
                pass
        return taken

    return timed


def _wrapping(service: Service, chat: Callable[[], Conversation]) -> Measure:
    client = service.client()

    def prepare(_: int) -> Callable[[], Any]:
        made = chat()
        return lambda: made.record(client)

    (figures,) = take_turns([Contender("record(client)", "", prepare)], _WRAP_PACE)
    return Measure(f"recorder.{service.api}.wrapping", "us", figures, aim=Aim(1000, "below"))


def _calls(
    service: Service, store: Store, chat: Callable[[], Conversation], name: str, aim: Aim
) -> Iterator[Measure]:
    """Yield the cost of the commits of a call, and how many there are."""
    recorded = _calling(service, lambda: chat().record(service.client()))
    sides = [
        Contender("recorded call", _FSYNC, recorded),
        Contender("unrecorded call", "", _calling(service, service.client)),
    ]
    with _watched(store) as writes:
        ours, peer = take_turns(sides, _CALL_PACE)
    note = "a conversation's first, SDK included, no network"
    yield Measure(f"{name}.call", "ms", ours, peer, note=note)
    yield Measure(f"{name}.call.over", "ms", _over(ours, peer), aim=aim, note=note)
    calls = _CALL_PACE.rounds * (_CALL_PACE.each + 1)
    commits = Figures("durable writes a call", "", [[len(writes) / calls]])
    yield Measure(f"{name}.commits", "writes", commits, aim=Aim(2))
    for kind, what in (("request.sent", "prompt"), ("response.completed", "answer")):
        seconds = [taken for last, taken in writes if last == kind]
        figures = Figures(f"append of the {what}", _FSYNC, [seconds])
        yield Measure(f"{name}.{what}.append", "ms", figures)
    yield _durable_prompt(service, chat(), name)
    timed = [replace(side, clock=computing) for side in sides]
    over = _over(*take_turns(timed, _CALL_PACE))
    yield Measure(f"{name}.call.processor", "ms", over, aim=_OVER_COMPUTING, note=note)


def _over(ours: Figures, peer: Figures) -> Figures:
    """Return what ours took more than the peer, operation by operation."""
    rounds = zip(ours.rounds, peer.rounds, strict=True)
    more = [[one - other for one, other in zip(*pair, strict=True)] for pair in rounds]
    return Figures(f"{ours.what} less {peer.what}", ours.guarantees, more)


def _durable_prompt(service: Service, chat: Conversation, name: str) -> Measure:
    """Measure all that a call waits for before it goes out: read, decide, append."""
    client = chat.record(service.client())
    made = tenancy_of(chat).recorders.of(stream_of(chat))
    begin, seconds = made.begin, list[float]()

    def timed(outgoing: Any, **more: Any) -> Any:
        began = perf_counter()
        try:
            return begin(outgoing, **more)
        finally:
            seconds.append(perf_counter() - began)

    vars(made)["begin"] = timed
    history: List = []
    for _ in range(50):
        history += _question()
        history += service.says(service.call(client, history))
    figures = Figures("the durable prompt", _FSYNC, [seconds])
    note = "own history, up to 100 messages of 1 KB"
    return Measure(f"{name}.prompt", "ms", figures, note=note)


def _calling(service: Service, client: Callable[[], Any]) -> Callable[[int], Work]:
    """Return what makes a call of a new client ready."""

    def prepare(_: int) -> Work:
        made, question = client(), _question()
        return lambda: service.call(made, question)

    return prepare


def _timed(side: Callable[[], float], _: Work) -> float:
    return side()


def _nothing(_: int) -> Callable[[], None]:
    return lambda: None


def _question() -> List:
    return [{"role": "user", "content": text()}]


@contextmanager
def _watched(store: Store) -> Generator[list[tuple[str, float]]]:
    """Yield a list of what the last event of each durable write is, and how long that took."""
    writes: list[tuple[str, float]] = []
    append = backend_of(store).append

    def timed(appends: Sequence[Append]) -> list[Verdict]:
        began = perf_counter()
        verdicts = append(appends)
        writes.append((appends[-1].events[-1].type, perf_counter() - began))
        return verdicts

    vars(backend_of(store))["append"] = timed
    yield writes
    del vars(backend_of(store))["append"]


if __name__ == "__main__":
    main(*sys.argv[1:])
