"""Messages in the JSON of OpenAI's chat API, for frameworks that spell messages of any API in their own way.

No API gets such an item back as it came: what it says goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.item_messages import (
    ItemContents,
    ItemMessage,
    Reading,
    Speaker,
    Unread,
    ids_among,
)

API: Final = "openai-chat"


def text(content: str) -> JsonObject:
    """Return a part of a message that is a text."""
    return {"type": "text", "text": content}


def picture(url: str) -> JsonObject:
    """Return a part of a message that is a picture, at a URL or in one."""
    return {"type": "image_url", "image_url": {"url": url}}


def call(call_id: str, name: str, arguments: Any) -> JsonObject:
    """Return a tool call; arguments are a JSON text, or what such a text says."""
    spelled = arguments if isinstance(arguments, str) else jsontext.write(arguments or {}).decode()
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": spelled}}


def result(call_id: str, content: Any) -> JsonObject:
    """Return the message that answers a call; content is a text, or JSON."""
    said = content if isinstance(content, str) else jsontext.write(content).decode()
    return {"role": "tool", "tool_call_id": call_id, "content": said}


def answer(content: str, calls: Sequence[JsonObject]) -> JsonObject | None:
    """Return the message of an assistant; None where it neither says nor calls anything."""
    if not content and not calls:
        return None
    message: JsonObject = {"role": "assistant", "content": content}
    return {**message, "tool_calls": list(calls)} if calls else message


def type_name(value: object) -> str:
    """Return what a part is called that goes nowhere; `value` is what it says of its type."""
    return value if isinstance(value, str) else "of no known type"


def contents(messages: Sequence[JsonObject], thoughts: Sequence[str] = ()) -> ItemContents | None:
    """Return what an item with these messages holds, a block each; None where it has none.

    Calls are blocks of their own. `thoughts` are what the model thought before it spoke.
    """
    blocks = [{"reasoning_content": thought} for thought in thoughts]
    blocks += [block for message in messages for block in _blocks(message)]
    return ItemContents(API, _speaker(messages), tuple(blocks)) if blocks else None


def reading(
    items: Iterable[HeldItem],
    read: Callable[[JsonObject], tuple[list[JsonObject], list[str]]],
    *,
    response_id: str,
    left_out_as: str,
) -> Reading:
    """Return what items say.

    `read` returns the messages that an item is, and the kinds of what goes nowhere, which
    `left_out_as` names. `response_id` is the member of an item that holds the id of a response.
    """
    messages: list[ItemMessage] = []
    unread: list[Unread] = []
    for version, item, _ in items:
        values, left_out = read(item)
        ids = ids_among(item.get(response_id))
        messages += [ItemMessage((version,), value, ids) for value in values]
        unread += [Unread(version, f"{left_out_as}: {kind}") for kind in left_out]
    return Reading(API, tuple(messages), tuple(unread))


def _blocks(message: JsonObject) -> Iterator[JsonObject]:
    if "tool_calls" not in message:
        yield message
        return
    if message["content"]:
        yield {"role": message["role"], "content": message["content"]}
    yield from message["tool_calls"]


def _speaker(messages: Sequence[JsonObject]) -> Speaker:
    """Return whose an item with these messages is: the user's where the user speaks in it."""
    roles = {message["role"] for message in messages}
    if "user" in roles:
        return "user"
    if roles <= {"assistant"}:
        return "assistant"
    return "tool" if "tool" in roles else "system"
