"""What Anthropic refuses in a request, checked without any of our rendering.

Each function names the rule and yields what it found; the texts are the service's, shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

Json = dict[str, Any]
_SERVER_CALLS = {"server_tool_use", "mcp_tool_use"}
_THINKING = {"thinking", "redacted_thinking"}
_TOOL_CHANGES = {"tool_addition", "tool_removal"}


def complaints(request: Mapping[str, Any], *, is_paused: bool = False) -> list[str]:
    """All that the service would say against a request."""
    messages: list[Json] = request["messages"]
    return [
        *empty_content(messages),
        *system_messages(messages),
        *client_tools(messages, is_paused=is_paused),
        *server_tools(messages),
        *texts(messages),
        *endings(messages, is_paused=is_paused),
        *ids(messages),
        *marks(request),
    ]


def empty_content(messages: list[Json]) -> Iterator[str]:
    if not messages:
        yield "R5 at least one message is required"
    for index, message in enumerate(messages):
        if not message["content"]:
            yield f"R5 messages.{index}: content must not be empty"


def system_messages(messages: list[Json]) -> Iterator[str]:
    for index, message in enumerate(messages):
        kinds = {block["type"] for block in message["content"]}
        if message["role"] != "system":
            if kinds & _TOOL_CHANGES:
                yield f"R21 messages.{index}: tools change in a system message only"
            continue
        if index == 0 or messages[index - 1]["role"] != "user":
            yield f"R21 messages.{index}: must follow a user turn"
        if index + 1 < len(messages) and messages[index + 1]["role"] != "assistant":
            yield f"R21 messages.{index}: must stand before an assistant turn"
        if kinds - _TOOL_CHANGES - {"text"}:
            yield f"R21 messages.{index}: text and changes of tools only"


def client_tools(messages: list[Json], *, is_paused: bool) -> Iterator[str]:
    for index, message in enumerate(messages):
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        is_last = index == len(messages) - 1
        results = [] if is_last else _leading_results(messages[index + 1])
        if calls and not (is_last and is_paused) and results != calls:
            yield f"R1 messages.{index}: {calls} answered by {results}"
    for index, message in enumerate(messages):
        before: list[Json] = messages[index - 1]["content"] if index else []
        called = {block["id"] for block in before if block["type"] == "tool_use"}
        for block in message["content"]:
            if block["type"] == "tool_result" and block["tool_use_id"] not in called:
                yield f"R2 messages.{index}: unexpected `tool_use_id` {block['tool_use_id']}"
        if message["role"] == "user":
            kinds = [block["type"] == "tool_result" for block in message["content"]]
            if kinds != sorted(kinds, reverse=True):
                yield f"R1 messages.{index}: results must come first"


def _leading_results(message: Json) -> list[str]:
    return [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]


def server_tools(messages: list[Json]) -> Iterator[str]:
    called: set[str] = set()
    answered: set[str] = set()
    for index, message in enumerate(messages):
        for block in message["content"]:
            kind: str = block["type"]
            if kind in _SERVER_CALLS:
                called.add(block["id"])
            elif kind.endswith("_tool_result"):
                if block["tool_use_id"] not in called or block["tool_use_id"] in answered:
                    yield f"R2 messages.{index}: {kind} without its call before it"
                answered.add(block["tool_use_id"])
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] not in _SERVER_CALLS or block["id"] in answered:
                continue
            if not all(_leaves_in_flight(block["id"], after) for after in messages[index + 1 :]):
                yield f"R3 messages.{index}: {block['id']} without a result"


def _leaves_in_flight(call_id: str, message: Json) -> bool:
    """Only results of tools, or an answer with calls that the code in flight made."""
    if message["role"] == "user":
        return all(block["type"] == "tool_result" for block in message["content"])
    callers: list[Json] = [block.get("caller") or {} for block in message["content"]]
    return message["role"] == "assistant" and call_id in [by.get("tool_id") for by in callers]


def texts(messages: list[Json]) -> Iterator[str]:
    for index, message in enumerate(messages):
        said = [block["text"] for block in message["content"] if block["type"] == "text"]
        inner = [
            part["text"]
            for block in message["content"]
            if block["type"] == "tool_result" and isinstance(block.get("content"), list)
            for part in block["content"]
            if part["type"] == "text"
        ]
        if "" in said or "" in inner:
            yield f"R10 messages.{index}: text content blocks must be non-empty"
        if said and not any(text.strip() for text in said):
            yield f"R10 messages.{index}: text content blocks must contain non-whitespace text"


def endings(messages: list[Json], *, is_paused: bool) -> Iterator[str]:
    if not messages or is_paused or messages[-1]["role"] != "assistant":
        return
    last = messages[-1]["content"][-1]
    if last["type"] in _THINKING:
        yield "R11 the final block cannot be thinking"
    if last["type"] == "text" and last["text"] != last["text"].rstrip():
        yield "R11 final assistant content cannot end with trailing whitespace"


def ids(messages: list[Json]) -> Iterator[str]:
    seen: set[str] = set()
    for message in messages:
        for block in message["content"]:
            if block["type"] != "tool_use":
                continue
            if not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
                yield f"R15 {block['id']!r} should match pattern"
            if block["id"] in seen:
                yield f"R15 {block['id']!r}: `tool_use` ids must be unique"
            seen.add(block["id"])


def marks(request: Mapping[str, Any]) -> Iterator[str]:
    marked = list(_marked([request.get("system"), request.get("tools"), request["messages"]]))
    if len(marked) > 4:
        yield f"R16 a maximum of 4 blocks with cache_control. Found {len(marked)}."
    for block in marked:
        if block.get("type") in _THINKING:
            yield "R16 thinking.cache_control: Extra inputs are not permitted"
        if block.get("text") == "":
            yield "R16 cache_control cannot be set for empty text blocks"


def _marked(value: Any) -> Iterator[Json]:
    if isinstance(value, list):
        for held in cast("list[Any]", value):
            yield from _marked(held)
    if isinstance(value, dict):
        members = cast("Json", value)
        if "cache_control" in members:
            yield members
        for held in members.values():
            yield from _marked(held)
