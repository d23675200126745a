"""The samples of the Responses wire: every event and item type, read as their rules say."""

import json
from pathlib import Path
from typing import Any, cast

import httpx2
import openai
import pytest
from openai.types.responses import ResponseOutputItem, ResponseStreamEvent

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.openai_responses.answers import read_body
from onrecord.adapters.wire.openai_responses.stream import ResponseStream
from tests.adapters.wire.test_wire_samples import type_names
from tests.anthropic_wire import chunks
from tests.openai_responses_wire import SAMPLES, JsonObject

WIRE_FILES = sorted(path for path in SAMPLES.iterdir() if not path.name.endswith(".expected.json"))
STREAMS = [path for path in WIRE_FILES if path.suffix == ".sse"]
# Streams that the SDK does not read to their end.
FAULTS = {"failed", "error-event"}


def expected_of(path: Path) -> JsonObject:
    expected: JsonObject = json.loads(path.with_name(f"{path.stem}.expected.json").read_bytes())
    return expected


def read(path: Path, size: int) -> Answer:
    data = path.read_bytes()
    if path.suffix == ".json":
        return read_body(data)
    stream = ResponseStream()
    for chunk in chunks(data, [size]):
        stream.feed(chunk)
    return stream.finish()


def as_text(value: Any) -> str:
    """JSON text, for it shows the order of keys, nulls, and what is an integer."""
    return json.dumps(value, indent=1)


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", WIRE_FILES, ids=name_of)
@pytest.mark.parametrize("size", [1, 64, 1_000_000])
def test_a_sample_is_read_as_its_expectation_says(path: Path, size: int) -> None:
    expected, answer = expected_of(path), read(path, size)
    unfinished = [{"index": one.index, "block": one.value} for one in answer.unfinished]
    assert as_text([block.value for block in answer.blocks]) == as_text(expected["blocks"])
    assert as_text(unfinished) == as_text(expected["unfinished"])
    assert as_text(answer.envelope) == as_text(expected["envelope"])
    assert as_text(answer.error) == as_text(expected.get("error"))
    assert answer.is_complete == expected["complete"]


@pytest.mark.parametrize("path", WIRE_FILES, ids=name_of)
def test_what_a_sample_says_is_not_understood_is_kept_as_bytes(path: Path) -> None:
    expected, answer = expected_of(path), read(path, 64)
    kept = [json.loads(anomaly.raw) for anomaly in answer.anomalies if anomaly.raw]
    assert kept[: len(expected.get("not_understood", []))] == expected.get("not_understood", [])
    assert bool(answer.anomalies) == ("not_understood" in expected)


def test_every_sample_says_what_it_must_give() -> None:
    told = {path.name.removesuffix(".expected.json") for path in SAMPLES.glob("*.expected.json")}
    assert told == {path.stem for path in WIRE_FILES}


def test_every_type_of_event_and_of_item_occurs() -> None:
    lines = b"\n".join(path.read_bytes() for path in STREAMS).splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
    items = [item for path in WIRE_FILES for item in expected_of(path)["blocks"]]
    kinds = {str(event["type"]) for event in events}
    events_known, items_known = type_names(ResponseStreamEvent), type_names(ResponseOutputItem)
    assert (len(events_known), len(items_known)) == (59, 28)
    assert events_known <= kinds
    assert items_known <= {str(item["type"]) for item in items}


@pytest.mark.parametrize("path", [path for path in STREAMS if path.stem not in FAULTS], ids=name_of)
def test_the_sdk_reads_every_stream(path: Path) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream; charset=utf-8"}
        return httpx2.Response(200, headers=headers, content=path.read_bytes())

    transport = httpx2.Client(transport=httpx2.MockTransport(answer))
    with openai.OpenAI(api_key="demo", max_retries=0, http_client=transport) as client:
        events = list(client.responses.create(model="gpt-5.4", input="Hello", stream=True))
    last = cast("Any", events[-1]).type if events else ""
    is_over = last in ("response.completed", "response.incomplete")
    assert is_over == expected_of(path)["complete"]
