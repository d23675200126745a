"""Answers that are told of by name: samples of our own, and recordings where they are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.jsontext import JsonObject
from tests.contract.samples import stream_of
from tests.corpus.conversations import alone, conversations
from tests.corpus.interactions import Call, calls, written
from tests.corpus.wire import CORPUS

SAMPLES: Final = Path(__file__).parents[1] / "samples"


def sample(api: str, name: str) -> bytes:
    return (SAMPLES / api / name).read_bytes()


def recorded(*names: str) -> list[Any]:
    """Recordings, each to be left out where it is not there."""
    missing = "no recorded traffic: set ONRECORD_WIRE_CORPUS"
    return [
        pytest.param(name, marks=pytest.mark.skipif(not (CORPUS / name).is_file(), reason=missing))
        for name in names
    ]


def turn(asked: list[JsonObject], answer: bytes) -> Call:
    """A call of Anthropic's, answered with a body."""
    found = alone("anthropic", answer)
    body = {"model": "m", "max_tokens": 9, "messages": asked}
    return Call(
        found.method, found.path, found.target, written(body), 200, found.content_type, answer
    )


def in_two(first: str, second: str, *between: JsonObject) -> list[Call]:
    """Two turns with samples for answers, the second of which goes on from the first."""
    asked: list[JsonObject] = [{"role": "user", "content": "Hello"}]
    one, other = (sample("anthropic-messages", name) for name in (first, second))
    said = {"role": "assistant", "content": json.loads(one)["content"]}
    return [turn(asked, one), turn([*asked, said, *between], other)]


def turns(source: str) -> list[Call]:
    """The turns of a recording, or of our samples."""
    match source:
        case "paused":
            return in_two("pause-turn-1.json", "pause-turn-2.json")
        case "in flight":
            found = [{"type": "tool_result", "tool_use_id": called(), "content": "found"}]
            return in_two(
                "in-flight-1.json", "in-flight-2.json", {"role": "user", "content": found}
            )
        case _:
            return list(calls(source))


def called() -> str:
    said: list[JsonObject] = json.loads(sample("anthropic-messages", "in-flight-1.json"))["content"]
    return str(next(block["id"] for block in said if block["type"] == "tool_use"))


def read(api: str, answer: bytes) -> Answer:
    if answer.lstrip().startswith(b"{"):
        return WIRES[api].read_body(answer, "malformed", None)
    stream = stream_of(api)
    stream.feed(answer)
    return stream.finish()


def answers(api: str, source: str) -> list[Answer]:
    """What a sample says, or each answer of a recording."""
    if "/" not in source:
        return [read(api, sample(api, source))]
    found = [call for one in conversations(source) for call in one if call.is_accepted]
    return [read(api, call.answer) for call in found]
