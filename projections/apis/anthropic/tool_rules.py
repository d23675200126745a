"""Anthropic's rules of calls and results of the caller's tools, and of the tools themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.rules import Found, Path, dotted
from onrecord.projections.members import member, placed_objects, text

# The blocks of a request to Anthropic's Messages API, by message and by turn.

THINKING: Final = frozenset({"thinking", "redacted_thinking"})
SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})


@dataclass(frozen=True, slots=True)
class Placed:
    """A block and where it stands."""

    path: Path
    message: int
    role: str
    block: JsonObject

    @property
    def kind(self) -> str:
        """The block's type."""
        return text(self.block.get("type"))

    @property
    def id(self) -> str:
        """The id of a call."""
        return text(self.block.get("id"))

    @property
    def answers(self) -> str:
        """The id of the call that a result is for."""
        return text(self.block.get("tool_use_id"))

    @property
    def is_server_result(self) -> bool:
        """Whether it is what a tool of the provider's gave."""
        return self.kind.endswith("_tool_result")


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role: the service joins them (R5)."""

    index: int
    role: str
    blocks: tuple[Placed, ...]

    @property
    def has_only_results(self) -> bool:
        """Whether it says nothing but what the caller's tools gave."""
        return all(placed.kind == "tool_result" for placed in self.blocks)

    def dotted(self, place: int) -> str:
        """Return how the service names a block: recorded, it counts after it has joined them."""
        return f"messages.{self.index}.content.{place}"


def blocks_of(request: Mapping[str, Any]) -> tuple[Placed, ...]:
    """Return all blocks of the messages; a content that is a string is one text."""
    placed: list[Placed] = []
    for index, message in placed_objects(request.get("messages")):
        role, content = text(message.get("role")), message.get("content")
        path: Path = ("messages", index, "content")
        if isinstance(content, str) and content:
            placed.append(Placed(path, index, role, {"type": "text", "text": content}))
        for place, block in placed_objects(content):
            placed.append(Placed((*path, place), index, role, block))
    return tuple(placed)


def turns_of(request: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Return the turns that have blocks, in order."""
    grouped = groupby(blocks_of(request), key=lambda placed: placed.role)
    return tuple(Turn(index, role, tuple(blocks)) for index, (role, blocks) in enumerate(grouped))


def goes_on_from_thread(request: Mapping[str, Any]) -> bool:
    """Whether the service holds what comes before the messages (R22)."""
    thread: Any = request.get("thread")
    return isinstance(thread, dict) and cast("JsonObject", thread).get("type") == "continue"


def goes_on(turns: Sequence[Turn]) -> bool:
    """Whether the last turn is one that the service may have paused, and goes on with (R4).

    It pauses amid its own tools and after a compaction only.
    """
    if not turns or turns[-1].role != "assistant":
        return False
    return any(
        placed.kind in SERVER_CALLS or placed.kind == "compaction" or placed.is_server_result
        for placed in turns[-1].blocks
    )


_ID_PATTERNS: Final = {
    "tool_use": ("id", "^[a-zA-Z0-9_-]+$"),
    "tool_result": ("tool_use_id", "^[a-zA-Z0-9_-]+$"),
    "server_tool_use": ("id", "^srvtoolu_[a-zA-Z0-9_]+$"),
}
_TOOLSET: Final = "mcp_toolset"
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
            message = (
                f"messages.{turn.index}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(placed.id for placed in missing)}. Each "
                "`tool_use` block must have a corresponding `tool_result` block in the next "
                "message."
            )
            yield missing[0].path, message


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
    is_in_thread = goes_on_from_thread(request)
    for turn in turns_of(request):
        for place, placed in enumerate(turn.blocks):
            if is_in_thread and turn.index == 0:
                continue
            if placed.kind == "tool_result" and placed.answers not in called:
                message = (
                    f"{turn.dotted(place)}: unexpected `tool_use_id` found in `tool_result` "
                    f"blocks: {placed.answers}. Each `tool_result` block must have a "
                    "corresponding `tool_use` block in the previous message."
                )
                yield placed.path, message
        called = {placed.id for placed in turn.blocks if placed.kind == "tool_use"}


def repeated_results(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls with two results."""
    for turn in turns_of(request):
        answered: set[str] = set()
        for place, placed in enumerate(turn.blocks):
            if placed.kind != "tool_result":
                continue
            if placed.answers in answered:
                message = (
                    f"{turn.dotted(place)}: each tool_use must have a single result. Found "
                    f"multiple `tool_result` blocks with id: {placed.answers}"
                )
                yield placed.path, message
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
            path_text = dotted((*placed.path, placed.kind, name))
            yield path, f"{path_text}: String should match pattern '{pattern}'"


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
        message = (
            "container_id is required when there are pending tool uses generated by code "
            "execution with tools."
        )
        yield (), message


def tool_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names of tools that have another form, or that two tools have."""
    tools = placed_objects(request.get("tools"))
    names = Counter(text(tool.get("name")) for _, tool in tools if tool.get("name"))
    for place, tool in tools:
        name, kind = text(tool.get("name")), text(tool.get("type")) or "custom"
        is_named = kind == "custom" and isinstance(tool.get("name"), str)
        if is_named and not re.fullmatch(_NAME_PATTERN, name):
            words = f"tools.{place}.custom.name: String should match pattern '{_NAME_PATTERN}'"
            yield ("tools", place, "name"), words
        if names[name] > 1:
            names[name] = 0
            yield ("tools",), "tools: Tool names must be unique."


def absent_servers(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find tools of an MCP server that is not among `mcp_servers`.

    platform.claude.com, "MCP connector": `mcp_server_name` must match a server defined there.
    """
    servers = {server.get("name") for _, server in placed_objects(request.get("mcp_servers"))}
    for place, tool in placed_objects(request.get("tools")):
        name = tool.get("mcp_server_name")
        if (
            tool.get("type") == _TOOLSET
            and name not in servers
            and not goes_on_from_thread(request)
        ):
            words = f"tools.{place}.mcp_server_name: no server {name!r} is defined in `mcp_servers`"
            yield ("tools", place, "mcp_server_name"), words


# Anthropic's rules of the tools that it runs itself, and of what it says about a thread.


def server_results_without_call(request: Mapping[str, Any]) -> Iterator[Found]:
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
                yield placed.path, _without_call(turn.dotted(place), placed, call)


def _without_call(path_text: str, placed: Placed, call: str) -> str:
    return (
        f"{path_text}: unexpected `tool_use_id` found in `{placed.kind}` blocks: {placed.answers}. "
        f"Each `{placed.kind}` block must have a corresponding `{call}` block before it."
    )


def unanswered_server_calls(request: Mapping[str, Any]) -> Iterator[Found]:
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
                yield placed.path, _unanswered(turn.dotted(place), placed)


def _leaves_in_flight(turn: Turn, call: Placed) -> bool:
    if turn.role == "user":
        return turn.has_only_results
    callers = (member(placed.block, "caller") for placed in turn.blocks)
    return turn.role == "assistant" and call.id in [member(by, "tool_id") for by in callers]


def _unanswered(path_text: str, call: Placed) -> str:
    tool = "mcp" if call.kind == "mcp_tool_use" else text(call.block.get("name"))
    return (
        f"{path_text}: `{tool}` tool use with id `{call.id}` was found without a "
        f"corresponding `{tool}_tool_result` block"
    )


def absent_advisor(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find what the advisor said where its tool is not among the tools."""
    kinds = [text(tool.get("type")) for _, tool in placed_objects(request.get("tools"))]
    if any(kind.startswith("advisor") for kind in kinds) or goes_on_from_thread(request):
        return
    for placed in blocks_of(request):
        is_call = placed.kind == "server_tool_use" and placed.block.get("name") == "advisor"
        if is_call or placed.kind == "advisor_tool_result":
            message = (
                f"{dotted(placed.path)}: `{placed.kind}` of the advisor was found, but the "
                "advisor tool is not among `tools`"
            )
            yield placed.path, message


def empty_results(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find results whose content is an empty list."""
    for placed in blocks_of(request):
        if placed.kind == "tool_result" and placed.block.get("content") == []:
            path = (*placed.path, "content")
            path_text = dotted((*placed.path, placed.kind, "content"))
            yield path, f"{path_text}: List should have at least 1 item after validation, not 0"


def unknown_tools(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find references to tools that are not among the tools of the request.

    Tools of an MCP server are known to the service alone.
    """
    tools = [tool for _, tool in placed_objects(request.get("tools"))]
    if any(tool.get("type") == _TOOLSET for tool in tools) or goes_on_from_thread(request):
        return
    names = {text(tool.get("name")) for tool in tools} | set(_added(request))
    for placed in blocks_of(request):
        for path, name in _references(placed):
            if name not in names:
                words = f"Tool reference '{name}' has no corresponding tool definition"
                yield (*placed.path, *path), f"{dotted(placed.path)}: {words}"


def _added(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of tools that are added amid the messages."""
    for placed in blocks_of(request):
        if placed.kind == "tool_addition":
            yield text(member(placed.block.get("tool"), "name"))


def _references(placed: Placed) -> Iterator[tuple[tuple[str | int, ...], str]]:
    content = placed.block.get("content")
    if placed.kind == "tool_result":
        for place, part in placed_objects(content):
            if part.get("type") == "tool_reference":
                yield ("content", place), text(part.get("tool_name"))
    if placed.kind == "tool_search_tool_result":
        for place, value in placed_objects(member(content, "tool_references")):
            yield ("content", "tool_references", place), text(value.get("tool_name"))
