"""The repository's own samples of completions: every kind of delta, read as it came."""

import json
from pathlib import Path
from typing import Any

import openai
import pytest

from onrecord.adapters.demo.services.connection import Reply
from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.openai_chat.answers import read_body
from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from tests.adapters.replaying_server import replaying
from tests.adapters.wire.openai_chat.openai_chat_streams import plain, put_together
from tests.openai_chat_wire import SAMPLES, JsonObject, chunks

KINDS = {".sse": "text/event-stream", ".json": "application/json"}

# Samples whose message the official client does not read.
LOST_BY_THE_CLIENT = {"error-body"}


def wire_files() -> list[Path]:
    found = sorted(SAMPLES.iterdir())
    return [path for path in found if path.suffix in KINDS and "expected" not in path.name]


def expected_of(path: Path) -> JsonObject:
    expected: JsonObject = json.loads(path.with_name(f"{path.stem}.expected.json").read_bytes())
    return expected


def read(path: Path, size: int) -> Answer:
    data = path.read_bytes()
    if path.suffix == ".json":
        return read_body(data)
    stream = CompletionStream()
    for chunk in chunks(data, [size]):
        stream.feed(chunk)
    return stream.finish()


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
    others = [[block.value for block in other.blocks] for other in answer.alternatives]
    assert as_text([block.value for block in answer.blocks]) == as_text(expected["blocks"])
    assert as_text(unfinished) == as_text(expected["unfinished"])
    assert as_text(others) == as_text(expected.get("alternatives", []))
    assert as_text(answer.envelope.get("choices")) == as_text(expected["choices"])
    assert as_text(answer.error) == as_text(expected.get("error"))
    assert answer.is_complete == expected["complete"]
    assert answer.awaits_results == expected.get("awaits_results", False)


@pytest.mark.parametrize("path", wire_files(), ids=lambda path: path.name)
def test_what_a_sample_says_is_not_understood_is_kept_as_bytes(path: Path) -> None:
    expected, answer = expected_of(path), read(path, 64)
    assert [json.loads(anomaly.raw) for anomaly in answer.anomalies if anomaly.raw] == expected.get(
        "not_understood", []
    )
    assert [anomaly.what for anomaly in answer.anomalies if not anomaly.raw] == expected.get(
        "odd", []
    )


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in wire_files()
        if path.suffix == ".json" and path.stem not in LOST_BY_THE_CLIENT
    ],
    ids=lambda path: path.name,
)
def test_the_official_client_reads_the_same_message(path: Path) -> None:
    reply = Reply(200, {"content-type": KINDS[path.suffix]}, path.read_bytes())
    with (
        replaying(reply) as server,
        openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        create: Any = client.chat.completions.create
        message = create(model="m", messages=[{"role": "user", "content": "Hello"}]).choices[0]
    told = message.message.model_dump(mode="json", exclude_unset=True, warnings=False)
    answer = read(path, 64)
    parts = {part.index: part.value for part in answer.blocks}
    parts.update({part.index: part.value for part in answer.unfinished})
    assert plain(put_together([parts[index] for index in sorted(parts)])) == plain(told)
