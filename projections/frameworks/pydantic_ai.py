"""Entries of pydantic-ai's conversations: the messages from the first one to the one that the record points at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

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
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.framework import (
    Framework,
    ItemUsage,
    StreamItems,
    token_counts,
)
from onrecord.projections.frameworks.item_messages import ItemContents, Reading, Unread
from onrecord.projections.members import (
    list_of,
    member,
    members_of,
    nonempty_text,
    objects,
    standard_base64,
)


def read_items(stream: StreamItems) -> Reading:
    """Return what the entries of the history say; those of branches that were left are no part of it."""
    messages = (
        entry._replace(item=members_of(entry.item.get("message")))
        for entry in _line(stream.items, stream.state)
    )
    read = reading(
        messages, _read, response_id="provider_response_id", left_out_as="a part of a message"
    )
    others = (
        Unread(item.version, "an item that is no entry")
        for item in stream.items
        if not _is_entry(item.item)
    )
    return replace(read, unread=(*others, *read.unread))


def read_item(entry: JsonObject) -> ItemContents | None:
    """Return what the message of one entry holds, its thoughts too, on whichever branch it is."""
    message = members_of(entry.get("message"))
    messages, _ = _read(message)
    return contents(
        messages, [part["content"] for part in objects(message.get("parts")) if _is_thought(part)]
    )


def _is_thought(part: JsonObject) -> bool:
    return part.get("part_kind") == "thinking" and isinstance(part.get("content"), str)


def _line(items: Sequence[HeldItem], state: Mapping[str, object]) -> list[HeldItem]:
    by_id = {item.item["id"]: item for item in items if _is_entry(item.item)}
    entry_id: Any = member(state.get("record"), "head_id")
    line: list[HeldItem] = []
    while isinstance(entry_id, str) and (entry := by_id.pop(entry_id, None)) is not None:
        line.append(entry)
        entry_id = entry.item.get("parent_id")
    return line[::-1]


def _is_entry(item: JsonObject) -> bool:
    """Whether an item has the ids of an entry: another program may have recorded one without."""
    parent_id = item.get("parent_id")
    return isinstance(item.get("id"), str) and (parent_id is None or isinstance(parent_id, str))


def _read(message: JsonObject) -> tuple[list[JsonObject], list[str]]:
    """Return the messages that a message of pydantic-ai is, and the kinds of parts that go nowhere."""
    if message.get("kind") not in ("request", "response"):
        return [], ["of no known kind"]
    parts = objects(message.get("parts"))
    if message.get("kind") == "response":
        return _response(parts)
    messages: list[JsonObject] = []
    left_out: list[str] = []
    for part in parts:
        of_part, kinds = _request_part(part)
        messages += of_part
        left_out += kinds
    return messages, left_out


def _response(parts: Sequence[JsonObject]) -> tuple[list[JsonObject], list[str]]:
    texts: list[str] = []
    calls: list[JsonObject] = []
    left_out: list[str] = []
    for part in parts:
        match part:
            case {"part_kind": "text", "content": str(said)}:
                texts.append(said)
            case {"part_kind": "tool-call", "tool_call_id": str(call_id), "tool_name": str(name)}:
                calls.append(call(call_id, name, part.get("args")))
            case _:
                left_out.append(_kind(part))
    message = answer("".join(texts), calls)
    return ([] if message is None else [message]), left_out


def _request_part(part: JsonObject) -> tuple[list[JsonObject], list[str]]:
    match part:
        case {"part_kind": "system-prompt", "content": str(said)}:
            return [{"role": "system", "content": said}], []
        case {"part_kind": "user-prompt", "content": content}:
            entries = [content] if isinstance(content, str) else list_of(content)
            read = [(_content(entry), entry) for entry in entries]
            parts = [each for each, _ in read if each is not None]
            missed = [_kind(entry) for each, entry in read if each is None]
            return ([{"role": "user", "content": parts}] if parts else []), missed
        case {
            "part_kind": "tool-return" | "retry-prompt",
            "tool_call_id": str(call_id),
            "content": content,
        } if part.get("tool_name") is not None:
            return [result(call_id, content)], []
        case {"part_kind": "retry-prompt", "content": str(said)}:
            return [{"role": "user", "content": said}], []
        case _:
            return [], [_kind(part)]


def _content(entry: object) -> JsonObject | None:
    match entry:
        case str(said) | {"kind": "text", "content": str(said)}:
            return text(said)
        case {"kind": "image-url", "url": str(url)}:
            return picture(url)
        case {"kind": "binary", "data": str(data), "media_type": str(kind)}:
            return (
                picture(f"data:{kind};base64,{standard_base64(data)}")
                if kind.startswith("image/")
                else None
            )
        case _:
            return None


def _kind(part: object) -> str:
    members = members_of(part)
    return type_name(members.get("part_kind", members.get("kind")))


def _usages(entry: JsonObject) -> Iterator[ItemUsage]:
    message = members_of(entry.get("message"))
    counts = token_counts(message.get("usage"))
    yield ItemUsage(
        answer=None,
        model=nonempty_text(message.get("model_name")) or "",
        input_tokens=counts("input_tokens"),
        output_tokens=counts("output_tokens"),
        cached_tokens=counts("cache_read_tokens"),
        cache_write_tokens=counts("cache_write_tokens"),
        reasoning_tokens=counts("output_reasoning_tokens"),
    )


PYDANTIC_AI: Final = Framework(
    name="pydantic-ai",
    read_items=read_items,
    read_item=read_item,
    read_usages=_usages,
)
