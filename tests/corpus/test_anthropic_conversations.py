"""Recorded answers that followed one another, as one conversation: all of each goes back.

The service went on from each of them, so what it said last was accepted just as it was.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count, pairwise
from typing import Final
from uuid import UUID

import pytest

from onrecord.adapters.wire.blocks import Recording
from onrecord.domain.events import ToolCallRecorded
from onrecord.projections.apis.request import Options, Request, render
from tests.corpus.record import Record, answered, sent, sent_back
from tests.corpus.table import RecordProperty, report
from tests.corpus.wire import MISSING, Exchange, JsonObject, exchanges, files, is_there
from tests.sent import instructions, said, tools

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

HELLO: JsonObject = {"messages": [{"role": "user", "content": "Hello"}]}
_FOUND: Final = re.compile(rb'"type": ?"tool_reference", ?"tool_name": ?"(\w+)"')


def conversations() -> list[str]:
    return [name for name in files() if len(answers(name)) > 1]


def answers(name: str) -> list[Exchange]:
    return [exchange for exchange in exchanges(name) if exchange.status == 200]


def steps(name: str) -> Iterator[tuple[Record, Request]]:
    """The record after each answer but the last, and the request that follows it."""
    followed = answers(name)
    first = followed[0].request or HELLO
    record = Record()
    record.add(
        instructions(first["system"]) if first.get("system") else ((), {}),
        tools(defined) if (defined := first.get("tools") or found(followed)) else ((), {}),
        said(first["messages"], responses=(UUID(int=number) for number in count(100))),
    )
    request = render(record.items, Options(), record.blobs)
    for number, (exchange, following) in enumerate(pairwise(followed)):
        record.add(((sent(dict(request)),), {}), answered(exchange, number + 1))
        record.add(word_after(record, following))
        request = render(record.items, Options(), record.blobs)
        yield record, request


def found(followed: list[Exchange]) -> list[JsonObject]:
    """Definitions of the tools that were found: where no request was recorded, it had them."""
    names = {name.decode() for answer in followed for name in _FOUND.findall(answer.body)}
    return [{"name": name, "input_schema": {"type": "object"}} for name in sorted(names)]


def word_after(record: Record, following: Exchange) -> Recording:
    """What the caller said after an answer: what was recorded, or else what it must say."""
    last: JsonObject = (following.request or {"messages": [{}]})["messages"][-1]
    if last.get("role") == "user":
        return said([last], responses=iter(()))
    _, closing = record.items[-1]
    if getattr(closing, "stop_reason", None) == "pause_turn":
        return (), {}
    content = [result_of(call) for call in awaited(record)] or "Go on."
    return said([{"role": "user", "content": content}], responses=iter(()))


def awaited(record: Record) -> list[ToolCallRecorded]:
    """The calls of the last answer."""
    *events, closing = [event for _, event in record.items]
    response = getattr(closing, "response", None)
    calls = [event for event in events if isinstance(event, ToolCallRecorded) and event.awaited]
    return [call for call in calls if call.response == response]


def result_of(call: ToolCallRecorded) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call.call_id, "content": "6"}


@pytest.mark.parametrize("name", conversations())
def test_each_answer_goes_back_verbatim(name: str, record_property: RecordProperty) -> None:
    counts = Counter(files=1)
    for record, request in steps(name):
        going = Counter(sent_back(request))
        for version, event, block in record.said():
            if getattr(event, "response", None) is None:
                continue
            assert going[block] > 0, f"{block[:200]} of version {version} is changed or lost"
            going[block] -= 1
            counts.update(blocks=1, verbatim=1)
        counts.update(requests=1)
    report(record_property, "continued", counts)


UNTOUCHED = ("pause_turn", "tool_search", "programmatic")


@pytest.mark.parametrize(
    "name", [name for name in conversations() if any(part in name for part in UNTOUCHED)]
)
def test_a_turn_over_several_answers_goes_back_untouched(name: str) -> None:
    for _, request in steps(name):
        assert str(request.report) == "everything goes as it was recorded"
