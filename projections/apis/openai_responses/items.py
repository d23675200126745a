"""The items of OpenAI's Responses API: which answers which, and what their ids are.

Types and members: openai 3.52.0, `ResponseInputItemParam`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_responses.read import parts

OUTPUTS: Final[Mapping[str, str]] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "mcp_approval_request": "mcp_approval_response",
    "tool_search_call": "tool_search_output",
    "program": "program_output",
}
"""Items that are answered by another one, and by which."""

CALLS: Final[Mapping[str, str]] = {output: call for call, output in OUTPUTS.items()}
"""Items that answer, and what they do."""

PREFIXES: Final[Mapping[str, str]] = {
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

_LONGEST: Final = 64
_WITHOUT_ID: Final = frozenset(
    {
        *("function_call", "custom_tool_call", "shell_call", "apply_patch_call"),
        *("tool_search_call", "tool_search_output", "function_call_output"),
        *("custom_tool_call_output", "shell_call_output", "apply_patch_call_output"),
        *("computer_call_output", "mcp_approval_response", "additional_tools"),
        *("compaction", "configuration_update"),
    }
)
"""Items that may go without an id."""


def kind_of(value: JsonObject) -> str:
    """Return an item's type; one that has none is a message."""
    kind = value.get("type", "message")
    return kind if isinstance(kind, str) else ""


def has_fitting_id(value: JsonObject) -> bool:
    """Whether an item has no id, or one that the service may have given it.

    "Invalid 'input[371].id': '...'. Expected an ID that begins with 'msg'.", and at most 64
    characters. The output of a local shell names its call there.
    """
    item_id, kind = value.get("id"), kind_of(value)
    if item_id is None or kind == "local_shell_call_output":
        return True
    fits = isinstance(item_id, str) and 0 < len(item_id) <= _LONGEST
    return fits and str(item_id).startswith(PREFIXES.get(kind, ""))


def without_id(value: JsonObject) -> JsonObject | None:
    """Return an item as it goes without its id; None for one that has to have it.

    A message of the assistant's without id is its role and its text; its phase stays.
    """
    if value.get("id") is None:
        return value
    if kind_of(value) == "message" and value.get("role") == "assistant":
        return as_plain_message(value)
    if kind_of(value) not in _WITHOUT_ID and kind_of(value) != "message":
        return None
    return {key: item for key, item in value.items() if key != "id"}


def as_plain_message(value: JsonObject) -> JsonObject:
    """Return an assistant's message without id: role, text and phase."""
    texts = "".join(getattr(part, "text", "") for part in parts(value.get("content")))
    plain: JsonObject = {"role": "assistant", "content": texts}
    return {**plain, "phase": value["phase"]} if value.get("phase") is not None else plain


def id_of(value: JsonObject) -> str | None:
    """Return an item's id; None for one that has none."""
    return _text(value.get("id"))


def link_of(value: JsonObject) -> str | None:
    """Return the id by which a call and its answer name each other; None where neither does."""
    match kind_of(value):
        case "mcp_approval_request":
            return id_of(value)
        case "mcp_approval_response":
            return _text(value.get("approval_request_id"))
        case "local_shell_call_output":
            return _text(value.get("call_id", value.get("id")))
        case _:
            return _text(value.get("call_id"))


def with_link(value: JsonObject, link: str | None) -> JsonObject:
    """Return an answer under the id that its call has."""
    if link_of(value) == link:
        return value
    match kind_of(value):
        case "mcp_approval_response":
            return {**value, "approval_request_id": link}
        case "local_shell_call_output":
            return {**value, ("call_id" if "call_id" in value else "id"): link}
        case _:
            return {**value, "call_id": link}


def caller_of(value: JsonObject) -> str | None:
    """Return the id of the program that made a call, if one did."""
    caller = value.get("caller")
    return _text(cast("JsonObject", caller).get("caller_id")) if isinstance(caller, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
