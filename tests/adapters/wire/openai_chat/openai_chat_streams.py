"""Streams of OpenAI's Chat API made delta by delta, and what is read of them."""

import json
from typing import Any

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.openai_chat.answers import is_reasoning
from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from tests.openai_chat_wire import JsonObject, event, spelled


def fed(*parts: bytes) -> CompletionStream:
    stream = CompletionStream()
    for part in parts:
        stream.feed(part)
    return stream


def answered(*events: JsonObject) -> Answer:
    """What is read of a stream of these chunks that breaks off after them."""
    return fed(*map(event, events)).finish()


def read(*deltas: JsonObject, stop: str | None = "stop") -> Answer:
    """What is read of a whole stream of these deltas."""
    return fed(spelled(*deltas, stop=stop)).finish()


def blocks(answer: Answer) -> list[JsonObject]:
    return [block.value for block in answer.blocks]


def odd(answer: Answer) -> list[str]:
    return [anomaly.what for anomaly in answer.anomalies]


ROLE = {"role": "assistant", "content": ""}


def told(content: Any, **more: Any) -> JsonObject:
    return {"role": "assistant", "content": content, **more}


def calling(index: int | None, *, arguments: str | None = None, **more: Any) -> JsonObject:
    """The delta of one call."""
    at = {} if index is None else {"index": index}
    function = {name: more.pop(name) for name in ("name",) if name in more}
    if arguments is not None:
        function["arguments"] = arguments
    return {"tool_calls": [{**at, **more, **({"function": function} if function else {})}]}


def put_together(values: list[JsonObject]) -> JsonObject:
    """The message that these blocks are of, by the rule of the API's native blocks."""
    thought = [value for value in values if is_reasoning(value)]
    spoken, *rest = [value for value in values if value not in thought]
    calls: list[Any] = [value for value in rest if value.keys() != {"function_call"}]
    old = [value for value in rest if value.keys() == {"function_call"}]
    whole: JsonObject = {**spoken}
    for part in (*thought, *old):
        whole.update(part)
    return {**whole, "tool_calls": calls} if calls else whole


def plain(said: JsonObject) -> str:
    """A message as JSON, whatever the order of its members; no calls are none."""
    kept = {name: value for name, value in said.items() if name != "tool_calls" or value}
    return json.dumps(kept, sort_keys=True)
