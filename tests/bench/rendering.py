"""What rendering a conversation costs, against reading the rendered request as JSON.

    python -m tests.bench.rendering [messages]

prints one JSON line: how many times as long it takes to make the request from recorded events as
`json.loads` takes for the request's bytes; the medians in microseconds a message, and their spread
(the quartiles' distance by the median).
"""

import json
import random
import statistics
import string
import sys
import time
from collections.abc import Callable, Iterator
from uuid import UUID

from hansard.domain import events, jsontext
from hansard.domain.content import Native, Text
from hansard.domain.draft import Stamp, draft
from hansard.domain.events import Event
from hansard.domain.log import RecordedEvent
from hansard.projections.requests.rendering import render
from hansard.projections.requests.request import Options

API = "anthropic-messages"
MESSAGES = 10_000
ROUNDS = 9
CHARACTERS = 1000


def conversation(messages: int, seed: int = 1) -> list[RecordedEvent]:
    """Return a conversation as a recorded client leaves it: four events for each two messages."""
    stream = random.Random(seed)
    return [
        recorded(version, event, stream)
        for version, event in enumerate(happenings(messages, stream), start=1)
    ]


def happenings(messages: int, stream: random.Random) -> Iterator[Event]:
    yield events.ConversationStarted(key="bench")
    for _ in range(messages // 2):
        yield events.MessageRecorded(role="user", content=(Text(text=words(stream)),))
        yield request_sent(stream)
        response = identity(stream)
        value = {"type": "text", "text": words(stream)}
        answer = Native(api=API, value=value)
        yield events.MessageRecorded(
            role="assistant", content=(answer,), response=response, index=0
        )
        yield response_completed(response, stream)


def request_sent(stream: random.Random) -> Event:
    spans = (
        events.LiteralSpan(text='{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":'),
        events.RenderedSpan(part="messages"),
        events.LiteralSpan(text="}"),
    )
    digest = stream.randbytes(32).hex()
    return events.RequestSent(
        api=API,
        endpoint="/v1/messages",
        model="claude-sonnet-4-5",
        template=events.Template(spans=spans, sha256=digest, size=123_456),
        recipe=events.Recipe(api=API, version=1, options={}, renderer=digest),
        prefix=digest,
        account=digest[:32],
    )


def response_completed(response: UUID, stream: random.Random) -> Event:
    name = f"msg_{stream.randbytes(12).hex()}"
    usage = {"input_tokens": 1200, "cache_read_input_tokens": 0, "output_tokens": 250}
    return events.ResponseCompleted(
        response=response,
        request=identity(stream),
        api=API,
        provider_id=name,
        model="claude-sonnet-4-5",
        stop_reason="end_turn",
        envelope={"id": name, "type": "message", "stop_reason": "end_turn", "usage": usage},
        input_tokens=1200,
        output_tokens=250,
    )


def recorded(version: int, event: Event, stream: random.Random) -> RecordedEvent:
    conversation_id = UUID(int=1)
    stamp = Stamp(identity(stream), version, b"0" * 16, UUID(int=2), conversation_id)
    new = draft(event, stamp)
    return RecordedEvent(
        shard=0,
        position=version,
        conversation_id=conversation_id,
        version=version,
        exchange=0,
        event_id=new.event_id,
        type=new.type,
        schema_version=new.schema_version,
        recorded_at=version,
        header=new.header,
        digest=b"",
        leaf=b"",
        salt=new.salt,
        body=new.body,
    )


def identity(stream: random.Random) -> UUID:
    return UUID(int=stream.getrandbits(128))


def words(stream: random.Random) -> str:
    """Text that does not compress."""
    return "".join(stream.choices(string.ascii_letters + string.digits, k=CHARACTERS))


def measured(work: Callable[[], object]) -> list[float]:
    work()
    times: list[float] = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return times


def spread(times: list[float]) -> float:
    low, middle, high = statistics.quantiles(times, n=4)
    return (high - low) / middle


def main(messages: int) -> None:
    said = conversation(messages)
    options = Options()
    text = jsontext.write(dict(render(said, options)))
    rendering = measured(lambda: render(said, options))
    reading = measured(lambda: json.loads(text))
    figures = {
        "name": "rendering against json.loads",
        "messages": messages,
        "ratio": round(statistics.median(rendering) / statistics.median(reading), 2),
        "median_us": round(statistics.median(rendering) / messages * 1e6, 2),
        "spread": round(spread(rendering), 3),
        "json_median_us": round(statistics.median(reading) / messages * 1e6, 2),
        "json_spread": round(spread(reading), 3),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES)
