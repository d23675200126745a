"""Real recorded traffic of Gemini's API goes through the capture, and comes out as said."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any, cast
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.api import attempt_failed
from onrecord.adapters.wire.blocks import recorded
from onrecord.adapters.wire.gemini.stream import ContentStream, read_body
from onrecord.adapters.wire.gemini.wire import WIRE
from onrecord.adapters.wire.requests import instructions_set, tools_declared
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.events import Event, InstructionsSet, OpaqueRecorded, ToolsDeclared
from tests.corpus.gemini_wire import (
    INTERACTIONS,
    Exchange,
    candidates_of,
    chunks_of,
    exchanges,
    files,
    is_whole,
    parts_said,
    recordings,
)
from tests.corpus.kept import as_text, stored
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import CORPUS, MISSING, JsonObject, error_of, is_there
from tests.damage import texts
from tests.gemini_wire import chunks

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

SIZES = (1, 7, 1000)
APART = ("groundingMetadata", "urlContextMetadata")


def answered(name: str) -> list[Exchange]:
    """The answers that came to their end, of one candidate each."""
    found = (exchange for exchange in exchanges(name) if exchange.status == 200)
    return [exchange for exchange in found if is_whole(exchange)]


def answers(exchange: Exchange) -> list[Answer]:
    """The answer, read in several chunkings; a stream as the list that it is without SSE, too."""
    if not exchange.is_stream:
        return [read_body(exchange.body)]
    found = [read(exchange.body, size) for size in (len(exchange.body), *SIZES)]
    if is_whole(exchange):
        found.append(read_body(json.dumps(chunks_of(exchange)).encode()))
    return found


def read(body: bytes, size: int) -> Answer:
    stream = ContentStream()
    for chunk in chunks(body, [size]):
        stream.feed(chunk)
    return stream.finish()


def said(answer: Answer) -> list[JsonObject]:
    """The parts of an answer, without what its candidate says of its grounding."""
    return [block.value for block in answer.blocks if not block.value.keys() & {*APART}]


def last_told(exchange: Exchange) -> JsonObject:
    """What the chunks say of the grounding, the last of each that says something."""
    told = {name: one[name] for one in candidates_of(exchange) for name in APART if one.get(name)}
    return dict(sorted(told.items()))


def test_nothing_but_what_is_named_as_another_api_is_left_out() -> None:
    left_out = (name for name in recordings() if not exchanges_of_this_api(name))
    assert [name for name in left_out if calls_this_api((CORPUS / name).read_bytes())] == []


def calls_this_api(data: bytes) -> bool:
    return b":generateContent" in data or b":streamGenerateContent" in data


@pytest.mark.parametrize("name", files())
def test_an_answer_that_broke_off_is_not_taken_for_a_whole_one(name: str) -> None:
    found = [one for one in exchanges(name) if one.status == 200 and not is_whole(one)]
    cut = [one for one in found if list(candidates_of(one)) and one.is_stream]
    assert [answers(one)[0].is_complete for one in cut] == [False] * len(cut)


def exchanges_of_this_api(name: str) -> list[Exchange]:
    return [] if INTERACTIONS in name else exchanges(name)


@pytest.mark.parametrize("name", files())
def test_every_recorded_part_is_kept_as_it_was_said(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for exchange in exchanges(name):
        if exchange.status >= 400:
            failed = attempt_failed(exchange.status, exchange.body, request=UUID(int=2))
            assert as_text(failed.error) == as_text(error_of(exchange.body))
            counts.update(errors=1)
            continue
        answer, *others = answers(exchange)
        assert others == [answer] * len(others)
        if is_whole(exchange):
            assert as_text(said(answer)) == as_text(parts_said(exchange))
        awaited = answer.awaits_results
        events, blobs = recorded(
            answer.blocks, WIRE.event_of, WIRE.api, UUID(int=1), awaited=awaited
        )
        kept = [restore(value, blobs) for event in events for value in blocks_of(stored(event))]
        assert as_text(kept) == as_text([block.value for block in answer.blocks])
        counts.update(
            answers=1,
            blocks=len(kept),
            verbatim=len(kept),
            opaque=sum(isinstance(event, OpaqueRecorded) for event in events),
            interrupted=int(not answer.is_complete),
        )
    report(record_property, "captured", counts, folder(name))


@pytest.mark.parametrize("name", files())
def test_what_a_candidate_says_of_its_grounding_is_a_call_and_what_it_gave(name: str) -> None:
    for exchange in answered(name):
        blocks = [block for block in answers(exchange)[0].blocks if block.value.keys() & {*APART}]
        told = last_told(exchange)
        assert [block.value for block in blocks[1::2]] == [{part: told[part]} for part in told]
        calls = [block.call for block in blocks[::2]]
        assert calls == [block.call for block in blocks[1::2]]
        assert len({*calls}) == len(told)
        assert all(calls)


@pytest.mark.parametrize("name", files())
def test_a_body_is_its_envelope_with_its_parts(name: str) -> None:
    for exchange in answered(name):
        if not exchange.is_stream:
            (answer,) = answers(exchange)
            (kept,) = answer.envelope["candidates"]
            body = json.loads(exchange.body)
            (candidate,) = body["candidates"]
            content = candidate.get("content")
            held = {} if content is None else {"content": {**content, "parts": said(answer)}}
            if content is not None and "parts" not in content:
                held = {"content": content}
            whole = {**answer.envelope, "candidates": [{**kept, **held, **last_told(exchange)}]}
            assert json.dumps(whole, sort_keys=True) == json.dumps(body, sort_keys=True)


@pytest.mark.parametrize("name", files())
def test_every_text_of_an_answer_is_recorded(name: str) -> None:
    for exchange in answered(name):
        answer = answers(exchange)[0]
        values = [block.value for block in answer.blocks]
        known = "\n".join(texts([answer.envelope, *values], frozenset()))
        told = texts(chunks_of(exchange), frozenset({"role", "jsonPath", "usageMetadata"}))
        assert [text for text in told if text not in known] == []


@pytest.mark.parametrize("name", files())
def test_a_recorded_answer_is_complete_and_understood(name: str) -> None:
    for exchange in answered(name):
        answer = answers(exchange)[0]
        assert (answer.interruption, answer.anomalies, answer.unfinished) == (None, (), ())
        last = list(candidates_of(exchange))[-1]
        assert answer.stop_reason == last["finishReason"]
        body = chunks_of(exchange)[-1]
        assert (answer.provider_id, answer.model) == (body["responseId"], body["modelVersion"])


@pytest.mark.parametrize("name", files())
def test_an_answer_counts_the_tokens_that_its_service_did(name: str) -> None:
    for exchange in answered(name):
        answer, usage = answers(exchange)[0], chunks_of(exchange)[-1]["usageMetadata"]
        assert (answer.input_tokens or 0) + (answer.output_tokens or 0) == usage["totalTokenCount"]


@pytest.mark.parametrize("name", files())
def test_an_answer_awaits_the_results_of_its_calls(name: str) -> None:
    for exchange in answered(name):
        calls = [part for part in parts_said(exchange) if "functionCall" in part]
        answer = answers(exchange)[0]
        assert answer.awaits_results == bool(calls)
        events, _ = recorded(answer.blocks, WIRE.event_of, WIRE.api, UUID(int=1))
        named = [getattr(event, "call_id", "") for event in events if hasattr(event, "awaited")]
        assert len({*named}) == len(named) == len(calls)


@pytest.mark.parametrize("name", files())
def test_every_recorded_request_says_what_was_sent(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for exchange in exchanges(name):
        if (request := exchange.request) is None:
            continue
        sent = WIRE.read_request(json.dumps(request).encode(), exchange.path)
        assert f"models/{sent.model}:" in exchange.path
        responses = (UUID(int=number) for number in count(1))
        events = restored(*WIRE.request_events(sent, sent.pieces, responses, None))
        instructed = [
            value for event in restored(*instructions_set(sent)) for value in texts_of(event)
        ]
        defined = [tool for event in restored(*tools_declared(sent)) for tool in blocks_of(event)]
        assert as_text(list(spoken(events))) == as_text(list(contents_of(request)))
        assert instructed == [
            part["text"] for part in request.get("systemInstruction", {}).get("parts", [])
        ]
        assert as_text(defined) == as_text(list(tools_of(request)))
        counts.update(requests=1, blocks=len(sent.pieces), verbatim=len(sent.pieces))
    report(record_property, "requests", counts)


def contents_of(request: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The parts of a request, each with whose it is."""
    for content in request["contents"]:
        yield from ((content["role"], part) for part in content["parts"])


def spoken(events: list[Event]) -> Iterator[tuple[str, Any]]:
    for event in events:
        role = "user" if getattr(event, "response", None) is None else "model"
        yield from ((role, value) for value in blocks_of(event))


def tools_of(request: JsonObject) -> Iterator[JsonObject]:
    """The tools of a request one by one: each function, each tool of the service's."""
    for tool in request.get("tools", []):
        for name, held in tool.items():
            many: list[Any] = held if name == "functionDeclarations" else [held]
            yield from ({name: [one]} if many is held else {name: one} for one in many)


def restored(events: tuple[Event, ...], blobs: dict[str, bytes]) -> list[Event]:
    """The events as the log gives them back, with what moved to blobs in its place."""
    return [back(stored(event), blobs) for event in events]


def back(event: Event, blobs: dict[str, bytes]) -> Event:
    content: Any = getattr(event, "content", None)
    if isinstance(content, tuple):
        told = tuple(whole(held, blobs) for held in cast("tuple[object, ...]", content))
        return event.model_copy(update={"content": told})
    if isinstance(content, Native):
        return event.model_copy(update={"content": whole(content, blobs)})
    return event


def whole(held: Any, blobs: dict[str, bytes]) -> Any:
    if not isinstance(held, Native):
        return held
    return held.model_copy(update={"value": restore(held.value, blobs)})


def texts_of(event: Event) -> list[str]:
    assert isinstance(event, InstructionsSet)
    assert isinstance(event.content, str)
    return [event.content] if event.content else []


def blocks_of(event: Event) -> list[Any]:
    """The API's own parts that an event holds; a plain text as the part that it was."""
    if isinstance(event, ToolsDeclared):
        return [tool.value for tool in event.tools if isinstance(tool, Native)]
    content: Any = getattr(event, "content", ())
    held = cast("tuple[Any, ...]", content if isinstance(content, tuple) else (content,))
    return [{"text": part.text} if isinstance(part, Text) else part.value for part in held]
