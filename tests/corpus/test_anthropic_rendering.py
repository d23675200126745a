"""Real recorded traffic, once recorded, goes back as it was said, or the report says why not."""

import json
from collections import Counter
from itertools import count
from uuid import UUID

import pytest

from hansard.adapters.capture.anthropic_requests import instructions, said, tools
from hansard.domain.content import Text
from hansard.domain.events import (
    MessageRecorded,
    OpaqueRecorded,
)
from hansard.projections.requests.rendering import render
from hansard.projections.requests.request import Options
from tests.corpus.kept import as_text
from tests.corpus.record import Record, answered, sent, sent_back, versions_told
from tests.corpus.table import RecordProperty, report
from tests.corpus.wire import MISSING, Exchange, JsonObject, exchanges, files, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

HELLO: JsonObject = {"messages": [{"role": "user", "content": "Hello"}]}


def recorded(exchange: Exchange) -> Record:
    """The request, the answer, and a word of the user's where it is the user's turn."""
    request = exchange.request or HELLO
    system, definitions = request.get("system"), request.get("tools")
    record = Record()
    record.add(
        instructions(system) if system else ((), {}),
        tools(definitions) if definitions else ((), {}),
        said(request["messages"], responses=(UUID(int=number) for number in count(100))),
        ((sent(request),), {}),
        answered(exchange),
    )
    _, closing = record.items[-1]
    if getattr(closing, "stop_reason", None) not in ("pause_turn", "tool_use"):
        record.add(((MessageRecorded(role="user", content=(Text(text="Go on."),)),), {}))
    return record


@pytest.mark.parametrize("name", files())
def test_what_was_recorded_goes_back_verbatim_or_the_report_says_why(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for exchange in exchanges(name):
        if exchange.status >= 400:
            continue
        record = recorded(exchange)
        request = render(record.items, Options(), record.blobs)
        going, told = Counter(sent_back(request)), versions_told(request)
        for version, event, block in record.said():
            goes = going[block] > 0
            going[block] -= goes
            assert goes or version in told, f"{block[:200]} of version {version} is lost"
            counts.update(
                blocks=1,
                verbatim=int(goes),
                repaired=int(not goes),
                opaque=int(isinstance(event, OpaqueRecorded)),
            )
        counts.update(answers=1)
    report(record_property, "rendered", counts)


@pytest.mark.parametrize("name", files())
def test_what_the_assistant_said_goes_back_in_its_order(name: str) -> None:
    for exchange in exchanges(name):
        if exchange.status >= 400:
            continue
        record = recorded(exchange)
        request = render(record.items, Options(), record.blobs)
        messages: list[JsonObject] = request["messages"]
        going = [
            as_text(block)
            for message in messages
            if message["role"] == "assistant"
            for block in message["content"]
        ]
        order = iter([block for _, _, block in record.said()])
        assert all(block in order for block in going if block in set(all_said(record)))
        assert json.loads(json.dumps(messages)) == messages


def all_said(record: Record) -> list[str]:
    return [block for _, _, block in record.said()]
