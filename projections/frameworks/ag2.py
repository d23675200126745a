"""Events of AG2's histories, as its own serialiser spells them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.chat_messages import (
    answer,
    call,
    contents,
    reading,
    result,
    text,
)
from onrecord.projections.frameworks.framework import (
    Framework,
    ItemUsage,
    StreamItems,
    token_counts,
)
from onrecord.projections.frameworks.item_messages import ItemContents, Reading
from onrecord.projections.members import member, nonempty_text, objects


def read_items(stream: StreamItems) -> Reading:
    """Return what the events of a history say.

    Calls stand in the response that makes them, and results in the event that has all of a round: events
    that have one of them alone say nothing more.
    """
    return reading(stream.items, _read, response_id="response_id", left_out_as="an event of AG2")


def read_item(event: JsonObject) -> ItemContents | None:
    """Return what one event holds."""
    messages, _ = _read(event)
    return contents(messages)


def about(event: JsonObject) -> str:
    """Return the kind of an event."""
    return _kind(event)


def _read(event: JsonObject) -> tuple[list[JsonObject], list[str]]:
    """Return the messages that an event is, and the kinds of what goes nowhere."""
    match _kind(event):
        case "ModelRequest":
            return _request(event)
        case "ModelResponse":
            message = _response(event)
            return ([] if message is None else [message]), []
        case "ToolResultsEvent":
            return _results(objects(event.get("results"))), []
        case "ToolCallsEvent" | "ToolCallEvent" | "ToolResultEvent":
            return [], []
        case kind:
            return [], [kind]


def _request(event: JsonObject) -> tuple[list[JsonObject], list[str]]:
    parts = objects(event.get("parts"))
    texts = [text(each) for each in _texts(parts)]
    left_out = [_kind(part) for part in parts if _kind(part) != "TextInput"]
    return ([{"role": "user", "content": texts}] if texts else []), left_out


def _response(event: JsonObject) -> JsonObject | None:
    return answer(
        nonempty_text(member(event.get("message"), "content")) or "",
        [
            call(each["id"], each["name"], each.get("arguments"))
            for each in objects(member(event.get("tool_calls"), "calls"))
            if isinstance(each.get("id"), str) and isinstance(each.get("name"), str)
        ],
    )


def _results(results: list[JsonObject]) -> list[JsonObject]:
    messages: list[JsonObject] = []
    for each in results:
        match each:
            case {"parent_id": str(call_id), "result": {"data": {"parts": list()}}}:
                messages.append(result(call_id, "".join(_texts(each["result"]["data"]["parts"]))))
            case {"parent_id": str(call_id)}:
                messages.append(result(call_id, each.get("result")))
            case _:
                pass
    return messages


def _texts(parts: Sequence[object]) -> list[str]:
    contents = (member(part, "content") for part in parts if _kind(part) == "TextInput")
    return [content for content in contents if isinstance(content, str)]


def _kind(event: object) -> str:
    """Return the name of an event's class, without its module."""
    path = member(event, "__event__")
    return path.rpartition(".")[2] if isinstance(path, str) else "of no known class"


_CACHE_BESIDE: Final = ("anthropic", "bedrock")
_THOUGHT_BESIDE: Final = ("gemini", "google")
"""Providers of AG2 whose counts it hands on where they stand beside each other."""


def _usages(event: JsonObject) -> Iterator[ItemUsage]:
    # Tokens have events of their own. Responses repeat them, and a compaction keeps them once more.
    if _kind(event) != "UsageEvent":
        return
    counts = token_counts(member(event.get("usage"), "data"))
    provider = event.get("provider")
    cached = counts("cache_read_input_tokens")
    written, thought = counts("cache_creation_input_tokens"), counts("thinking_tokens")
    yield ItemUsage(
        answer=repr(event.get("created_at")),
        model=nonempty_text(event.get("model")) or "",
        input_tokens=counts("prompt_tokens")
        + (cached + written if provider in _CACHE_BESIDE else 0),
        output_tokens=counts("completion_tokens") + (thought if provider in _THOUGHT_BESIDE else 0),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=thought,
    )


AG2: Final = Framework(
    name="ag2",
    read_items=read_items,
    read_item=read_item,
    read_usages=_usages,
    about=about,
)
