"""The repository's own samples of Gemini's answers: every kind of part, read as it came."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from google.genai.types import GenerateContentResponse, Part

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.gemini.stream import read_body
from onrecord.adapters.wire.sse import Decoder
from tests.adapters.wire.gemini.gemini_streams import blocks, events, fed
from tests.gemini_wire import SAMPLES, JsonObject, chunks

KINDS = {".sse", ".json"}

# Parts that the official types do not know, and candidates that they take by their place alone.
LOST_BY_THE_CLIENT = {"unknown-part", "two-candidates"}

# Calls in pieces, which the official client leaves to its caller to put together.
PUT_TOGETHER = {"tool-call-in-pieces.sse", "cut-in-call.sse"}


def wire_files() -> list[Path]:
    found = sorted(SAMPLES.iterdir())
    return [path for path in found if path.suffix in KINDS and "expected" not in path.name]


def both_ways() -> list[str]:
    """The names of what is there as a stream and as a body."""
    return sorted(
        path.stem for path in wire_files() if path.suffix == ".sse" and body_of(path).exists()
    )


def body_of(path: Path) -> Path:
    return path.with_suffix(".json")


def expected_of(path: Path) -> JsonObject:
    expected: JsonObject = json.loads(path.with_name(f"{path.stem}.expected.json").read_bytes())
    return expected


def read(path: Path, size: int = 64) -> Answer:
    data = path.read_bytes()
    return read_body(data) if path.suffix == ".json" else fed(*chunks(data, [size])).finish()


def as_text(value: Any) -> str:
    """JSON text, for it shows the order of keys, nulls, and what is an integer."""
    return json.dumps(value, indent=1)


def test_every_sample_says_what_it_must_give() -> None:
    told = {path.name.removesuffix(".expected.json") for path in SAMPLES.glob("*.expected.json")}
    assert told == {path.stem for path in wire_files()}


@pytest.mark.parametrize("path", wire_files(), ids=lambda path: path.name)
@pytest.mark.parametrize("size", [1, 64, 1_000_000])
def test_a_sample_is_read_as_its_expectation_says(path: Path, size: int) -> None:
    expected, answer = expected_of(path), read(path, size)
    unfinished = [{"index": part.index, "block": part.value} for part in answer.unfinished]
    others = [blocks(other) for other in answer.alternatives]
    assert as_text(blocks(answer)) == as_text(expected["blocks"])
    assert as_text(unfinished) == as_text(expected["unfinished"])
    assert as_text(others) == as_text(expected.get("alternatives", []))
    told = answer.envelope.get("candidates")
    assert json.dumps(told, sort_keys=True) == json.dumps(expected["candidates"], sort_keys=True)
    assert as_text(answer.error) == as_text(expected.get("error"))
    assert answer.is_complete == expected["complete"]
    assert answer.awaits_results == expected.get("awaits_results", False)


@pytest.mark.parametrize("path", wire_files(), ids=lambda path: path.name)
def test_what_a_sample_says_is_not_understood_is_kept_as_bytes(path: Path) -> None:
    expected, answer = expected_of(path), read(path)
    assert [json.loads(anomaly.raw) for anomaly in answer.anomalies if anomaly.raw] == expected.get(
        "not_understood", []
    )
    assert [anomaly.what for anomaly in answer.anomalies if not anomaly.raw] == expected.get(
        "odd", []
    )


@pytest.mark.parametrize("name", both_ways())
def test_a_stream_is_recorded_as_its_body_is_event_for_event(name: str) -> None:
    streamed, whole = (read(SAMPLES / f"{name}{kind}") for kind in (".sse", ".json"))
    assert events(streamed) == events(whole)
    assert (streamed.stop_reason, streamed.model) == (whole.stop_reason, whole.model)
    assert (streamed.input_tokens, streamed.output_tokens) == (
        whole.input_tokens,
        whole.output_tokens,
    )
    assert len(streamed.alternatives) == len(whole.alternatives)
    for one, other in zip(streamed.alternatives, whole.alternatives, strict=True):
        assert events(one) == events(other)


@pytest.mark.parametrize(
    "path",
    [path for path in wire_files() if path.stem not in LOST_BY_THE_CLIENT],
    ids=lambda path: path.name,
)
def test_the_official_types_read_the_same_texts(path: Path) -> None:
    assert "".join(part.text or "" for part in official_parts(path)) == "".join(
        str(part.get("text", "")) for part in own_parts(path)
    )


@pytest.mark.parametrize(
    "path",
    [path for path in wire_files() if path.stem not in LOST_BY_THE_CLIENT],
    ids=lambda path: path.name,
)
def test_the_official_types_read_the_same_calls(path: Path) -> None:
    calls = [part.function_call for part in official_parts(path) if part.function_call]
    ours = [part["functionCall"] for part in own_parts(path) if "functionCall" in part]
    if path.name in PUT_TOGETHER:
        assert [call.name for call in calls if call.name] == [call["name"] for call in ours]
        assert any(call.partial_args for call in calls)
        return
    assert [(call.name, call.args) for call in calls] == [
        (call["name"], call.get("args")) for call in ours
    ]


def test_the_exceptions_are_samples() -> None:
    paths = wire_files()
    assert {path.stem for path in paths} >= LOST_BY_THE_CLIENT
    assert {path.name for path in paths} >= PUT_TOGETHER


def official_parts(path: Path) -> list[Part]:
    """The parts that the official client's types read in a sample."""
    read = [GenerateContentResponse.model_validate(chunk) for chunk in told_by(path)]
    return [part for chunk in read for part in chunk.parts or []]


def own_parts(path: Path) -> list[JsonObject]:
    """The parts that are recorded of a sample."""
    answer = read(path)
    whole = [block.value for block in answer.blocks]
    return whole + [block.value for block in answer.unfinished]


def told_by(path: Path) -> list[JsonObject]:
    """The chunks of a sample, up to one that is none of an answer."""
    if path.suffix == ".json":
        body: Any = json.loads(path.read_bytes())
        listed: list[Any] = cast("list[Any]", body) if isinstance(body, list) else [body]
    else:
        listed = [json.loads(one.data) for one in Decoder().feed(path.read_bytes())]
    return [chunk for chunk in listed if "error" not in chunk]
