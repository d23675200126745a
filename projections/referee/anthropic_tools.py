"""Anthropic's rules of calls and results of the caller's tools, and of the tools themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.projections.referee.anthropic_blocks import (
    SERVER_CALLS,
    THINKING,
    Turn,
    blocks_of,
    goes_on,
    goes_on_from_thread,
    turns_of,
)
from onrecord.projections.referee.members import member, objects, text
from onrecord.projections.referee.violation import Found, dotted

_ID_PATTERNS: Final = {
    "tool_use": ("id", "^[a-zA-Z0-9_-]+$"),
    "tool_result": ("tool_use_id", "^[a-zA-Z0-9_-]+$"),
    "server_tool_use": ("id", "^srvtoolu_[a-zA-Z0-9_]+$"),
}
_NAME_PATTERN: Final = "^[a-zA-Z0-9_-]{1,128}$"
_ASSISTANTS: Final = SERVER_CALLS | THINKING | {"tool_use"}


def unanswered_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls without a result at the beginning of the next message (claude-code#8210)."""
    turns = turns_of(request)
    for place, turn in enumerate(turns):
        if turn is turns[-1] and goes_on(turns):
            return
        answered = _leading_results(turns[place + 1]) if place + 1 < len(turns) else set[str]()
        calls = [placed for placed in turn.blocks if placed.kind == "tool_use"]
        missing = [placed for placed in calls if placed.id not in answered]
        if missing:
            yield (
                missing[0].path,
                (
                    f"messages.{turn.index}: `tool_use` ids were found without `tool_result` blocks "
                    f"immediately after: {', '.join(placed.id for placed in missing)}. Each "
                    "`tool_use` block must have a corresponding `tool_result` block in the next "
                    "message."
                ),
            )


def _leading_results(turn: Turn) -> set[str]:
    answered: set[str] = set()
    for placed in turn.blocks:
        if placed.kind != "tool_result":
            break
        answered.add(placed.answers)
    return answered


def results_without_call(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find results whose call does not stand in the turn before them (claude-code#18947)."""
    called: set[str] = set()
    is_held = goes_on_from_thread(request)
    for turn in turns_of(request):
        for place, placed in enumerate(turn.blocks):
            if is_held and turn.index == 0:
                continue
            if placed.kind == "tool_result" and placed.answers not in called:
                yield (
                    placed.path,
                    (
                        f"{turn.spelled(place)}: unexpected `tool_use_id` found in `tool_result` "
                        f"blocks: {placed.answers}. Each `tool_result` block must have a "
                        "corresponding `tool_use` block in the previous message."
                    ),
                )
        called = {placed.id for placed in turn.blocks if placed.kind == "tool_use"}


def repeated_results(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls with two results."""
    for turn in turns_of(request):
        answered: set[str] = set()
        for place, placed in enumerate(turn.blocks):
            if placed.kind != "tool_result":
                continue
            if placed.answers in answered:
                yield (
                    placed.path,
                    (
                        f"{turn.spelled(place)}: each tool_use must have a single result. Found "
                        f"multiple `tool_result` blocks with id: {placed.answers}"
                    ),
                )
            answered.add(placed.answers)


def misplaced_blocks(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls and thoughts that are not the assistant's, and results not the user's."""
    for placed in blocks_of(request):
        if placed.kind in _ASSISTANTS and placed.role != "assistant":
            owner = "assistant"
        elif placed.kind == "tool_result" and placed.role != "user":
            owner = "user"
        else:
            continue
        yield (
            placed.path,
            f"{dotted(placed.path[:2])}: `{placed.kind}` blocks can only be in `{owner}` messages",
        )


def malformed_ids(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find ids of another form than the service's."""
    for placed in blocks_of(request):
        name, pattern = _ID_PATTERNS.get(placed.kind, ("", ""))
        if name and not re.fullmatch(pattern, text(placed.block.get(name))):
            path = (*placed.path, name)
            spelled = dotted((*placed.path, placed.kind, name))
            yield path, f"{spelled}: String should match pattern '{pattern}'"


def repeated_ids(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find ids that stand for two calls."""
    seen: set[str] = set()
    for placed in blocks_of(request):
        if placed.kind == "tool_use" or placed.kind in SERVER_CALLS:
            if placed.id in seen:
                yield placed.path, f"{dotted(placed.path)}: `{placed.kind}` ids must be unique"
            seen.add(placed.id)


def missing_container(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find answers to calls that code made, without the container it runs in (sdk-python#1801)."""
    turns = turns_of(request)
    if request.get("container") or len(turns) < 2 or not turns[-1].has_only_results:
        return
    callers = (member(placed.block, "caller") for placed in turns[-2].blocks)
    if any(text(member(caller, "type")).startswith("code_execution") for caller in callers):
        yield (
            (),
            (
                "container_id is required when there are pending tool uses generated by code "
                "execution with tools."
            ),
        )


def tool_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names of tools that have another form, or that two tools have."""
    tools = objects(request.get("tools"))
    names = Counter(text(tool.get("name")) for _, tool in tools if tool.get("name"))
    for place, tool in tools:
        name, kind = text(tool.get("name")), text(tool.get("type")) or "custom"
        is_named = kind == "custom" and isinstance(tool.get("name"), str)
        if is_named and not re.fullmatch(_NAME_PATTERN, name):
            said = f"tools.{place}.custom.name: String should match pattern '{_NAME_PATTERN}'"
            yield ("tools", place, "name"), said
        if names[name] > 1:
            names[name] = 0
            yield ("tools",), "tools: Tool names must be unique."
