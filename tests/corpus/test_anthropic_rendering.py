"""Real recorded traffic, once recorded, goes back as it was said, or the report says why not."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from uuid import UUID

import pytest

from hansard.adapters.capture.anthropic_envelope import API
from hansard.adapters.capture.anthropic_events import Recording, events_of
from hansard.adapters.capture.anthropic_messages import read_body
from hansard.adapters.capture.anthropic_requests import instructions, said, tools
from hansard.adapters.capture.anthropic_stream import MessageStream
from hansard.domain.blobs import restore
from hansard.domain.content import Text
from hansard.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    RequestSent,
    Template,
    ToolResultRecorded,
)
from hansard.domain.prefix import prefix_of
from hansard.projections.requests.rendering import render
from hansard.projections.requests.request import Options, Request
from tests.corpus.kept import as_text, blocks_of, stored
from tests.corpus.table import RecordProperty, report
from tests.corpus.wire import MISSING, Exchange, JsonObject, exchanges, files, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

HELLO: JsonObject = {"messages": [{"role": "user", "content": "Hello"}]}
SPOKEN = (MessageRecorded, ToolResultRecorded)


@dataclass(slots=True)
class Record:
    """What a log would hold of an exchange."""

    items: list[tuple[int, Event]] = field(default_factory=list[tuple[int, Event]])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def add(self, *recordings: Recording) -> None:
        for events, blobs in recordings:
            self.blobs.update(blobs)
            self.items.extend(zip(count(len(self.items) + 1), map(stored, events), strict=False))

    def said(self) -> Iterator[tuple[int, Event, str]]:
        """Each block of the messages: its version, its event, and its text as JSON."""
        for version, event in self.items:
            if isinstance(event, SPOKEN) or getattr(event, "response", None) is not None:
                for block in blocks_of(event):
                    yield version, event, as_text(restore(block, self.blobs))


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


def sent(request: JsonObject) -> RequestSent:
    prefix = prefix_of(request.get("system"), request.get("tools"), request["messages"])
    template = Template(spans=(), sha256="", size=0)
    return RequestSent(
        api=API,
        endpoint="/v1/messages",
        model=request.get("model"),
        template=template,
        prefix=prefix,
    )


def answered(exchange: Exchange) -> Recording:
    if not exchange.is_stream:
        return events_of(read_body(exchange.body), response=UUID(int=1))
    stream = MessageStream()
    stream.feed(exchange.body)
    return events_of(stream.finish(), response=UUID(int=1))


def sent_back(request: Request) -> list[str]:
    return [as_text(block) for message in request["messages"] for block in message["content"]]


def versions_told(request: Request) -> set[int | None]:
    """The versions that the report is about; a compaction stands for all versions before it."""
    told = {note.version for note in request.report}
    summed_up = [note.version or 0 for note in request.report.of("R18")]
    return told | set(range(1, max(summed_up, default=0)))


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
