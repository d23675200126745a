"""The items of a request to OpenAI's Responses API: what calls, what answers, what ids begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.referee.members import objects, text

CALLED: Final = {
    "function_call": "function call",
    "custom_tool_call": "custom tool call",
    "computer_call": "computer call",
    "local_shell_call": "local shell call",
    "shell_call": "shell call",
    "apply_patch_call": "apply patch call",
}
"""Calls that are refused without their output, by the name that the service gives them."""

ANSWERS: Final = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "tool_search_output": "tool_search_call",
    "program_output": "program",
    "mcp_approval_response": "mcp_approval_request",
}
"""What an item answers, by type."""

PREFIXES: Final = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr",
    "computer_call": "cu",
    "shell_call": "sh",
    "apply_patch_call": "apc",
    "tool_search_call": "tsc",
    "compaction": "cmp",
}
"""What the id of an item begins with, by type."""

_CALLERS: Final = frozenset(
    {*ANSWERS, "item_reference", "additional_tools", "configuration_update", "compaction_trigger"}
)
"""What a caller says; all else is an answer's, kinds that are not yet known among it."""

_RUN_BY_SERVICE: Final = frozenset({"shell_call_output", "tool_search_output", "program_output"})
"""Outputs that an answer may hold itself: of hosted shells, hosted tool search and programs."""


def items_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return the items of the input, each with its place; none of an input that is a string."""
    return objects(request.get("input"))


def kind_of(item: JsonObject) -> str:
    """Return an item's type; one that has none is a message."""
    return text(item.get("type")) or "message"


def is_said_by_model(item: JsonObject) -> bool:
    """Whether an item is what a response may go on with after reasoning.

    Outputs are a caller's, but for those of tools that the service ran itself: these it gives an
    id.
    """
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in _CALLERS or (kind in _RUN_BY_SERVICE and bool(text(item.get("id"))))


def call_ids(item: JsonObject) -> tuple[str, ...]:
    """Return the ids that an output may name a call by.

    Approvals go by the request's own id; a local shell's output names the call by `id`, which the
    documents tell to be either of the call's two.
    """
    match kind_of(item):
        case "mcp_approval_request":
            return (text(item.get("id")),)
        case "local_shell_call":
            return (text(item.get("call_id")), text(item.get("id")))
        case _:
            return (text(item.get("call_id")),)


def answered_id(item: JsonObject) -> str:
    """Return the id of the call that an output names; "" where the service keeps that to itself."""
    match kind_of(item):
        case "mcp_approval_response":
            return text(item.get("approval_request_id"))
        case "local_shell_call_output":
            return text(item.get("call_id")) or text(item.get("id"))
        case _:
            return text(item.get("call_id"))


def goes_on_from_storage(request: Mapping[str, Any]) -> bool:
    """Whether the service holds items that come before the input."""
    return bool(request.get("previous_response_id") or request.get("conversation"))
