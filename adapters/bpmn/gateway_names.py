"""The names of tools behind gateways, and what their elements are asked.

A gateway element stands for an MCP server (`mcpClient`) or an A2A agent (`a2aClient`). It is asked once
what it offers; a model then calls that by a name that says which element it goes through. The names,
payloads and errors are those of Camunda's agent connectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from onrecord.adapters.bpmn.activation import Activation
from onrecord.adapters.tools.a2a import parse_a2a_name
from onrecord.domain.errors import InvalidContent, InvalidModel

MCP_GATEWAY: Final = "mcpClient"
A2A_GATEWAY: Final = "a2aClient"
INVALID_IDS: Final = "MCP_GATEWAY_INVALID_TOOL_DEFINITIONS"

_SEPARATOR: Final = "___"
_MCP: Final = "MCP_"
_MCP_NAME: Final = re.compile(rf"{_MCP}(\S+?){_SEPARATOR}(\S+)")
_MCP_DISCOVERY: Final = "MCP_toolsList_"
_A2A_DISCOVERY: Final = "A2A_fetchAgentCard_"
_DISCOVERIES: Final = ((MCP_GATEWAY, _MCP_DISCOVERY), (A2A_GATEWAY, _A2A_DISCOVERY))


@dataclass(frozen=True, slots=True)
class McpName:
    """A tool of an MCP server, and the element that it is called through."""

    element: str
    tool: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """The question what an element offers; `gateway` is the element's type, as the model says it."""

    gateway: str
    element: str


def mcp_name(element: str, tool: str) -> str:
    """Return the name by which a model calls a tool of the server behind an element."""
    return f"{_MCP}{element}{_SEPARATOR}{tool}"


def parse_mcp_name(name: str) -> McpName:
    """Return what a name says; InvalidContent for what is none. The element ends at the first `___`."""
    found = _MCP_NAME.fullmatch(name)
    if found is None:
        raise InvalidContent(f"Failed to parse MCP tool call identifier from '{name}'")
    return McpName(*found.groups())


def check_mcp_elements(elements: Iterable[str]) -> None:
    """Raise InvalidModel, with the code `INVALID_IDS`, for ids that names would not be parsed to.

    Those that end with `_` are among them: it would be taken for the separator's first.
    """
    unfit = [f"'{element}'" for element in elements if not _is_told_apart(element)]
    if unfit:
        raise InvalidModel(
            f"Invalid MCP client activity ID(s) detected: [{', '.join(unfit)}]. Activity IDs must "
            f"not contain the reserved separator '{_SEPARATOR}'. Please rename the affected "
            "activities in the BPMN model.",
            INVALID_IDS,
        )


def _is_told_apart(element: str) -> bool:
    return _SEPARATOR not in element and not element.endswith("_")


def mcp_discovery(element: str) -> Activation:
    """Return what asks a server for its tools; the answer comes back under the same id."""
    return Activation(f"{_MCP_DISCOVERY}{element}", element, {"method": "tools/list"})


def mcp_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> Activation:
    """Return what calls a tool of a server, of a call that a model made by its name."""
    parsed = parse_mcp_name(name)
    params = {"name": parsed.tool, "arguments": dict(arguments)}
    return Activation(call_id, parsed.element, {"method": "tools/call", "params": params})


def a2a_discovery(element: str) -> Activation:
    """Return what asks an agent for its card; the answer comes back under the same id."""
    return Activation(f"{_A2A_DISCOVERY}{element}", element, {"operation": "fetchAgentCard"})


def a2a_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> Activation:
    """Return what sends an agent a message, of a call that a model made by its name."""
    sent = {"operation": "sendMessage", "params": dict(arguments)}
    return Activation(call_id, parse_a2a_name(name), sent)


def discovery_of(call_id: str) -> Discovery | None:
    """Return which discovery a result's id answers; None for the id of any other call."""
    for gateway, prefix in _DISCOVERIES:
        if call_id.startswith(prefix) and call_id != prefix:
            return Discovery(gateway, call_id.removeprefix(prefix))
    return None
