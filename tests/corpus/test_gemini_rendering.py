"""Real traffic of Gemini's API, once recorded, goes back as it was said, or the report says why not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Final
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.blocks import Recording
from onrecord.adapters.wire.gemini.stream import ContentStream, read_body
from onrecord.adapters.wire.gemini.wire import WIRE
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
from tests.corpus.gemini_wire import Exchange, exchanges, files
from tests.corpus.kept import as_text, blocks_of, stored
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import MISSING, JsonObject, is_there
from tests.sent import events_of

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

API: Final = WIRE.api
HELLO: Final[JsonObject] = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
FILES: Final = files() if is_there() else []
NO_TEMPLATE: Final = Template(spans=(), sha256="", size=0)

# Why a part of a recording does not go back as it was, a rule of the service's each.
RIGHTLY: Final = {
    "G6": "a part without anything is refused, by Vertex at least",
    "G11": "what is told of grounding is no part of a request",
}


class Record:
    """What a log would hold of one exchange, and a word of the user's."""

    def __init__(self, exchange: Exchange) -> None:
        self.items: list[tuple[int, Event]] = []
        self.blobs: dict[str, bytes] = {}
        body = json.dumps(exchange.request or HELLO).encode()
        sent = WIRE.read_request(body, exchange.path)
        responses = (UUID(int=number) for number in count(100))
        asked = RequestSent(api=API, endpoint="", model=sent.model, template=NO_TEMPLATE)
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

    def said(self) -> Iterator[tuple[int, Event, str]]:
        """Each block of the conversation: its version, its event, and its text as JSON."""
        for version, event in self.items:
            is_said = isinstance(event, MessageRecorded | ToolResultRecorded)
            if is_said or (hasattr(event, "response") and hasattr(event, "content")):
                for block in blocks_of(event):
                    yield version, event, as_text(part_of(restore(block, self.blobs)))


def part_of(block: JsonObject) -> JsonObject:
    """A block as a part: a text in neutral form is spelled as parts are."""
    return {"text": block["text"]} if block.get("type") == "text" else block


def read(exchange: Exchange) -> Answer:
    if not exchange.is_stream:
        return read_body(exchange.body)
    stream = ContentStream()
    stream.feed(exchange.body)
    return stream.finish()


@pytest.mark.parametrize("name", FILES, ids=lambda name: name[-70:])
def test_what_was_recorded_goes_back_verbatim_or_the_report_says_why(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for exchange in exchanges(name):
        if exchange.status >= 400:
            continue
        record = Record(exchange)
        request = render(record.items, Options(api=API), record.blobs)
        there = Counter(as_text(part) for part in parts(request))
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


def parts(request: Request) -> Iterator[JsonObject]:
    for content in request.body["contents"]:
        yield from content["parts"]


def why(request: Request, version: int) -> set[str]:
    """The rules by which a block of this version was changed."""
    done = [note for note in request.report if note.deed != "noted"]
    rules = {note.rule for note in done if note.version == version}
    return rules or {f"nothing told of version {version}"}


@pytest.mark.parametrize("name", FILES, ids=lambda name: name[-70:])
def test_a_program_s_own_request_is_made_again(name: str) -> None:
    """What was sent up to the answer comes out as the program sent it, but for what a rule names."""
    for exchange in exchanges(name):
        if exchange.status >= 400 or exchange.request is None:
            continue
        record = Record(exchange)
        request = render(record.items, Options(api=API), record.blobs)
        told, asked = (body.get("systemInstruction") for body in (request.body, exchange.request))
        assert (told and told["parts"]) == (asked and asked["parts"])
        assert request.body.get("tools") == exchange.request.get("tools")
        sent = exchange.request["contents"]
        if not {"G4", "G6"} & {note.rule for note in request.report}:
            assert request.body["contents"][: len(sent)] == sent
