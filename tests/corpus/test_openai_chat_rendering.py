"""Real traffic of Chat Completions, once recorded, goes back as it was said, or the report says
why not."""

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
from onrecord.adapters.wire.openai_chat.answers import read_body
from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from onrecord.adapters.wire.openai_chat.wire import WIRE
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
from tests.corpus.kept import as_text, blocks_of, stored
from tests.corpus.openai_chat_wire import exchanges, files
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import MISSING, Exchange, JsonObject, is_there
from tests.projections.refused import refused
from tests.sent import events_of

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

API: Final = WIRE.api
HELLO: Final[JsonObject] = {"messages": [{"role": "user", "content": "Hello"}]}
FILES: Final = files() if is_there() else []
NO_TEMPLATE: Final = Template(spans=(), sha256="", size=0)

# Why a block of a recording does not go back as it was, a rule of the services' each.
RIGHTLY: Final = {
    "C4": "a message that says nothing is refused",
    "C7": "what an answer has and a request has not: `annotations`, and members that are null",
    "C8": "what one server adds to an answer is read by no other model",
    "C15": "what Groq adds to an answer it refuses in a request",
    "C11": "a server left the role of its message out; a message has one",
}


class Record:
    """What a log would hold of one exchange, and a word of the user's."""

    def __init__(self, exchange: Exchange) -> None:
        self.items: list[tuple[int, Event]] = []
        self.blobs: dict[str, bytes] = {}
        sent = WIRE.read_request(json.dumps(exchange.request or HELLO).encode())
        responses = (UUID(int=number) for number in count(100))
        asked = RequestSent(
            api=API, endpoint="/v1/chat/completions", model=sent.model, template=NO_TEMPLATE
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

    def said(self) -> Iterator[tuple[int, Event, str]]:
        """Each block of the conversation: its version, its event, and its text as JSON."""
        for version, event in self.items:
            is_said = isinstance(event, MessageRecorded | ToolResultRecorded)
            if is_said or (hasattr(event, "response") and hasattr(event, "content")):
                for block in blocks_of(event):
                    yield version, event, as_text(restore(block, self.blobs))


def read(exchange: Exchange) -> Answer:
    if not exchange.is_stream:
        return read_body(exchange.body)
    stream = CompletionStream()
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
        assert refused(API, request) == ()
        sent = WIRE.read_request(json.dumps(dict(request)).encode())
        there = Counter(as_text(piece.block) for piece in sent.pieces)
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


def why(request: Request, version: int) -> set[str]:
    """The rules by which a block of this version was changed, or what is noted of all of them."""
    done = [note for note in request.report if note.deed != "noted"]
    rules = {note.rule for note in done if note.version == version}
    whole = {note.rule for note in done if note.version is None}
    return rules or whole or {f"nothing told of version {version}"}
