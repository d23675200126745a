"""The repository's own samples of the wire: every block and event type, read as they came."""

import json
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.anthropic.answers import read_body
from onrecord.adapters.wire.anthropic.stream import MessageStream
from onrecord.domain.events import Unfinished
from tests.anthropic_wire import SAMPLES, JsonObject, chunks

# What an unfinished block's pieces belong to, in the spelling of the samples.
PIECES = {"text": "text", "thinking": "thinking"}
ROUTINE = ("type", "role")


def wire_files() -> list[Path]:
    found = sorted(SAMPLES.iterdir())
    return [
        path for path in found if path.suffix in (".json", ".sse") and "expected" not in path.name
    ]


def expected_of(path: Path) -> JsonObject:
    expected: JsonObject = json.loads(path.with_name(f"{path.stem}.expected.json").read_bytes())
    return expected


def read(path: Path, size: int) -> Answer:
    data = path.read_bytes()
    if path.suffix == ".json":
        return read_body(data)
    stream = MessageStream()
    for chunk in chunks(data, [size]):
        stream.feed(chunk)
    return stream.finish()


def as_text(value: Any) -> str:
    """JSON text, for it shows the order of keys, nulls, and what is an integer."""
    return json.dumps(value, indent=1)


def shown(block: Unfinished) -> JsonObject:
    """An unfinished block in the samples' spelling."""
    member = PIECES.get(block.value["type"])
    if member is not None:
        return {
            "index": block.index,
            "block": {**block.value, member: block.value[member] + block.partial},
        }
    partial = {"partial_json": block.partial} if block.partial else {}
    return {"index": block.index, "block": block.value, **partial}


def read_so(expected: JsonObject) -> JsonObject:
    """What is expected of a reading: of a message that another one broke off, that message."""
    earlier: list[JsonObject] = expected.get("earlier", [])
    return earlier[0] if earlier else expected


@pytest.mark.parametrize("path", wire_files(), ids=lambda path: path.name)
@pytest.mark.parametrize("size", [1, 64, 1_000_000])
def test_a_sample_is_read_as_its_expectation_says(path: Path, size: int) -> None:
    expected, answer = read_so(expected_of(path)), read(path, size)
    envelope = {key: value for key, value in answer.envelope.items() if key not in ROUTINE}
    assert as_text([block.value for block in answer.blocks]) == as_text(expected["blocks"])
    assert as_text(list(map(shown, answer.unfinished))) == as_text(expected["unfinished"])
    assert as_text(envelope) == as_text(expected["envelope"])
    assert as_text(answer.error) == as_text(expected.get("error"))


@pytest.mark.parametrize("path", wire_files(), ids=lambda path: path.name)
def test_an_answer_is_complete_if_it_stopped_and_all_of_it_was_understood(path: Path) -> None:
    expected = read_so(expected_of(path))
    assert read(path, 64).is_complete == expected["complete"]


@pytest.mark.parametrize("path", wire_files(), ids=lambda path: path.name)
def test_what_a_sample_says_is_not_understood_is_kept_as_bytes(path: Path) -> None:
    expected, answer = expected_of(path), read(path, 64)
    kept = [json.loads(anomaly.raw) for anomaly in answer.anomalies if anomaly.raw]
    assert all(odd in kept for odd in expected.get("not_understood", []))
    assert answer.needs_raw or "not_understood" not in expected
