"""The blocks of a message of Ollama's: what the model thought, what it says, each of its calls.

Shapes: Ollama's `api/types.go`, "Message". The API has one object for all of these; put together
again they are the message: its value, with the `thinking`, and the calls as `tool_calls`.
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Block
from onrecord.adapters.wire.blocks import BlockContext
from onrecord.adapters.wire.unnamed_calls import UnnamedCalls
from onrecord.domain.events import (
    Event,
)
from onrecord.domain.jsontext import JsonObject

API: Final = "ollama"

THINKING: Final = "thinking"
CALLS: Final = "tool_calls"


def blocks_of(message: JsonObject, made: UnnamedCalls) -> list[Block]:
    """Return the blocks of a message; what of it is not as the API says stays in what it says.

    Calls are taken note of in `made`, which gives those an id that have none.
    """
    thought = message.get(THINKING)
    thinking = {THINKING: thought} if isinstance(thought, str) and thought else {}
    calls = calls_of(message)
    apart = {*thinking, *(() if calls is None else (CALLS,))}
    spoken = {name: value for name, value in message.items() if name not in apart}
    values: list[JsonObject] = [*([thinking] if thinking else []), spoken, *(calls or [])]
    return [
        Block(index, value, _call_id(value, made) if is_call(value) else None)
        for index, value in enumerate(values)
    ]


def event_of(block: BlockContext) -> Event:
    """Return the event of a block; a call without a name is opaque."""
    value = block.value
    if is_thinking(value):
        return block.reasoning()
    if not is_call(value):
        return block.message()
    name, call_id = _name(value), value.get("id") or block.call
    if name is None or not isinstance(call_id, str):
        return block.opaque("function")
    return block.tool_call(call_id, name)


def calls_of(message: JsonObject) -> list[JsonObject] | None:
    """Return the calls of a message, none if there are none; None if they are no calls."""
    calls = message.get(CALLS, [])
    if calls is None:
        return []
    if isinstance(calls, list) and all(isinstance(call, dict) for call in cast("list[Any]", calls)):
        return cast("list[JsonObject]", calls)
    return None


def is_thinking(block: JsonObject) -> bool:
    """Whether a block is what a model thought."""
    return block.keys() == {THINKING} and isinstance(block[THINKING], str)


def is_call(block: JsonObject) -> bool:
    """Whether a block is a call."""
    return "function" in block and "role" not in block


def _name(call: JsonObject) -> str | None:
    match call:
        case {"function": {"name": str(name)}} if name:
            return name
        case _:
            return None


def _call_id(call: JsonObject, made: UnnamedCalls) -> str | None:
    """Return the id that a call is recorded under, where it has none; None where it has one."""
    name, own = _name(call), call.get("id")
    if name is None:
        return None
    given = own if isinstance(own, str) and own else None
    found = made.call(name, call["function"].get("arguments"), given)
    return None if given else found
