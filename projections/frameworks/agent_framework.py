"""Messages of Microsoft's Agent Framework, as `Message.to_dict` spells them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.chat_messages import (
    answer,
    call,
    contents,
    picture,
    reading,
    result,
    text,
    type_name,
)
from onrecord.projections.frameworks.framework import (
    Framework,
    ItemUsage,
    StreamItems,
    token_counts,
)
from onrecord.projections.frameworks.item_messages import ItemContents, Reading
from onrecord.projections.members import list_of, member

_ROLES: Final = ("system", "developer", "user", "assistant", "tool")


def read_items(stream: StreamItems) -> Reading:
    """Return what the messages of a session say."""
    return reading(stream.items, _read, response_id="message_id", left_out_as="a part of a message")


def read_item(message: JsonObject) -> ItemContents | None:
    """Return what one message holds, its reasoning too."""
    messages, _ = _read(message)
    return contents(messages, list(_thoughts(message.get("contents"))))


def _thoughts(parts: object) -> Iterator[str]:
    for part in list_of(parts):
        match part:
            case {"type": "text_reasoning", "text": str(thought)}:
                yield thought
            case _:
                pass


def _read(message: JsonObject) -> tuple[list[JsonObject], list[str]]:
    """Return the messages that a message is, and the types of contents that go nowhere."""
    role, contents = message.get("role"), message.get("contents")
    if role not in _ROLES or not isinstance(contents, list):
        return [], ["of no known role"]
    parts: list[JsonObject] = []
    calls: list[JsonObject] = []
    results: list[JsonObject] = []
    left_out: list[str] = []
    for content in cast("list[Any]", contents):
        match content:
            case {"type": "text", "text": str(said)}:
                parts.append(text(said))
            case {"type": "uri" | "data", "uri": str(url), "media_type": str(kind)} if (
                kind.startswith("image/") and role == "user"
            ):
                parts.append(picture(url))
            case {"type": "function_call", "call_id": str(call_id), "name": str(name)} if (
                role == "assistant"
            ):
                calls.append(call(call_id, name, content.get("arguments")))
            case {"type": "function_result", "call_id": str(call_id)}:
                results.append(result(call_id, content.get("result") or ""))
            case _:
                left_out.append(type_name(member(content, "type")))
    own = _own(role, parts, calls)
    return [*results, *([] if own is None else [own])], left_out


def _own(role: str, parts: list[JsonObject], calls: list[JsonObject]) -> JsonObject | None:
    """Return what a message says beside results."""
    if role == "user":
        return {"role": role, "content": parts} if parts else None
    content = "".join(part["text"] for part in parts)
    if role in ("assistant", "tool"):
        return answer(content, calls) if role == "assistant" else None
    return {"role": role, "content": content} if content else None


def _usages(message: JsonObject) -> Iterator[ItemUsage]:
    for content in list_of(message.get("contents")):
        counts = token_counts(member(content, "usage_details"))
        yield ItemUsage(
            answer=None,
            model="",
            input_tokens=counts("input_token_count"),
            output_tokens=counts("output_token_count"),
            cached_tokens=counts("cache_read_input_token_count"),
            cache_write_tokens=counts("cache_creation_input_token_count"),
            reasoning_tokens=counts("reasoning_output_token_count"),
        )


AGENT_FRAMEWORK: Final = Framework(
    name="agent-framework",
    read_items=read_items,
    read_item=read_item,
    read_usages=_usages,
)
