"""What recording costs a model call, beside the same call unrecorded.

`python -m tests.bench.recorder` prints a JSON line a measure: a chunk of a stream, the durable prompt,
the durable answer, wrapping a client, and how many commits a call takes. The provider is a transport
that answers from memory; the store is SQLite, on the disk of the folder for temporary files.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import anthropic
import httpx2

from hansard.adapters.app import connect
from hansard.adapters.store import Store
from hansard.adapters.talk import Talk
from hansard.domain.log import Append, Verdict
from tests.bench.measure import Aim, Contender, Figures, Measure, Pace, take_turns
from tests.bench.payload import text

_CHUNKS: Final = 400
_CHUNK_PACE: Final = Pace(rounds=9, each=3)
_CALL_PACE: Final = Pace(rounds=9, each=5)
_WRAP_PACE: Final = Pace(rounds=9, each=20)
_FSYNC: Final = "one flush of the write-ahead log"


def main() -> None:
    """Print all measures."""
    with tempfile.TemporaryDirectory() as folder:
        for measure in _measures(Path(folder)):
            print(json.dumps(measure.line()), flush=True)


def _measures(folder: Path) -> Iterator[Measure]:
    with connect(f"sqlite:///{folder / 'talks.db'}") as store:
        numbers = itertools.count()

        def talk() -> Talk:
            return store.conversation(f"bench/{next(numbers)}")

        yield _chunk(talk)
        yield _wrapping(talk)
        yield from _calls(store, talk)


def _chunk(talk: Callable[[], Talk]) -> Measure:
    """Measure a recorded stream from its first to its last delta, less the same one unrecorded."""
    plain = anthropic.Anthropic(api_key="bench", http_client=httpx2.Client(transport=Canned()))
    begun = [_between(plain), _between(talk().record(plain))]
    rounds = [
        [[seconds / _CHUNKS for seconds in found] for found in figures.rounds]
        for figures in take_turns(
            [
                Contender("stream", "", lambda _: lambda: None, clock=lambda _: begun[0]()),
                Contender("recorded", "", lambda _: lambda: None, clock=lambda _: begun[1]()),
            ],
            _CHUNK_PACE,
        )
    ]
    extra = [
        [max(with_it - without, 0.0) for with_it, without in zip(ours, peer, strict=True)]
        for peer, ours in zip(*rounds, strict=True)
    ]
    figures = Figures("recorded less unrecorded", "", extra)
    return Measure("recorder.chunk", "us", figures, aim=Aim(50, "below"), note=f"{_CHUNKS} deltas")


def _between(client: anthropic.Anthropic) -> Callable[[], float]:
    """Return what times the raw chunks of a stream but the last, where the commit is."""

    def timed() -> float:
        with client.messages.with_streaming_response.create(
            model="m", max_tokens=9, messages=_question(), stream=True
        ) as response:
            chunks = response.http_response.iter_raw()
            for _ in range(2):
                next(chunks)
            began = perf_counter()
            for _ in range(_CHUNKS):
                next(chunks)
            taken = perf_counter() - began
            for _ in chunks:
                pass
        return taken

    return timed


def _wrapping(talk: Callable[[], Talk]) -> Measure:
    client = anthropic.Anthropic(api_key="bench")

    def prepare(_: int) -> Callable[[], Any]:
        made = talk()
        return lambda: made.record(client)

    (figures,) = take_turns([Contender("record(client)", "", prepare)], _WRAP_PACE)
    return Measure("recorder.wrapping", "us", figures, aim=Aim(1000, "below"))


def _calls(store: Store, talk: Callable[[], Talk]) -> Iterator[Measure]:
    """Yield the cost of the commits of a call, and how many there are."""
    watched = Watched(store)
    clients = {
        name: talk().record(
            anthropic.Anthropic(api_key="bench", http_client=httpx2.Client(transport=Canned()))
        )
        for name in ("first",)
    }
    plain = anthropic.Anthropic(api_key="bench", http_client=httpx2.Client(transport=Canned()))
    recorded, unrecorded = take_turns(
        [
            Contender("recorded call", _FSYNC, _calling(clients["first"])),
            Contender("unrecorded call", "", _calling(plain)),
        ],
        _CALL_PACE,
    )
    yield Measure("recorder.call", "ms", recorded, unrecorded, note="SDK included, no network")
    calls = _CALL_PACE.rounds * (_CALL_PACE.each + 1)
    commits = Figures("durable writes a call", "", [[len(watched.writes) / calls]])
    yield Measure("recorder.commits", "writes", commits, aim=Aim(2))
    for kind, name in (("request.sent", "prompt"), ("response.completed", "answer")):
        seconds = [taken for last, taken in watched.writes if last == kind]
        figures = Figures(f"append of the {name}", _FSYNC, [seconds])
        yield Measure(f"recorder.{name}.append", "ms", figures)
    yield _durable_prompt(talk())


def _durable_prompt(talk: Talk) -> Measure:
    """Measure all that a call waits for before it goes out: read, decide, append."""
    client = talk.record(
        anthropic.Anthropic(api_key="bench", http_client=httpx2.Client(transport=Canned()))
    )
    made = talk.journals.of(talk)
    begin, seconds = made.begin, list[float]()

    def timed(outgoing: Any, **more: Any) -> Any:
        began = perf_counter()
        try:
            return begin(outgoing, **more)
        finally:
            seconds.append(perf_counter() - began)

    vars(made)["begin"] = timed
    history: list[Any] = []
    for _ in range(50):
        history.append({"role": "user", "content": text()})
        message = client.messages.create(model="m", max_tokens=9, messages=history)
        history.append({"role": "assistant", "content": message.content})
    figures = Figures("the durable prompt", _FSYNC, [seconds])
    return Measure("recorder.prompt", "ms", figures, note="own history, up to 100 messages of 1 KB")


def _calling(client: anthropic.Anthropic) -> Callable[[int], Callable[[], Any]]:
    def prepare(_: int) -> Callable[[], Any]:
        question = _question()
        return lambda: client.messages.create(model="m", max_tokens=9, messages=question)

    return prepare


def _question() -> list[Any]:
    return [{"role": "user", "content": text()}]


class Watched:
    """Notes how long each durable write of a store took, and what its last event was."""

    def __init__(self, store: Store) -> None:
        """Watch a store from now on."""
        self.writes: list[tuple[str, float]] = []
        self._append = store.backend.append
        vars(store.backend)["append"] = self.append

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        """Append as the store does."""
        began = perf_counter()
        verdicts = self._append(appends)
        self.writes.append((appends[-1].events[-1].type, perf_counter() - began))
        return verdicts


class Pieces(httpx2.SyncByteStream):
    """A body in pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        """Hold the pieces."""
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces."""
        yield from self._pieces


class Canned(httpx2.BaseTransport):
    """A provider in memory: a message of 1 KB, or a stream of an event a chunk."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer."""
        if b'"stream":true' in request.read():
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=headers, stream=Pieces(_STREAM))
        whole = {**_MESSAGE, "content": [{"type": "text", "text": text()}]}
        return httpx2.Response(200, json={**whole, "stop_reason": "end_turn"})


_MESSAGE: Final[dict[str, Any]] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 9},
}


def _frame(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _delta() -> dict[str, Any]:
    return {"type": "text_delta", "text": text()[:20]}


_STREAM: Final = [
    _frame({"type": "message_start", "message": _MESSAGE}),
    _frame(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        }
    ),
    *(
        _frame({"type": "content_block_delta", "index": 0, "delta": _delta()})
        for _ in range(_CHUNKS)
    ),
    _frame({"type": "content_block_stop", "index": 0}),
    _frame({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}),
    _frame({"type": "message_stop"}),
]


if __name__ == "__main__":
    main()
