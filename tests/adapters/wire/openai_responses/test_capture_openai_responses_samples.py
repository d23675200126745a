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


def name_of(path: Path) -> str:
    return path.name


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
