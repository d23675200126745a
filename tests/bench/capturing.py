"""What capturing a stream costs, beside splitting its lines and `json.loads` on each.

Bedrock sends frames: botocore splits them, as it does for boto3.

`python -m tests.bench.capturing [events]` prints a JSON line an API. A stream arrives an event a
chunk, as services send it, and is read to its end. Both sides only compute, so it is the
processor's time that counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from onrecord.adapters.wire.wires import WIRES
from tests.bench.measure import Aim, Contender, Measure, Pace, computing, take_turns
from tests.bench.spellings import BEDROCK, OLLAMA
from tests.bench.streams import streamed

_EVENTS: Final = 10_000
_PACE: Final = Pace(rounds=9, each=3)


def measure(api: str, events: int) -> Measure:
    """Return what capturing a stream of so many events costs, and what reading its lines does."""
    chunks = streamed(api, events)
    body = b"".join(chunks)
    what, reads = _PEERS.get(api, ("json.loads a line", _events))
    peer = Contender(what, "", lambda _: lambda: reads(body), computing)
    own = Contender("capture", "", lambda _: lambda: _captured(api, chunks), computing)
    figures = take_turns([own, peer], _PACE)
    note = f"{events} events, {len(body)} bytes"
    return Measure(f"capturing.{api}", "ms", figures[0], figures[1], Aim(3), note)


def _captured(api: str, chunks: list[bytes]) -> None:
    stream = next(iter(WIRES[api].streams.values()))()
    for chunk in chunks:
        stream.feed(chunk)
    if not stream.finish().is_complete:
        raise ValueError(f"the stream of {api} is no whole answer")


def _events(body: bytes) -> None:
    for line in body.split(b"\n"):
        if line.startswith(b"data: ") and line != b"data: [DONE]":
            json.loads(line[len(b"data: ") :])


def _lines(body: bytes) -> None:
    for line in body.splitlines():
        json.loads(line)


def _frames(body: bytes) -> None:
    # botocore has no type stubs.
    buffer: Any = import_module("botocore.eventstream").EventStreamBuffer()
    buffer.add_data(body)
    for frame in buffer:
        json.loads(frame.payload)


_PEERS: Final[Mapping[str, tuple[str, Callable[[bytes], None]]]] = {
    OLLAMA: ("json.loads a line", _lines),
    BEDROCK: ("botocore's frames, json.loads of each", _frames),
}


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _EVENTS
    for known in WIRES:
        print(json.dumps(measure(known, count).line()), flush=True)
