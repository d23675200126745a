"""Which event records an item of OpenAI's Responses API, and who says it.

Kinds: the OpenAPI description of OpenAI's API, "ResponseOutputItem" and "ResponseInputItem". An
item of a kind that is not named here is opaque, and goes on as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias, cast

from onrecord.adapters.wire.blocks import BlockContext
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_responses.server_tools import name_of
from onrecord.projections.members import objects

Speaker: TypeAlias = Literal["user", "assistant", "system", "tool"]
"""Who says an item: the caller, the model, the operator, one of the caller's tools."""

_CALLS: Final = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
    }
)
_SERVER_CALLS: Final = frozenset(
    {
        "web_search_call",
        "x_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "tool_search_call",
        "program",
    }
)
_ANSWERED: Final = frozenset(
    {*_CALLS, *_SERVER_CALLS, "reasoning", "mcp_approval_request", "compaction", "item_reference"}
)
_OUTPUT: Final = "_output"


def event_of(block: BlockContext) -> Event:
    """Return the event of an item; one that lacks what its event needs is opaque.

    A call without an id is such an item: nobody could give its result. So is what the answer of a
    compaction repeats of the user: it is an item of that response, and no new prompt.
    """
    item = block.value
    call = call_id(item)
    match item:
        case {"role": "assistant"} if _is_message(item):
            return block.message()
        case {"type": "reasoning"}:
            return block.reasoning()
        case {"type": "compaction"}:
            return block.compaction()
        case _ if call is None:
            return block.opaque(item.get("type"))
        case _ if is_call(item, block.ran):
            return block.tool_call(call, _name(item))
        case {"type": str(kind)} if kind in _SERVER_CALLS or kind in _CALLS:
            return block.server_tool_call(call, name_of(item))
        case {"type": str(kind)} if kind.endswith(_OUTPUT):
            return block.server_tool_result(call)
        case _:
            return block.opaque(item.get("type"))


def is_call(item: JsonObject, ran: frozenset[str]) -> bool:
    """Whether an item is a call that the caller is to answer; `ran` are those that it is not."""
    kind, call = _kind(item), call_id(item)
    if call is None or call in ran:
        return False
    if kind == "tool_search_call":
        return item.get("execution") == "client"
    if kind == "shell_call":
        return not _in_a_container(item)
    return kind in _CALLS or kind == "mcp_approval_request"


def ran_by_provider(items: Iterable[JsonObject], tools: object) -> frozenset[str]:
    """Return the ids of calls that the provider ran, by the items of an answer and its tools.

    Their outputs stand in the same answer: nobody else gave them. xAI shows the calls of its own
    search on X as custom ones, without outputs; no tool of the caller's has their name.
    """
    defined = objects(tools)
    searches = any(tool.get("type") == "x_search" for tool in defined)
    own = [tool.get("name") for tool in defined if tool.get("type") == "custom"]
    ids = [
        call_id(item)
        for item in items
        if _is_output(item)
        or (searches and item.get("type") == "custom_tool_call" and item.get("name") not in own)
    ]
    return frozenset(call for call in ids if call is not None)


def call_id(item: JsonObject) -> str | None:
    """Return the id of the call that an item makes or answers, None where it has none.

    That of an item of the provider's own tools is its own id. So is that of a request for approval,
    which its answer names; and an output of the local shell has nothing but the id of its call.
    """
    ids = (item.get(name) for name in _id_names(item))
    return next((call for call in ids if isinstance(call, str) and call), None)


def speaker(item: JsonObject, *, after: Speaker, ran: frozenset[str]) -> Speaker:
    """Return who says an item of a request; what is not known is said by who spoke before.

    `ran` are the calls that the provider ran: their outputs are its own.
    """
    role = item.get("role")
    if _is_message(item) or (role is not None and "id" not in item):
        return _by_role(role)
    if _kind(item) in _ANSWERED or _is_of_provider(item, ran):
        return "assistant"
    if (_is_output(item) or item.get("type") == "mcp_approval_response") and call_id(item):
        return "tool"
    return "assistant" if after == "assistant" or role is not None else "user"


def run_in_containers(items: Iterable[JsonObject]) -> frozenset[str]:
    """Return the ids of shell calls that the provider ran in a container of its own."""
    calls = (call_id(item) for item in items if _in_a_container(item))
    return frozenset(call for call in calls if call is not None)


def is_leading(item: JsonObject) -> bool:
    """Whether an item that stands before all others is part of the instructions."""
    return _is_message(item) and item.get("role") in ("system", "developer")


def _kind(item: JsonObject) -> str:
    """Return the type of an item, empty where it is none: a program may send anything."""
    kind = item.get("type")
    return kind if isinstance(kind, str) else ""


def _id_names(item: JsonObject) -> tuple[str, ...]:
    kind = _kind(item)
    if kind == "mcp_approval_response":
        return ("approval_request_id",)
    if kind == "mcp_approval_request":
        return ("id",)
    if kind in _CALLS or (kind == "tool_search_call" and item.get("execution") == "client"):
        return ("call_id",)
    return ("call_id", "id")


def _is_of_provider(item: JsonObject, ran: frozenset[str]) -> bool:
    kind = item.get("type")
    if kind == "program_output":
        return True
    if kind == "tool_search_output":
        return item.get("execution") == "server"
    return _is_output(item) and call_id(item) in ran


def _by_role(role: object) -> Speaker:
    match role:
        case "assistant":
            return "assistant"
        case "system" | "developer":
            return "system"
        case _:
            return "user"


def _is_message(item: JsonObject) -> bool:
    """Whether an item is a message; the short form of one has no type."""
    return bool(item.get("type", "message") == "message")


def _is_output(item: JsonObject) -> bool:
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith(_OUTPUT)


def _in_a_container(item: JsonObject) -> bool:
    """Whether a shell call runs at the provider; its environment is a container's then."""
    environment: Any = item.get("environment")
    if item.get("type") != "shell_call" or not isinstance(environment, dict):
        return False
    kind = cast("JsonObject", environment).get("type")
    return isinstance(kind, str) and kind.startswith("container")


def _name(item: JsonObject) -> str:
    name, kind = item.get("name"), item.get("type")
    if isinstance(name, str) and name:
        return name
    return kind.removesuffix("_call") if isinstance(kind, str) else ""
