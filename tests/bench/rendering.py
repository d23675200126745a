"""What rendering a conversation costs, beside `json.loads` of the rendered request's bytes.

`python -m tests.bench.rendering [messages]` prints a JSON line an API. The conversation is one that
a recorded client leaves: prompts, calls, results and answers, and with each answer its request and
its envelope. Ours begins with the events as the log has them, bodies not yet read. Both sides only
compute, so it is the processor's time that counts: others at work on the machine change it little.
OpenAI's two APIs, each in its own spelling, are held against Anthropic's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from time import process_time
from typing import Final
from uuid import UUID

from hansard.domain import jsontext
from hansard.domain.draft import Stamp, draft
from hansard.domain.events import Event
from hansard.domain.log import Told
from hansard.projections.requests.rendering import render
from hansard.projections.requests.request import Options
from tests.bench.measure import Aim, Contender, Measure, Pace, Work, take_turns
from tests.bench.payload import as_recorded, exchanges
from tests.bench.spellings import CHAT, RESPONSES, spelled

_MESSAGES: Final = 10_000
_PACE: Final = Pace(rounds=9, each=3)
_CONVERSATION: Final = UUID(int=1)


def measure(messages: int) -> Measure:
    """Return what a request of so many messages costs, and what reading its bytes does."""
    recorded = _recorded(_happened(messages))
    body = jsontext.write(dict(render(recorded, Options())))
    peer = Contender("json.loads", "", lambda _: lambda: json.loads(body), _computing)
    note = f"{messages} messages, {len(body)} bytes"
    return _measured("rendering", [_rendering(recorded, Options()), peer], 4, note)


def measure_beside(api: str, messages: int) -> Measure:
    """Return what a request for an API costs, and what one of Anthropic's does."""
    happened = list(_happened(messages))
    own = _rendering(_recorded(spelled(api, iter(happened))), Options(api=api))
    peer = _rendering(_recorded(happened), Options(), "anthropic-messages")
    return _measured(f"rendering.{api}", [own, peer], 1.5, f"{messages} messages")


def _happened(messages: int) -> Iterator[Event]:
    return (event for exchange in exchanges(messages) for event in as_recorded(exchange))


def _recorded(happened: Iterable[Event]) -> list[Told]:
    return [_told(version, event) for version, event in enumerate(happened, start=1)]


def _rendering(recorded: list[Told], options: Options, name: str = "render") -> Contender:
    return Contender(name, "", lambda _: lambda: render(recorded, options), _computing)


def _measured(name: str, sides: list[Contender], aim: float, note: str) -> Measure:
    figures = take_turns(sides, _PACE)
    return Measure(name, "ms", figures[0], figures[1], Aim(aim), note)


def _computing(work: Work) -> float:
    """Return how many seconds of the processor an operation took."""
    began = process_time()
    work()
    return process_time() - began


def _told(version: int, event: Event) -> Told:
    stamp = Stamp(UUID(int=version), version, b"0" * 16, UUID(int=2), _CONVERSATION)
    new = draft(event, stamp)
    return Told(
        conversation_id=_CONVERSATION,
        version=version,
        event_id=new.event_id.bytes,
        type=new.type,
        schema_version=new.schema_version,
        recorded_at=version,
        body=new.body,
    )


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _MESSAGES
    print(json.dumps(measure(count).line()))
    for other in (CHAT, RESPONSES):
        print(json.dumps(measure_beside(other, count).line()))
