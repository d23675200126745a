"""Real recorded traffic of Bedrock goes through the capture, and comes out as said."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count, groupby
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.anthropic import wire as anthropic_messages
from onrecord.adapters.wire.api import attempt_failed
from onrecord.adapters.wire.bedrock.stream import ConverseStream, read_body
from onrecord.adapters.wire.bedrock.wire import WIRE
from onrecord.adapters.wire.requests import instructions_set, tools_declared
from onrecord.adapters.wire.wires import endpoint_of
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native
from onrecord.domain.events import Event, InstructionsSet, OpaqueRecorded
from tests.bedrock_wire import chunks
from tests.corpus.bedrock_wire import (
    Exchange,
    blocks_said,
    envelope_of,
    events_in,
    exchanges,
    files,
    invoked,
    is_whole,
)
from tests.corpus.kept import as_text, stored
from tests.corpus.kept import blocks_of as held_in
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import CORPUS, MISSING, JsonObject, error_of, is_there
from tests.damage import texts
from tests.sent import events_of

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

SIZES = (1, 7, 1000)


def answered(name: str) -> list[Exchange]:
    """The answers that came to their end."""
    found = (exchange for exchange in exchanges(name) if exchange.status == 200)
    return [exchange for exchange in found if is_whole(exchange)]


def answers(exchange: Exchange) -> list[Answer]:
    """The answer, read in several chunkings."""
    if not exchange.is_stream:
        return [read_body(exchange.body)]
    return [read(exchange.body, size) for size in (len(exchange.body), *SIZES)]


def read(body: bytes, size: int) -> Answer:
    stream = ConverseStream()
    for chunk in chunks(body, [size]):
        stream.feed(chunk)
    return stream.finish()


def alike(value: object) -> str:
    """JSON text; a stream tells the members of a block in an order of its own."""
    return json.dumps(value, sort_keys=True)


def test_every_file_is_one_of_these_apis() -> None:
    others = (name for name in files() if not exchanges(name) and not invoked(name))
    assert [name for name in others if name not in counting()] == []


def counting() -> list[str]:
    """Recordings of another endpoint: what counts tokens is no turn."""
    held = ((name, (CORPUS / name).read_bytes()) for name in files())
    others = [name for name, data in held if b"/count-tokens" in data]
    return [name for name in others if not exchanges(name) and not invoked(name)]


@pytest.mark.parametrize("name", files())
def test_an_answer_that_broke_off_is_not_taken_for_a_whole_one(name: str) -> None:
    cut = [one for one in exchanges(name) if one.status == 200 and not is_whole(one)]
    assert [answers(one)[0].is_complete for one in cut] == [False] * len(cut)


@pytest.mark.parametrize("name", files())
def test_every_recorded_block_is_kept_as_it_was_said(
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
        said = [block.value for block in answer.blocks]
        spelled = alike if exchange.is_stream else as_text
        if is_whole(exchange):
            assert spelled(said) == spelled(blocks_said(exchange))
        recorded, blobs = events_of(answer, response=UUID(int=1))
        events = [stored(event) for event in recorded]
        kept = [restore(block, blobs) for event in events for block in blocks_of(event)]
        assert as_text(kept) == as_text(said)
        counts.update(
            answers=1,
            blocks=len(kept),
            verbatim=len(kept),
            opaque=sum(isinstance(event, OpaqueRecorded) for event in events),
            interrupted=int(not answer.is_complete),
        )
    report(record_property, "captured", counts, folder(name))


def blocks_of(event: Event) -> list[Any]:
    return [] if getattr(event, "content", None) is None else held_in(event)


@pytest.mark.parametrize("name", files())
def test_the_envelope_is_the_rest_of_the_answer(name: str) -> None:
    for exchange in answered(name):
        answer = answers(exchange)[0]
        assert alike(answer.envelope) == alike(envelope_of(exchange))


@pytest.mark.parametrize("name", files())
def test_every_text_of_an_answer_is_recorded(name: str) -> None:
    for exchange in answered(name):
        answer = answers(exchange)[0]
        known = "\n".join(texts([answer.envelope, [b.value for b in answer.blocks]], frozenset()))
        assert [text for text in texts(told_in(exchange), frozenset()) if text not in known] == []


def told_in(exchange: Exchange) -> Any:
    """What a body, or events, say; the pieces of an input are no texts of their own."""
    if not exchange.is_stream:
        return json.loads(exchange.body)
    told = [data for _, data in events_in(exchange.body)]
    return [data for data in told if "toolUse" not in data.get("delta", {})]


@pytest.mark.parametrize("name", files())
def test_every_recorded_answer_is_understood_to_its_end(name: str) -> None:
    for exchange in answered(name):
        answer = answers(exchange)[0]
        assert (answer.is_complete, answer.needs_raw, answer.anomalies) == (True, False, ())
        assert answer.stop_reason == envelope_of(exchange)["stopReason"]


@pytest.mark.parametrize("name", files())
def test_its_tokens_are_all_that_the_service_counted(name: str) -> None:
    for exchange in answered(name):
        usage = envelope_of(exchange).get("usage")
        answer = answers(exchange)[0]
        if usage is None:
            assert (answer.input_tokens, answer.output_tokens) == (None, None)
        elif {*usage} > {"cacheReadInputTokens"}:
            assert (answer.input_tokens or 0) + usage["outputTokens"] == usage["totalTokens"]
        else:
            assert (answer.input_tokens, answer.output_tokens) == (
                usage["inputTokens"],
                usage["outputTokens"],
            )


@pytest.mark.parametrize("name", files())
def test_every_recorded_request_says_what_was_sent(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for exchange in exchanges(name):
        request = exchange.request
        if request is None:
            continue
        assert endpoint_of("POST", exchange.path) == (WIRE.api, "turn", False)
        sent = WIRE.read_request(json.dumps(request).encode(), exchange.path)
        assert sent.model is not None
        assert "/" not in sent.model
        responses = (UUID(int=number) for number in count(1))
        said = restored(*WIRE.request_events(sent, sent.pieces, responses, None))
        assert as_text(list(messages_sent(said))) == as_text(unmarked(request["messages"]))
        assert instructed(restored(*instructions_set(sent))) == unmarked_blocks(
            request.get("system", [])
        )
        defined = [tool for event in restored(*tools_declared(sent)) for tool in held_in(event)]
        assert as_text(defined) == as_text(request.get("toolConfig", {}).get("tools", []))
        blocks = [block for event in said for block in held_in(event)]
        counts.update(requests=1, blocks=len(blocks), verbatim=len(blocks))
    report(record_property, "requests", counts)


def unmarked(messages: list[JsonObject]) -> list[JsonObject]:
    """Messages without cache points, of neighbours of one role one."""
    return joined([(one["role"], unmarked_blocks(one["content"])) for one in messages])


def unmarked_blocks(blocks: list[JsonObject]) -> list[JsonObject]:
    return [block for block in blocks if "cachePoint" not in block]


def joined(told: list[tuple[str, list[JsonObject]]]) -> list[JsonObject]:
    runs = groupby(told, key=lambda one: one[0])
    return [
        {"role": role, "content": [block for _, content in run for block in content]}
        for role, run in runs
    ]


def restored(events: tuple[Event, ...], blobs: dict[str, bytes]) -> list[Event]:
    """The events as the log gives them back; the requests hold nothing that moves to a blob."""
    assert blobs == {}
    return [stored(event) for event in events]


def instructed(events: list[Event]) -> list[JsonObject]:
    match events:
        case [InstructionsSet(content=str() as text)]:
            return [{"text": text}] if text else []
        case [InstructionsSet(content=Native(value=value))]:
            return list(value["system"])
        case _:
            raise AssertionError(f"{events} are no instructions")


def messages_sent(events: list[Event]) -> Iterator[JsonObject]:
    """The messages that the events were made of, of neighbours of one role one."""
    told = [(role_of(event), list(map(spelled, held_in(event)))) for event in events]
    yield from joined(told)


def role_of(event: Event) -> str:
    is_answer = getattr(event, "response", None) is not None
    return "assistant" if is_answer else getattr(event, "role", "user")


def spelled(block: JsonObject) -> JsonObject:
    """A block as this API spells it: what was plain text is."""
    return {"text": block["text"]} if block.get("type") == "text" else block


@pytest.mark.parametrize("name", [name for name in files() if invoked(name)])
def test_what_a_model_is_asked_in_anthropics_api_is_recorded_as_that(name: str) -> None:
    wire = anthropic_messages.WIRE
    for exchange in invoked(name):
        assert exchange.request is not None
        assert endpoint_of("POST", exchange.path).api == wire.api
        sent = wire.read_request(json.dumps(exchange.request).encode(), exchange.path)
        assert sent.model is not None
        assert f"/{sent.model}/" in unquote(exchange.path)
        assert list(sent.messages) == exchange.request["messages"]
        answer = wire.read_body(exchange.body, "malformed", None)
        whole = {**answer.envelope, "content": [block.value for block in answer.blocks]}
        assert alike(whole) == alike(json.loads(exchange.body))
        assert (answer.is_complete, answer.stop_reason) == (True, whole["stop_reason"])


@pytest.mark.parametrize("name", counting())
def test_what_counts_tokens_is_no_turn(name: str) -> None:
    assert exchanges(name) == []
    assert endpoint_of("POST", "/model/m/count-tokens").kind == "none"
