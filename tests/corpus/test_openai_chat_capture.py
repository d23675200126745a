"""Real recorded traffic of Chat Completions goes through the capture, and comes out as said."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count, groupby
from typing import Any, cast
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.api import attempt_failed
from onrecord.adapters.wire.openai_chat.answers import read_body
from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from onrecord.adapters.wire.openai_chat.wire import WIRE
from onrecord.adapters.wire.requests import instructions_set, tools_declared
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.events import Event, InstructionsSet, OpaqueRecorded, ToolsDeclared
from tests.adapters.wire.openai_chat.openai_chat_streams import plain, put_together
from tests.corpus.kept import as_text, stored
from tests.corpus.openai_chat_wire import (
    data_of,
    exchanges,
    files,
    is_whole,
    members_of,
    messages_said,
)
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import MISSING, Exchange, JsonObject, error_of, is_there, origin
from tests.damage import texts
from tests.openai_chat_wire import chunks
from tests.sent import events_of

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

SIZES = (1, 7, 1000)
SERVERS = "openai-compatible/pydantic-ai/test_"

# What the recordings are known to hold that is odd: told, and the bytes kept.
SILENT = {"a choice without a finish reason"}
ODD = {
    "openai-chat/simonw-llm/test_tools_streaming_variant_b.json": SILENT,
    f"{SERVERS}snowflake__test_snowflake_thinking.json": SILENT,
    f"{SERVERS}snowflake__test_snowflake_thinking_streaming.json": SILENT,
    # Each chunk of its own model has another id.
    f"{SERVERS}groq__test_groq_model_web_search_tool_stream.json": {"more than one value of id"},
}

# What ended amid the stream, and why.
INTERRUPTED = {
    f"{SERVERS}groq__test_tool_use_failed_error_streaming.json": ("error", "invalid_request_error"),
    f"{SERVERS}openrouter__test_openrouter_stream_error.json": ("error", None),
}


def answered(name: str) -> list[Exchange]:
    return [exchange for exchange in exchanges(name) if exchange.status == 200]


def answers(exchange: Exchange) -> list[Answer]:
    """The answer, read in several chunkings."""
    if not exchange.is_stream:
        return [read_body(exchange.body)]
    return [read(exchange.body, size) for size in (len(exchange.body), *SIZES)]


def read(body: bytes, size: int) -> Answer:
    stream = CompletionStream()
    for chunk in chunks(body, [size]):
        stream.feed(chunk)
    return stream.finish()


def samples(answer: Answer) -> list[JsonObject]:
    """The messages of an answer, whole or not."""
    return [message_of(one) for one in (answer, *answer.alternatives)]


def message_of(answer: Answer) -> JsonObject:
    parts = {part.index: part.value for part in answer.blocks}
    parts.update({part.index: part.value for part in answer.unfinished})
    return put_together([parts[index] for index in sorted(parts)])


@pytest.mark.parametrize("name", files())
def test_every_recorded_message_is_kept_as_it_was_said(
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
        assert list(map(plain, samples(answer))) == list(map(plain, messages_said(exchange)))
        recorded, blobs = events_of(answer, response=UUID(int=1))
        events = [stored(event) for event in recorded]
        kept = [restore(block, blobs) for event in events for block in blocks_of(event)]
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
def test_a_body_is_its_envelope_with_its_messages(name: str) -> None:
    for exchange in answered(name):
        if not exchange.is_stream:
            (answer,) = answers(exchange)
            choices = [
                {**choice, "message": message}
                for choice, message in zip(answer.envelope["choices"], samples(answer), strict=True)
            ]
            whole = {**answer.envelope, "choices": choices}
            assert as_one(whole) == as_one(json.loads(exchange.body))


@pytest.mark.parametrize("name", files())
def test_every_text_of_an_answer_is_recorded(name: str) -> None:
    for exchange in answered(name):
        answer = answers(exchange)[0]
        if not answer.needs_raw:
            known = "\n".join(texts([answer.envelope, *samples(answer)], frozenset()))
            said = texts(list(members_of(exchange)), frozenset())
            assert [text for text in said if text not in known] == []


@pytest.mark.parametrize("name", files())
def test_a_recorded_answer_is_understood_but_for_the_known_ones(name: str) -> None:
    known = origin(name)
    is_known = known in ODD or known in INTERRUPTED
    asked = [exchange for exchange in answered(name) if is_known or is_whole(exchange)]
    found = [answers(exchange)[0] for exchange in asked]
    odd = {anomaly.what for answer in found for anomaly in answer.anomalies}
    assert odd == ODD.get(known, set())
    ended = {(answer.interruption, answer.detail) for answer in found if not answer.is_complete}
    assert ended == ({INTERRUPTED[known]} if known in INTERRUPTED else set())


@pytest.mark.parametrize("name", files())
def test_an_answer_that_broke_off_is_told_of_and_its_bytes_are_kept(name: str) -> None:
    cut = [exchange for exchange in answered(name) if not is_whole(exchange)]
    found = [answers(exchange)[0] for exchange in cut]
    assert [one for one in found if one.is_complete and not one.needs_raw] == []


@pytest.mark.parametrize("name", files())
def test_a_stream_counts_the_tokens_that_its_service_did(name: str) -> None:
    for exchange in answered(name):
        if exchange.is_stream:
            answer = answers(exchange)[0]
            usage = [chunk.get("usage") for chunk in data_of(exchange.body)]
            for last in [counted for counted in usage if counted][-1:]:
                told = (last["prompt_tokens"], last["completion_tokens"])
                assert (answer.input_tokens, answer.output_tokens) == told


@pytest.mark.parametrize("name", files())
def test_every_recorded_request_says_what_was_sent(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for request in filter(None, (exchange.request for exchange in exchanges(name))):
        sent = WIRE.read_request(json.dumps(request).encode())
        responses = (UUID(int=number) for number in count(1))
        said = restored(*WIRE.request_events(sent, sent.pieces, responses, None))
        leading = instructed(restored(*instructions_set(sent)))
        defined = [tool for event in restored(*tools_declared(sent)) for tool in blocks_of(event)]
        assert list(map(plain, [*leading, *messages_sent(said)])) == list(
            map(plain, request["messages"])
        )
        assert as_text(defined) == as_text(request.get("tools") or [])
        blocks = [block for event in said for block in blocks_of(event)]
        counts.update(requests=1, blocks=len(blocks), verbatim=len(blocks))
    report(record_property, "requests", counts)


def restored(events: tuple[Event, ...], blobs: dict[str, bytes]) -> list[Event]:
    """The events as the log gives them back; the requests hold nothing that moves to a blob."""
    assert blobs == {}
    return [stored(event) for event in events]


def instructed(events: list[Event]) -> list[JsonObject]:
    match events:
        case [InstructionsSet(content="")]:
            return []
        case [InstructionsSet(content=str() as text)]:
            return [{"role": "system", "content": text}]
        case [InstructionsSet(content=Native(value=value))]:
            return list(value["messages"])
        case _:
            raise AssertionError(f"{events} are no instructions")


def messages_sent(events: list[Event]) -> Iterator[JsonObject]:
    """The messages that the events were made of."""
    for response, run in groupby(events, key=lambda event: getattr(event, "response", None)):
        said = list(run)
        if response is not None:
            yield put_together([block for event in said for block in blocks_of(event)])
        else:
            yield from (spoken(event) for event in said)


def spoken(event: Event) -> JsonObject:
    blocks, role = blocks_of(event), getattr(event, "role", "tool")
    match blocks:
        case [str() as text]:
            return {"role": role, "content": text}
        case [{"role": _} as whole]:
            return dict[str, Any](whole)
        case _:
            return {"role": role, "content": blocks}


def blocks_of(event: Event) -> list[Any]:
    """The API's own blocks that an event holds; a plain text as such."""
    if isinstance(event, ToolsDeclared):
        return [tool.value for tool in event.tools if isinstance(tool, Native)]
    content: Any = getattr(event, "content", ())
    held = cast("tuple[Any, ...]", content if isinstance(content, tuple) else (content,))
    return [block.text if isinstance(block, Text) else block.value for block in held]


def as_one(completion: JsonObject) -> str:
    """JSON text with sorted keys; an answer without calls may say so or not."""
    choices: list[JsonObject] = completion["choices"]
    told = [{**choice, "message": plain(choice["message"])} for choice in choices]
    return json.dumps({**completion, "choices": told}, sort_keys=True)
