"""Real recorded traffic goes through the capture, and comes out as it was said."""

import json
from collections import Counter
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.anthropic.stream import MessageStream, read_body
from onrecord.adapters.wire.anthropic.wire import read_request
from onrecord.adapters.wire.api import attempt_failed
from onrecord.domain.blobs import restore
from onrecord.domain.events import OpaqueRecorded
from tests.anthropic_wire import chunks
from tests.corpus.fold import blocks_said
from tests.corpus.kept import as_text, blocks_of, stored
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import (
    MISSING,
    Exchange,
    JsonObject,
    error_of,
    exchanges,
    files,
    is_there,
    origin,
)
from tests.sent import events_of, instructions, said, tools

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

SIZES = (1, 7, 1000)


def answers(exchange: Exchange) -> list[Answer]:
    """The answer, read in several chunkings."""
    if not exchange.is_stream:
        return [read_body(exchange.body)]
    return [read(exchange.body, sizes) for sizes in ([len(exchange.body)], *([n] for n in SIZES))]


def is_whole(exchange: Exchange) -> bool:
    """Whether an answer came to its end."""
    return not exchange.is_stream or b'"message_stop"' in exchange.body


def read(body: bytes, sizes: list[int]) -> Answer:
    stream = MessageStream()
    for chunk in chunks(body, sizes):
        stream.feed(chunk)
    return stream.finish()


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
        recorded, blobs = events_of(answer, response=UUID(int=1))
        events = [stored(event) for event in recorded]
        kept = [restore(block, blobs) for event in events for block in blocks_of(event)]
        if is_whole(exchange) or answer.is_complete:
            assert as_text(kept) == as_text(blocks_said(exchange))
        counts.update(
            answers=1,
            blocks=len(kept),
            verbatim=len(kept),
            opaque=sum(isinstance(event, OpaqueRecorded) for event in events),
            interrupted=int(not answer.is_complete),
        )
    report(record_property, "captured", counts, folder(name))


@pytest.mark.parametrize("name", files())
def test_every_recorded_request_says_what_was_sent(
    name: str, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    for request in filter(None, (exchange.request for exchange in exchanges(name))):
        sent = read_request(json.dumps(request).encode())
        responses = (UUID(int=number) for number in count(1))
        for wanted, (recorded, blobs) in [
            (blocks_sent(request), said(sent.messages, responses=responses)),
            (listed(request.get("system")), instructions(sent.system)),
            (request.get("tools") or [], tools(sent.tools)),
        ]:
            events = [stored(event) for event in recorded]
            kept = [restore(block, blobs) for event in events for block in blocks_of(event)]
            assert as_text(kept) == as_text(wanted)
            counts.update(blocks=len(kept), verbatim=len(kept))
        counts.update(requests=1)
    report(record_property, "requests", counts)


def blocks_sent(request: JsonObject) -> list[JsonObject]:
    contents = [message["content"] for message in request["messages"]]
    return [
        {"type": "text", "text": block} if isinstance(block, str) else block
        for content in contents
        for block in listed(content)
    ]


def listed(content: Any) -> list[Any]:
    if content is None:
        return []
    return [content] if isinstance(content, str) else list(content)


# What the recordings are known to hold of answers that are not whole, or odd.
NOT_WHOLE = {
    "anthropic/vercel-ai/spliced-message-start.chunks.txt": "a message_start of another message",
}


@pytest.mark.parametrize("name", files())
def test_a_recorded_answer_is_complete_but_for_the_known_ones(name: str) -> None:
    details = {
        answer.detail
        for exchange in exchanges(name)
        if exchange.status == 200 and is_whole(exchange)
        for answer in answers(exchange)[:1]
    }
    assert details <= {NOT_WHOLE.get(origin(name))}


@pytest.mark.parametrize("name", files())
def test_an_answer_that_broke_off_is_not_taken_for_a_whole_one(name: str) -> None:
    cut = [one for one in exchanges(name) if one.status == 200 and not is_whole(one)]
    assert [answer.is_complete for one in cut for answer in answers(one)[:1]] == [False] * len(cut)
