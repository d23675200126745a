"""What recording costs a program that keeps its own list and sends all of it each time.

`python -m tests.bench.own_lists [messages...]` prints a JSON line a measure, for each API: a body
that goes on from the last one by an answer and a prompt, from where it is about to go out to where
it is durable. It is held against one hash pass over the body and reading what is new in it: of all
that has to be done, that is what grows with the list. Most is computing, so it is the processor's
time that counts; the store is SQLite, in the folder for temporary files.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import stream_of, tenancy_of
from onrecord.adapters.store import Store
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients.binding import Binding
from onrecord.adapters.wire.clients.conversation_wire import ConversationWire
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.sending import Sending
from onrecord.projections.apis.request import Options, render
from tests.bench.answers import answered
from tests.bench.history import history
from tests.bench.measure import Aim, Contender, Figures, Measure, Pace, Work, computing, take_turns
from tests.bench.payload import API as ANTHROPIC
from tests.bench.payload import text
from tests.bench.spellings import CHAT, RESPONSES

JsonObject = dict[str, Any]

_SIZES: Final = (100, 1_000, 10_000)
_ONE_PASS: Final = Aim(2, "below")
"""There is no room for a second pass; where the list is short, the commit is most of it."""

_RELATED: Final = Aim(1)
_AIMS: Final = {1_000: Aim(3), 10_000: _ONE_PASS}

_PACE: Final = Pace(rounds=9, each=3)
_PATHS: Final = {
    ANTHROPIC: "/v1/messages",
    CHAT: "/v1/chat/completions",
    RESPONSES: "/v1/responses",
}
_HEADERS: Final = {"authorization": "Bearer bench", "x-api-key": "bench"}


def measures(api: str, sizes: tuple[int, ...]) -> Iterator[Measure]:
    """Yield what a request costs by how long its list is, and how the last compares to the first.

    The latter is by the byte: 1 where the cost grows as the list does.
    """
    by_the_byte: list[Figures] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, _opened(folder) as store:
            program = Program(api, store, size)
            ours, peer = take_turns([_recording(program), _hashing(program)], _PACE)
            note = f"{size} messages, {len(program.body)} bytes"
            name = f"own_lists.{api}.{size}"
            yield Measure(name, "ms", ours, peer, _AIMS.get(size), note)
            if size == _SIZES[0]:
                yield Measure(f"{name}.alone", "ms", ours, aim=_RELATED, note=note)
            by_the_byte.append(_by_the_byte(ours, len(program.body)))
    if len(sizes) > 1:
        first, last = by_the_byte[0], by_the_byte[-1]
        yield Measure(f"own_lists.{api}.linear", "ns/byte", last, first, Aim(1))


def _opened(folder: str) -> Store:
    return connect(f"sqlite:///{Path(folder) / 'talks.db'}")


def _items(api: str, messages: int) -> list[JsonObject]:
    """Return the list of a program: prompts, calls of tools, their results and answers."""
    request = render(history(api, messages), Options(api=api))
    return list(request["input" if api == RESPONSES else "messages"])


def _recording(program: Program) -> Contender:
    def prepare(_: int) -> Work:
        program.go_on()
        return program.send

    return Contender("from the call to the durable request", "", prepare, computing)


def _hashing(program: Program) -> Contender:
    def prepare(_: int) -> Work:
        body, tail = program.body, program.tail
        return lambda: (hashlib.sha256(body).hexdigest(), json.loads(tail))

    return Contender("sha256 of the body, json.loads of its tail", "", prepare, computing)


def _by_the_byte(figures: Figures, size: int) -> Figures:
    rounds = [[seconds / size * 1e9 for seconds in found] for found in figures.rounds]
    return Figures(f"{figures.what}, {size} bytes", figures.guarantees, rounds)


@dataclass
class Program:
    """A program that keeps its own list, of so many messages at first, and where it is recorded.

    `body` is that of its last request, `tail` what that says behind the one before it.
    """

    api: str
    store: Store
    size: int
    body: bytes = b""
    tail: bytes = b""
    attempt: AnswerRecorder | None = None
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        """Say the whole list once: what goes on from it is measured."""
        chat = self.chat = self.store.conversation(str(uuid4()))
        self.turns = ExchangeRecorder(
            Binding(
                tenancy_of(chat).recorders,
                ConversationWire(stream_of(chat), tenancy_of(chat).recorders),
            )
        )
        self.items = [*_items(self.api, self.size), _prompt()]
        self.body = _spelled(self.api, self.items)
        self.send()

    def go_on(self) -> None:
        """Take an answer to the last request, and make the next one ready."""
        answer, said = answered(self.api, next(self.numbers))
        self.answer(answer)
        self.items += (said, _prompt())
        self.tail = _compact([said, self.items[-1]])
        self.body = _spelled(self.api, self.items)

    def send(self) -> None:
        """Record the request, as one that is about to go out."""
        sending = Sending("POST", _PATHS[self.api], _HEADERS)
        self.attempt = self.turns.attempt(self.turns.binding.of({}), sending, self.body)

    def answer(self, body: bytes) -> None:
        """Record what the last request is answered."""
        if self.attempt is not None:
            self.attempt.answered(200, {"content-type": "application/json"})
            self.attempt.feed(body)
            self.attempt.finish()


def _spelled(api: str, items: list[JsonObject]) -> bytes:
    """Return a request's body as the official clients write it."""
    name = "input" if api == RESPONSES else "messages"
    return _compact({"max_tokens": 1024, name: items, "model": "m", "stream": False})


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _prompt() -> JsonObject:
    return {"role": "user", "content": text()}


if __name__ == "__main__":
    asked = tuple(map(int, sys.argv[1:])) or _SIZES
    for known in _PATHS:
        for measure in measures(known, asked):
            print(json.dumps(measure.line()), flush=True)
