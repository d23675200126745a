"""The repository's own samples of Gemini's answers: every kind of part, read as it came."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from google.genai.types import GenerateContentResponse, Part

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.gemini.stream import read_body
from onrecord.adapters.wire.stream_reader import Decoder
from tests.adapters.wire.gemini.gemini_streams import fed
from tests.gemini_wire import SAMPLES, JsonObject, chunks

KINDS = {".sse", ".json"}

# Parts that the official types do not know, and candidates that they take by their place alone.
LOST_BY_THE_CLIENT = {"unknown-part", "two-candidates"}

# Calls in pieces, which the official client leaves to its caller to put together.
PUT_TOGETHER = {"tool-call-in-pieces.sse", "cut-in-call.sse"}


def wire_files() -> list[Path]:
    found = sorted(SAMPLES.iterdir())
    return [path for path in found if path.suffix in KINDS and "expected" not in path.name]


def read(path: Path, size: int = 64) -> Answer:
    data = path.read_bytes()
    return read_body(data) if path.suffix == ".json" else fed(*chunks(data, [size])).finish()


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
