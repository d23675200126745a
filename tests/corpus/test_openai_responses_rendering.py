"""Real traffic of the Responses API, once recorded, goes back as it was said, or the report says
why not."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.openai_responses.answers import read_body
from onrecord.adapters.wire.openai_responses.stream import ResponseStream
from onrecord.adapters.wire.openai_responses.wire import WIRE
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
from onrecord.projections.apis.rules import Violation
from tests.corpus.kept import as_text, blocks_of, stored
from tests.corpus.openai_responses_wire import Call, calls, files
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import MISSING, JsonObject, is_there
from tests.projections.refused import refused
from tests.sent import events_of

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

API = WIRE.api
HELLO: JsonObject = {"input": "Hello"}
NO_TEMPLATE = Template(spans=(), sha256="", size=0)


# Why an item of a recording does not go back as it was, a rule of the service's each.
RIGHTLY = {
    "O1": "a call whose output was not recorded gets one, which changes nothing of the call itself",
    "O2": "an output whose call stands in a request that was not recorded: "
    '"No tool call found for function call output"',
    "O3": "reasoning that nothing came of, or of which something is gone: "
    '"Item was provided without its required following item"',
    "O4": "reasoning that is neither encrypted nor stored, in what programs sent themselves: "
    '"Item with id not found. Items are not persisted when `store` is set to false"',
    "O5": "ids that the service would not take: an ID begins with what stands for its type",
    "O8": "what a tool of the provider's did whose other half was not recorded",
    "O10": "what precedes a compaction is left out",
    "late": "an output whose call stands in a request that was not recorded",
}


class Record:
    """What a log would hold of one call."""

    def __init__(self, call: Call) -> None:
        self.items: list[tuple[int, Event]] = []
        self.blobs: dict[str, bytes] = {}
        sent = WIRE.read_request(json.dumps(call.request or HELLO).encode())
        self._add(instructions_set(sent))
        self._add(tools_declared(sent))
        responses = (UUID(int=number) for number in count(100))
        self._add(WIRE.request_events(sent, sent.pieces, responses, None))
        asked = RequestSent(api=API, endpoint=call.path, model=sent.model, template=NO_TEMPLATE)
        self._add(((asked,), {}))
        self._add(events_of(read(call), response=UUID(int=1)))
        self._add(((MessageRecorded(role="user", content=(Text(text="Go on."),)),), {}))

    def _add(self, recording: tuple[tuple[Event, ...], dict[str, bytes]]) -> None:
        events, blobs = recording
        self.blobs.update(blobs)
        self.items.extend(zip(count(len(self.items) + 1), map(stored, events), strict=False))

    def said(self) -> Iterator[tuple[int, Event, str]]:
        """Each block of the conversation: its version, its event, and its text as JSON."""
        for version, event in self.items:
            spoken = isinstance(event, MessageRecorded | ToolResultRecorded)
            if spoken or (hasattr(event, "response") and hasattr(event, "content")):
                for block in blocks_of(event):
                    yield version, event, as_text(as_part(restore(block, self.blobs)))


def read(call: Call) -> Answer:
    if not call.is_stream:
        return read_body(call.body)
    stream = ResponseStream()
    stream.feed(call.body)
    return stream.finish()


def as_part(block: JsonObject) -> JsonObject:
    return {**block, "type": "input_text"} if block.get("type") == "text" else block


def going(request: Request) -> Iterator[str]:
    """The blocks of a request: items, and the parts of what users say."""
    items: list[JsonObject] = request["input"]
    for item in items:
        content = item.get("content")
        if item.get("role") not in ("user", "system") or item.keys() > {"role", "content"}:
            yield as_text(item)
        elif isinstance(content, str):
            yield as_text({"type": "input_text", "text": content})
        else:
            yield from map(as_text, content or [])


def is_taken(name: str, said: Violation) -> bool:
    """Whether OpenAI would refuse what a compatible server was seen to take: ids of its own, and
    reasoning whose message goes without one."""
    return said.rule in ("O3", "O5") and name.startswith("openai-compatible/")


@pytest.mark.parametrize("name", files())
def test_what_was_recorded_goes_back_verbatim_or_the_report_says_why(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for call in calls(name):
        if call.status >= 400 or call.method != "POST":
            continue
        record = Record(call)
        request = render(record.items, Options(api=API), record.blobs)
        assert [said for said in refused(API, request) if not is_taken(name, said)] == []
        there = Counter(going(request))
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
    """The rules by which a block of this version was changed; a compaction's, of all before it."""
    done = [note for note in request.report if note.deed != "noted"]
    summed_up = max((note.version or 0 for note in request.report.of("O10")), default=0)
    rules = {note.rule for note in done if note.version == version}
    return rules or ({"O10"} if version < summed_up else {f"nothing told of version {version}"})
