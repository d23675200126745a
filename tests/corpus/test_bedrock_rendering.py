"""Real traffic of Bedrock's Converse API, once recorded, goes back as it was said, or the report
says why not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any, Final
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.bedrock.stream import ConverseStream
from onrecord.adapters.wire.bedrock.wire import WIRE
from onrecord.adapters.wire.blocks import Recording
from onrecord.adapters.wire.requests import instructions_set, tools_declared
from onrecord.domain.blobs import restore
from onrecord.domain.content import Text
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    RequestSent,
    ToolResultRecorded,
)
from onrecord.domain.request_template import Template
from onrecord.projections.apis.request import Options, Request, render
from tests.corpus.bedrock_wire import Exchange, exchanges, files
from tests.corpus.kept import as_text, blocks_of, stored
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import MISSING, JsonObject, is_there
from tests.prefixes import prefix_of
from tests.projections.apis.bedrock.converse_shape import objections
from tests.projections.refused import refused
from tests.sent import events_of

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

API: Final = WIRE.api
HELLO: Final[JsonObject] = {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]}
FILES: Final = files() if is_there() else []
NO_TEMPLATE: Final = Template(spans=(), sha256="", size=0)

# Why a block of a recording does not go back as it was, a rule of the service's each.
RIGHTLY: Final = {
    "B4": "a blank text is refused",
    "B8": "Nova refuses a file in S3 that stands in a result",
    "B10": "what no model signed is read by none",
    "B18": "samples made by hand have a `type` beside a text",
    "document": "Claude reads no file in S3",
}


class Record:
    """What a log would hold of one exchange, with results of its calls and a word of the user's."""

    def __init__(self, exchange: Exchange) -> None:
        self.items: list[tuple[int, Event]] = []
        self.blobs: dict[str, bytes] = {}
        body = json.dumps(exchange.request or HELLO).encode()
        sent = WIRE.read_request(body, exchange.path)
        responses = (UUID(int=number) for number in count(100))
        asked = RequestSent(
            api=API,
            endpoint=exchange.path,
            model=sent.model,
            template=NO_TEMPLATE,
            prefix=prefix_of(sent.system, sent.tools, sent.messages),
        )
        self._add(instructions_set(sent))
        self._add(tools_declared(sent))
        self._add(WIRE.request_events(sent, sent.pieces, responses, None))
        self._add(((asked,), {}))
        self._add(events_of(read(exchange), response=UUID(int=1)))
        self._add(((MessageRecorded(role="user", content=(Text(text="Go on."),)),), {}))

    def _add(self, recording: Recording) -> None:
        events, blobs = recording
        self.blobs.update(blobs)
        self.items.extend(zip(count(len(self.items) + 1), map(stored, events), strict=False))

    def request(self) -> Request:
        return render(self.items, Options(api=API), self.blobs)

    def said(self) -> Iterator[tuple[int, Event, str]]:
        """Each block of the conversation: its version, its event, and its text as JSON."""
        for version, event in self.items:
            is_said = isinstance(event, MessageRecorded | ToolResultRecorded)
            if is_said or (hasattr(event, "response") and hasattr(event, "content")):
                for block in blocks_of(event):
                    yield version, event, as_text(spelled(restore(block, self.blobs)))


def spelled(block: JsonObject) -> JsonObject:
    """A block as messages hold it: a text in neutral form is spelled as theirs are."""
    return {"text": block["text"]} if block.get("type") == "text" else block


def read(exchange: Exchange) -> Answer:
    if not exchange.is_stream:
        return WIRE.read_body(exchange.body, "cut", None)
    stream = ConverseStream()
    stream.feed(exchange.body)
    return stream.finish()


def answered(name: str) -> Iterator[Exchange]:
    yield from (exchange for exchange in exchanges(name) if exchange.status < 400)


@pytest.mark.parametrize("name", FILES, ids=lambda name: name[-70:])
def test_what_was_recorded_goes_back_verbatim_or_the_report_says_why(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for exchange in answered(name):
        record = Record(exchange)
        request = record.request()
        assert refused(API, request) == ()
        assert objections(request) == ""
        there = Counter(as_text(block) for block in blocks(request))
        for version, event, block in record.said():
            goes = there[block] > 0
            there[block] -= goes
            assert goes or why(request, version) <= RIGHTLY.keys(), f"{block[:200]} is lost"
            counts.update(
                blocks=1,
                verbatim=int(goes),
                repaired=int(not goes),
                opaque=int(isinstance(event, OpaqueRecorded)),
            )
        counts.update(answers=1)
    report(record_property, "rendered", counts, folder(name))


def blocks(request: Request) -> Iterator[JsonObject]:
    for message in request.body["messages"]:
        yield from message["content"]


def why(request: Request, version: int) -> set[str]:
    """The rules by which a block of this version was changed."""
    done = [note for note in request.report if note.deed != "noted"]
    rules = {note.rule for note in done if note.version == version}
    return rules or {f"nothing told of version {version}"}


@pytest.mark.parametrize("name", FILES, ids=lambda name: name[-70:])
def test_a_program_s_own_request_is_made_again(name: str) -> None:
    """What was sent up to the answer comes out as the program sent it, but for what a rule names."""
    for exchange in answered(name):
        if exchange.request is None:
            continue
        request = Record(exchange).request()
        asked = unmarked(exchange.request)
        assert request.body.get("system", []) == asked["system"]
        assert tools_of(request.body) == tools_of(asked)
        if not RIGHTLY.keys() & {note.rule for note in request.report}:
            sent = asked["messages"]
            assert request.body["messages"][: len(sent) - 1] == sent[:-1]
            last, told = sent[-1]["content"], request.body["messages"][len(sent) - 1]["content"]
            assert told[: len(last)] == last


def tools_of(body: Any) -> list[JsonObject]:
    found: list[JsonObject] = body.get("toolConfig", {}).get("tools", [])
    return found


def unmarked(body: JsonObject) -> JsonObject:
    """A request without cache points: they are placed anew."""
    told = [{**each, "content": points_gone(each["content"])} for each in body["messages"]]
    tools = {"toolConfig": {"tools": points_gone(tools_of(body))}}
    return {**body, **tools, "system": points_gone(body.get("system", [])), "messages": told}


def points_gone(blocks: list[JsonObject]) -> list[JsonObject]:
    return [block for block in blocks if "cachePoint" not in block]


def held_reasoning(exchange: Exchange) -> list[JsonObject]:
    """The signed reasoning that a conversation holds."""
    told = (json.loads(text) for _, _, text in Record(exchange).said())
    return [block for block in told if "signature" in json.dumps(block.get("reasoningContent"))]


def test_signed_reasoning_goes_back_to_the_model_that_made_it() -> None:
    """The digest of what stands before it is that of the request, for real."""
    kept = [
        block
        for name in FILES
        for exchange in answered(name)
        for block in blocks(Record(exchange).request())
        if "reasoningContent" in block
    ]
    signed = [
        block for name in FILES for exchange in answered(name) for block in held_reasoning(exchange)
    ]
    assert bool(kept) == bool(signed)
