"""The names of tools behind gateways, and what their elements are asked.

A gateway element stands for an MCP server (`mcpClient`) or an A2A agent (`a2aClient`). It is asked once
what it offers; a model then calls that by a name that says which element it goes through. The names,
payloads and errors are those of Camunda's agent connectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from onrecord.adapters.conversation.ingest import EngineInput, inputs_of
from onrecord.adapters.inputs.document_inputs import linked
from onrecord.adapters.tools.a2a import a2a_name, agent_card, parse_a2a_name
from onrecord.adapters.tools.mcp import document_in, document_of, mcp_listing
from onrecord.adapters.tools.tool import Toolset, Unfolded
from onrecord.domain import jsontext
from onrecord.domain.content import Text
from onrecord.domain.errors import InvalidContent, InvalidModel
from onrecord.domain.jsontext import JsonObject


@dataclass(frozen=True, slots=True)
class Activation:
    """Which element is to start, for which call, with which arguments."""

    id: str
    element: str
    arguments: Mapping[str, Any]

    def variable(self) -> JsonObject:
        """Return the variable `toolCall` of the element: its arguments, beside the call as `_meta`.

        So no parameter can have that name: from_ai.py refuses it. A model that gives one all the same
        does not replace it.
        """
        return {"_meta": {"id": self.id, "name": self.element}} | {
            name: value for name, value in self.arguments.items() if name != "_meta"
        }


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
class Gateway:
    """An element that stands for many tools, of an MCP server or an A2A agent, once it is asked.

    `type` is the model's word: `mcpClient`, `a2aClient`.
    """

    type: str
    name: str
    description: str | None


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
    match = _MCP_NAME.fullmatch(name)
    if match is None:
        raise InvalidContent(f"Failed to parse MCP tool call identifier from '{name}'")
    return McpName(*match.groups())


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


# What comes back through gateways: what servers and agents offer, and what they gave.
#
# An element that calls an MCP server gives the tool's own name, its blocks of content and whether
# it failed. Blocks are of Camunda's kinds (`text`, `blob`, `object`, `resource`, `resource_link`,
# `document`) or of the protocol's. A document in the store of an engine stays a reference: its
# bytes are there.


@dataclass(frozen=True, slots=True)
class Answers:
    """What gateways offer, to be declared by `conversation.tools.declare`; all else, for `conversation.ingest`."""

    discovered: tuple[Toolset, ...]
    inputs: tuple[EngineInput, ...]


def answers_of(inputs: object, gateways: Iterable[Gateway]) -> Answers:
    """Return the entries of a collection, with those of gateways as a model knows them.

    Results have the names that the model called; what an MCP server gave is told as texts and
    documents. InvalidContent as in `inputs_of`, and where an answer to a discovery lists nothing.
    """
    types = {gateway.name: gateway.type for gateway in gateways}
    discovered: list[Toolset] = []
    others: list[EngineInput] = []
    for entry in inputs_of(inputs):
        discovery = discovery_of(entry.id or "")
        if discovery is None:
            others.append(entry if entry.is_signal else _named(entry, types))
        else:
            discovered.append(_offered(discovery, entry.content))
    return Answers(tuple(discovered), tuple(others))


def _offered(discovery: Discovery, content: Any) -> Toolset:
    element = discovery.element
    try:
        if discovery.gateway == A2A_GATEWAY:
            return agent_card(content, element=element)
        return mcp_listing(_listed(content), server={"name": element}, prefix=mcp_name(element, ""))
    except InvalidContent as exc:
        raise InvalidContent(f"what '{element}' offers cannot be read: {exc}") from exc


def _listed(content: Any) -> Any:
    """Return what an element lists, which names it its own way; else it is the protocol's list."""
    match content:
        case {"toolDefinitions": listed}:
            return listed
        case _:
            return content


def _named(entry: EngineInput, types: Mapping[str, str]) -> EngineInput:
    element = entry.name or ""
    gateway = types.get(element)
    if gateway == A2A_GATEWAY:
        return replace(entry, name=a2a_name(element))
    return _of_server(entry, element) if gateway == MCP_GATEWAY else entry


def _of_server(entry: EngineInput, element: str) -> EngineInput:
    """Return what a tool of a server gave; an entry as it is where no server answered."""
    match entry.content:
        case {"name": str(tool), "content": [*_] | None as blocks, **others}:
            unfolded = [_text_or_document(block) for block in blocks or ()] or None
            content = Unfolded(unfolded, "/content", is_error=others.get("isError") is True)
            return replace(entry, name=mcp_name(element, tool), content=content)
        case _:
            return entry


def _text_or_document(block: Any) -> object:
    """Return a block as a text or a document; its JSON where it is neither."""
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "blob", "blob": str(data)} | {"type": "image" | "audio", "data": str(data)}:
            document: object = document_in(data, _media_type(block))
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)} as resource}:
            document = document_of(text, _media_type(resource), uri)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)} as resource}:
            document = document_in(data, _media_type(resource), uri)
        case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
            document = linked(uri, _media_type(block), name)
        case {"type": "object", "content": content}:
            return _json(content)
        case _:
            document = None
    return document or _json(block)


def _media_type(members: Mapping[str, Any]) -> str | None:
    media_type = members.get("mimeType")
    return media_type if isinstance(media_type, str) else None


def _json(value: object) -> Text:
    return Text(text=jsontext.write(value).decode())
