"""Real recorded traffic of the Responses API goes through the capture, and comes out as said."""

import json
from collections import Counter
from itertools import count
from typing import Any, cast
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.api import attempt_failed
from onrecord.adapters.wire.openai_responses.answers import VARIANTS, read_body
from onrecord.adapters.wire.openai_responses.stream import ResponseStream
from onrecord.adapters.wire.openai_responses.wire import WIRE
from onrecord.adapters.wire.requests import instructions_set, tools_declared
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.events import Event, InstructionsSet, OpaqueRecorded, ToolsDeclared
from tests.anthropic_wire import chunks
from tests.corpus.kept import as_text, stored
from tests.corpus.openai_responses_wire import (
    Call,
    calls,
    files,
    is_whole,
    items_said,
    told_otherwise,
)
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import MISSING, JsonObject, error_of, is_there, origin
from tests.sent import events_of

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

SIZES = (1, 7, 1000)

# What the recordings are known to hold that is odd: told, and the bytes kept.
PHASE = "openai-responses/vercel-ai/openai-phase.1.chunks.txt"
RECORDINGS = "openai-responses/pydantic-ai/test_openai_responses__test_"
ODD = {
    PHASE: {
        "the numbers of events do not follow in 3 places",
        "no item at 1 of the indexes, 1 the first of them",
        "an item that is not what was told of it in pieces",  # Pieces were left out.
    },
    f"{RECORDINGS}openai_previous_response_id_auto_mode.json": {
        "a response of no known status",  # It says "complete".
    },
}
OPAQUE = ("message", "additional_tools")


def answers(call: Call) -> list[Answer]:
    """The answer, read in several chunkings."""
    if not call.is_stream:
        return [read_body(call.body)]
    return [read(call.body, size) for size in (len(call.body), *SIZES)]


def read(body: bytes, size: int) -> Answer:
    stream = ResponseStream()
    for chunk in chunks(body, [size]):
        stream.feed(chunk)
    return stream.finish()


@pytest.mark.parametrize("name", files())
def test_every_recorded_item_is_kept_as_it_was_said(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for call in calls(name):
        if call.status >= 400:
            failed = attempt_failed(call.status, call.body, request=UUID(int=2))
            assert as_text(failed.error) == as_text(error_of(call.body))
            counts.update(errors=1)
            continue
        answer, *others = answers(call)
        assert others == [answer] * len(others)
        recorded, blobs = events_of(answer, response=UUID(int=1))
        events = [stored(event) for event in recorded]
        kept = [restore(block, blobs) for event in events for block in blocks_of(event)]
        if is_whole(call) or origin(name) in ODD:
            assert as_text(kept) == as_text(items_said(call))
        opaque = [event for event in events if isinstance(event, OpaqueRecorded)]
        assert all(event.type in OPAQUE for event in opaque)
        counts.update(
            answers=1,
            blocks=len(kept),
            verbatim=len(kept),
            opaque=len(opaque),
            interrupted=int(not answer.is_complete),
        )
    report(record_property, "captured", counts, folder(name))


@pytest.mark.parametrize("name", files())
def test_every_telling_of_an_encrypted_content_is_recorded(name: str) -> None:
    for call in calls(name):
        if call.status >= 400:
            continue
        variants: dict[str, Any] = answers(call)[0].envelope.get(VARIANTS, {})
        kept = {
            (telling, members.get("encrypted_content"))
            for place, told in variants.items()
            if place != "response"
            for telling, members in told.items()
        }
        assert set(told_otherwise(call)) <= kept


@pytest.mark.parametrize("name", files())
def test_a_recorded_answer_is_understood_but_for_the_known_ones(name: str) -> None:
    for call in calls(name):
        if call.status >= 400:
            continue
        answer = answers(call)[0]
        odd = {anomaly.what for anomaly in answer.anomalies}
        if not is_whole(call) and origin(name) not in ODD:
            assert answer.needs_raw or not answer.is_complete
            continue
        assert odd == ODD.get(origin(name), set())
        if not answer.is_complete:
            is_quota = (answer.interruption, answer.detail) == ("error", "insufficient_quota")
            assert answer.interruption == "deferred" or is_quota


@pytest.mark.parametrize("name", files())
def test_every_recorded_request_says_what_was_sent(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for request in filter(None, (call.request for call in calls(name))):
        sent = WIRE.read_request(json.dumps(request).encode())
        responses = (UUID(int=number) for number in count(1))
        leading = [item for item in listed(request["input"]) if is_leading(item)]
        for wanted, (recorded, blobs) in [
            (
                parts_sent(listed(request["input"])[len(leading) :]),
                WIRE.request_events(sent, sent.pieces, responses, None),
            ),
            ([told(request, leading)], instructions_set(sent)),
            (request.get("tools") or [], tools_declared(sent)),
        ]:
            events = [stored(event) for event in recorded]
            kept = [restore(block, blobs) for event in events for block in blocks_of(event)]
            assert as_text(kept) == as_text(wanted)
            counts.update(blocks=len(kept), verbatim=len(kept))
        counts.update(requests=1)
    report(record_property, "requests", counts)


def told(request: JsonObject, leading: list[JsonObject]) -> Any:
    """The instructions of a request; these recordings give the one or the other."""
    return {"input": leading} if leading else request.get("instructions") or ""


def is_leading(item: JsonObject) -> bool:
    return item.get("role") == "system" and item.keys() == {"role", "content"}


def parts_sent(items: list[JsonObject]) -> list[JsonObject]:
    parts: list[JsonObject] = []
    for item in items:
        if item.keys() == {"role", "content"} and item["role"] == "user":
            content = item["content"]
            plain = [{"type": "input_text", "text": content}]
            parts += plain if isinstance(content, str) else content
        else:
            parts.append(item)
    return parts


def listed(said: Any) -> list[JsonObject]:
    return [{"role": "user", "content": said}] if isinstance(said, str) else said


def blocks_of(event: Event) -> list[Any]:
    """The API's own JSON that an event holds, moved strings still in blobs."""
    match event:
        case InstructionsSet(content=str() as text):
            return [text]
        case InstructionsSet(content=Native(value=value)):
            return [value]
        case ToolsDeclared(tools=several):
            return [tool.value for tool in several if isinstance(tool, Native)]
        case _:
            content: object = getattr(event, "content", ())
            if isinstance(content, tuple):
                return [as_block(block) for block in cast("tuple[object, ...]", content)]
            return [as_block(content)]


def as_block(held: object) -> JsonObject:
    match held:
        case Native(value=value):
            return value
        case Text(text=text):
            return {"type": "input_text", "text": text}
        case _:
            raise AssertionError(f"{held} is no block")
