"""The blocks of an assistant's message: its reasoning, what it says, each of its calls.

The API has one object for all of these, of which they are taken apart here; put together again
they are the message: its value, with the members of the reasoning, and the calls as `tool_calls`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

from onrecord.adapters.capture.openai_chat_merging import says
from onrecord.domain.jsontext import JsonObject

REASONING: Final = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
"""The members in which servers bring what a model thought: none of the API's own."""

_OLD_CALL: Final = "function_call"
_OF_A_CALL: Final = frozenset({"function", "custom", "type", "id"})
_OF_A_MESSAGE: Final = frozenset({"role", "content"})


class Called(NamedTuple):
    """The id of a call, and the name of what it calls."""

    id: str
    name: str


def blocks_of(message: JsonObject) -> list[JsonObject]:
    """Return the blocks of a message; what of it is not as the API says stays in what it says."""
    thought = {name: value for name, value in message.items() if name in REASONING and says(value)}
    calls = calls_of(message)
    old = {_OLD_CALL: message[_OLD_CALL]} if _is_old_call(message.get(_OLD_CALL)) else {}
    apart = {*thought, *old, *(() if calls is None else ("tool_calls",))}
    spoken = {name: value for name, value in message.items() if name not in apart}
    return [*([thought] if thought else []), spoken, *(calls or []), *([old] if old else [])]


def calls_of(message: JsonObject) -> list[JsonObject] | None:
    """Return the tool calls of a message, none if there are none; None if they are no calls."""
    calls = message.get("tool_calls", [])
    if calls is None:
        return []
    if isinstance(calls, list) and all(isinstance(call, dict) for call in cast("list[Any]", calls)):
        return cast("list[JsonObject]", calls)
    return None


def _is_old_call(value: Any) -> bool:
    """Whether a `function_call` calls anything: Snowflake's answers hold one of blank members."""
    return isinstance(value, dict) and any(map(says, cast("JsonObject", value).values()))


def is_reasoning(block: JsonObject) -> bool:
    """Whether a block is what a model thought; blank members of it stay in the message."""
    return bool(block) and block.keys() <= REASONING and all(map(says, block.values()))


def is_call(block: JsonObject) -> bool:
    """Whether a block is a call, in the old spelling or the new one."""
    if block.keys() == {_OLD_CALL}:
        return True
    return not block.keys() & _OF_A_MESSAGE and bool(block.keys() & _OF_A_CALL)


def called(block: JsonObject) -> Called | None:
    """Return what a call calls; None for one that nobody could give the result of."""
    call = block.get("id")
    for member in ("function", "custom"):
        match block.get(member):
            case {"name": str(name)} if isinstance(call, str) and call:
                return Called(call, name)
            case _:
                continue
    return None


def kind_of_call(block: JsonObject) -> str:
    """Return the type of a call as the API spells it; the old one has none."""
    kind = block.get("type", _OLD_CALL if _OLD_CALL in block else "function")
    return kind if isinstance(kind, str) else ""
