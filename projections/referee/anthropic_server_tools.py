"""Anthropic's rules of the tools that it runs itself, and of what it says about a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onrecord.projections.referee.anthropic_blocks import (
    SERVER_CALLS,
    Placed,
    Turn,
    blocks_of,
    goes_on_from_thread,
    turns_of,
)
from onrecord.projections.referee.members import member, objects, text
from onrecord.projections.referee.violation import Found, dotted


def results_without_call(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find results of the service's own tools without their call before them (claude-code#64383)."""
    if goes_on_from_thread(request):
        return
    called: dict[str, str] = {}
    for turn in turns_of(request):
        for place, placed in enumerate(turn.blocks):
            if placed.kind in SERVER_CALLS:
                called[placed.id] = placed.kind
            call = "mcp_tool_use" if placed.kind == "mcp_tool_result" else "server_tool_use"
            # A second result finds its call taken.
            if placed.is_server_result and called.pop(placed.answers, None) != call:
                yield placed.path, _without_call(turn.spelled(place), placed, call)


def _without_call(spelled: str, placed: Placed, call: str) -> str:
    return (
        f"{spelled}: unexpected `tool_use_id` found in `{placed.kind}` blocks: {placed.answers}. "
        f"Each `{placed.kind}` block must have a corresponding `{call}` block before it."
    )


def unanswered_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls of the service's own tools that have no result in any later message.

    One may stay in flight while nothing but results of the caller's tools follow, or answers with
    calls that its code made.
    """
    turns = turns_of(request)
    blocks = [placed for turn in turns for placed in turn.blocks]
    answered = {placed.answers for placed in blocks if placed.is_server_result}
    for turn in turns:
        for place, placed in enumerate(turn.blocks):
            if placed.kind not in SERVER_CALLS or placed.id in answered:
                continue
            if not all(_leaves_in_flight(later, placed) for later in turns[turn.index + 1 :]):
                yield placed.path, _unanswered(turn.spelled(place), placed)


def _leaves_in_flight(turn: Turn, call: Placed) -> bool:
    if turn.role == "user":
        return turn.has_only_results
    callers = (member(placed.block, "caller") for placed in turn.blocks)
    return turn.role == "assistant" and call.id in [member(by, "tool_id") for by in callers]


def _unanswered(spelled: str, call: Placed) -> str:
    tool = "mcp" if call.kind == "mcp_tool_use" else text(call.block.get("name"))
    return (
        f"{spelled}: `{tool}` tool use with id `{call.id}` was found without a "
        f"corresponding `{tool}_tool_result` block"
    )


def absent_advisor(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find what the advisor said where its tool is not among the tools."""
    kinds = [text(tool.get("type")) for _, tool in objects(request.get("tools"))]
    if any(kind.startswith("advisor") for kind in kinds) or goes_on_from_thread(request):
        return
    for placed in blocks_of(request):
        is_call = placed.kind == "server_tool_use" and placed.block.get("name") == "advisor"
        if is_call or placed.kind == "advisor_tool_result":
            yield (
                placed.path,
                (
                    f"{dotted(placed.path)}: `{placed.kind}` of the advisor was found, but the "
                    "advisor tool is not among `tools`"
                ),
            )


def empty_results(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find results whose content is an empty list."""
    for placed in blocks_of(request):
        if placed.kind == "tool_result" and placed.block.get("content") == []:
            path = (*placed.path, "content")
            spelled = dotted((*placed.path, placed.kind, "content"))
            yield path, f"{spelled}: List should have at least 1 item after validation, not 0"


def unknown_tools(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find references to tools that are not among the tools of the request.

    Tools of an MCP server are known to the service alone.
    """
    tools = [tool for _, tool in objects(request.get("tools"))]
    if any(tool.get("type") == "mcp_toolset" for tool in tools) or goes_on_from_thread(request):
        return
    names = {text(tool.get("name")) for tool in tools} | set(_added(request))
    for placed in blocks_of(request):
        for path, name in _references(placed):
            if name not in names:
                said = f"Tool reference '{name}' has no corresponding tool definition"
                yield (*placed.path, *path), f"{dotted(placed.path)}: {said}"


def _added(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of tools that are added amid the messages."""
    for placed in blocks_of(request):
        if placed.kind == "tool_addition":
            yield text(member(placed.block.get("tool"), "name"))


def _references(placed: Placed) -> Iterator[tuple[tuple[str | int, ...], str]]:
    content = placed.block.get("content")
    if placed.kind == "tool_result":
        for place, part in objects(content):
            if part.get("type") == "tool_reference":
                yield ("content", place), text(part.get("tool_name"))
    if placed.kind == "tool_search_tool_result":
        for place, found in objects(member(content, "tool_references")):
            yield ("content", "tool_references", place), text(found.get("tool_name"))
