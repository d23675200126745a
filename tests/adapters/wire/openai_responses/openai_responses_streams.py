"""Streams of the Responses API made event by event, and what is read of them."""

from collections.abc import Iterable, Iterator

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.openai_responses.stream import ResponseStream
from tests.openai_responses_wire import JsonObject, event, numbered, response


def fed(*parts: bytes) -> ResponseStream:
    stream = ResponseStream()
    for part in parts:
        stream.feed(part)
    return stream


def answered(events: Iterable[JsonObject]) -> Answer:
    return fed(*map(event, events)).finish()


def around(
    *inner: JsonObject, status: str = "completed", output: object = None
) -> Iterator[JsonObject]:
    """A response's first event, these, and its last, which holds this output (none: left out)."""
    final = {**response(status=status), "output": output}
    if output is None:
        del final["output"]
    begun = {**response(status="in_progress"), "usage": None}
    told: list[JsonObject] = [
        {"type": "response.created", "response": begun},
        *inner,
        {"type": f"response.{status}", "response": final},
    ]
    return numbered(told)


def added(index: int, item: object) -> JsonObject:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, item: object) -> JsonObject:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def told(index: int, kind: str, **members: object) -> JsonObject:
    return {"type": f"response.{kind}", "output_index": index, **members}


def values(answer: Answer) -> list[JsonObject]:
    return [block.value for block in answer.blocks]


def odd(answer: Answer) -> list[str]:
    return [anomaly.what for anomaly in answer.anomalies]
