"""Real recorded traffic, once recorded, goes back as it was said, or the report says why not."""

import json
from collections import Counter
from itertools import count
from uuid import UUID

import pytest

from onrecord.domain.content import Text
from onrecord.domain.events import (
    MessageRecorded,
    OpaqueRecorded,
)
from onrecord.projections.apis.request import Options, Request, render
from tests.corpus.kept import as_text
from tests.corpus.record import Record, answered, sent, sent_back
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import MISSING, Exchange, JsonObject, exchanges, files, is_there
from tests.sent import instructions, said, tools

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

HELLO: JsonObject = {"messages": [{"role": "user", "content": "Hello"}]}


# Why a block of a recording does not go back as it was, a rule of the service's each. Most are so
# because an answer was recorded without the requests before it.
RIGHTLY = {
    "R2": "the call of a server tool's result stands in a request that was not recorded: "
    '"Each `..._tool_result` block must have a corresponding `server_tool_use` block before it"',
    "R1": "a stream of several was recorded apart: the call has no result, and one stands in",
    "R3": "a stream of several was recorded apart: the code that made the call is in another one",
    "cut short": "calls of an answer that did not stop for them; a result is refused, and so is none: "
    '"`tool_use` ids were found without `tool_result` blocks immediately after" (R1)',
    "R14": "the advisor, and tools that were found, are in no recorded request: what tells of them "
    "is refused without their definitions",
    "R16": 'cache marks are placed anew: "A maximum of 4 blocks with cache_control may be provided"',
    "R18": "what precedes a compaction is not read any more: `compaction_block_misplaced`",
    "refused": "a response that was refused is no part of the history",
}


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
        going = Counter(sent_back(request))
        for version, event, block in record.said():
            goes = going[block] > 0
            going[block] -= goes
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
    summed_up = max((note.version or 0 for note in request.report.of("R18")), default=0)
    rules = {note.rule for note in done if note.version == version}
    return rules or ({"R18"} if version < summed_up else {f"nothing told of version {version}"})


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
