"""Streams of Bedrock's API made event by event, and what is read of them."""

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.bedrock.stream import ConverseStream
from tests.bedrock_wire import METRICS, USAGE, JsonObject, events

START: JsonObject = {"messageStart": {"role": "assistant"}}
METADATA: JsonObject = {"metadata": {"usage": USAGE, "metrics": METRICS}}


def fed(*parts: bytes) -> ConverseStream:
    stream = ConverseStream()
    for part in parts:
        stream.feed(part)
    return stream


def answered(*told: JsonObject) -> Answer:
    """What is read of a stream of these events that breaks off after them."""
    return fed(events(*told)).finish()


def read(*told: JsonObject, stop_reason: str = "end_turn") -> Answer:
    """What is read of a whole stream of these events."""
    return answered(START, *told, stopped(stop_reason), METADATA)


def start(index: int, block: JsonObject) -> JsonObject:
    return {"contentBlockStart": {"start": block, "contentBlockIndex": index}}


def delta(index: int, **members: object) -> JsonObject:
    return {"contentBlockDelta": {"delta": members, "contentBlockIndex": index}}


def stop(index: int) -> JsonObject:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def stopped(reason: str = "end_turn") -> JsonObject:
    return {"messageStop": {"stopReason": reason}}


def blocks(answer: Answer) -> list[JsonObject]:
    return [block.value for block in answer.blocks]


def odd(answer: Answer) -> list[str]:
    return [anomaly.what for anomaly in answer.anomalies]
