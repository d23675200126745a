"""The context that a Camunda agent keeps: its messages in a list, or by turns, of any schema version.

What it is made of: `role` tells messages apart, `type` the parts of their content. A context without
`schemaVersion`, or with 0, holds results of tools as they came: those are lifted to parts. What is of
a later version than 1 is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from onrecord.adapters.histories.agent_messages import hear_messages
from onrecord.adapters.histories.history import Heard, Histories, History, Listener
from onrecord.adapters.wire.nesting import read
from onrecord.domain.errors import InvalidInput, MalformedJson
from onrecord.domain.jsontext import JsonObject

SCHEMA: Final = 1
"""The latest schema version of a context that is known."""


def contexts_in(path: Path) -> Histories:
    """Return the one history of a file that holds an agent's context; InvalidInput where it does not."""
    try:
        value = read(path.read_bytes())
    except MalformedJson as exc:
        raise InvalidInput(f"the file is no JSON: {exc}") from exc
    context = _context(value)
    messages = _messages(context)

    def heard(listener: Listener) -> Heard:
        return hear_messages(messages, listener)

    return Histories(1, are_several=False, read=lambda: iter((History("the file", None, heard),)))


def lifted(content: Any) -> list[JsonObject]:
    """Return the parts that the content of a result comes to, which was kept as it came.

    Nothing, and blank text, has no parts; a text is one, and so is a reference to a document. All
    else is one opaque object: a list stays data, even where it looks like parts.
    """
    match content:
        case None:
            return []
        case str():
            return [{"type": "text", "text": content}] if content.strip() else []
        case {"camunda.document.type": str()}:
            return [{"type": "document", "document": content}]
        case _:
            return [{"type": "object", "content": content}]


def _context(value: Any) -> JsonObject:
    match value:
        case {"context": {**context}} | {"agentContext": {**context}}:
            return cast("JsonObject", context)
        case {"messages": _} | {"turns": _} | {"conversation": _}:
            return cast("JsonObject", value)
        case _:
            raise InvalidInput(
                "the file holds no agent's context: that has `messages`, `turns` or `conversation`"
            )


def _messages(context: JsonObject) -> list[JsonObject]:
    version = _version(context)
    held = context.get("conversation", context)
    within = cast("JsonObject", held) if isinstance(held, dict) else {}
    version = max(version, _version(within))
    match within:
        case {"turns": [*turns]}:
            messages = list(_in_turns(turns))
        case {"messages": [*listed]}:
            messages = [_object(each, f"message {at}") for at, each in enumerate(listed, 1)]
        case _:
            raise InvalidInput("the conversation of the context has neither `messages` nor `turns`")
    return messages if version else [_with_parts(message) for message in messages]


def _version(context: JsonObject) -> int:
    version = context.get("schemaVersion") or 0
    if isinstance(version, bool) or not isinstance(version, int):
        raise InvalidInput("the schemaVersion of the context is no number")
    if version > SCHEMA:
        raise InvalidInput(
            f"the context has schemaVersion {version}, which is newer than {SCHEMA} and not "
            "supported: upgrade Onrecord"
        )
    return version


def _in_turns(turns: list[Any]) -> Iterator[JsonObject]:
    for at, each in enumerate(turns, 1):
        turn = _object(each, f"turn {at}")
        said: Any = turn.get("inputMessages") or []
        answered = turn.get("assistantMessage")
        if not isinstance(said, list):
            raise InvalidInput(f"turn {at}: its inputMessages are no list")
        for message in cast("list[Any]", said):
            yield _object(message, f"turn {at}")
        if answered is not None:
            yield _object(answered, f"turn {at}")


def _with_parts(message: JsonObject) -> JsonObject:
    """Return a message of the first schema with its results' content in parts; siblings stay."""
    results = message.get("results")
    if message.get("role") != "tool_call_result" or not isinstance(results, list):
        return message
    held = [_object(each, "a result") for each in cast("list[Any]", results)]
    return {
        **message,
        "results": [{**each, "content": lifted(each.get("content"))} for each in held],
    }


def _object(value: Any, place: str) -> JsonObject:
    if isinstance(value, dict):
        return cast("JsonObject", value)
    raise InvalidInput(f"{place} is no object")
