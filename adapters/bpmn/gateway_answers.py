"""What comes back through gateways: what servers and agents offer, and what they gave.

An element that calls an MCP server gives the tool's own name, its blocks of content and whether it
failed. Blocks are of Camunda's kinds (`text`, `blob`, `object`, `resource`, `resource_link`,
`document`) or of the protocol's. A document in the store of an engine stays a reference: its bytes
are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from onrecord.adapters.bpmn.gateway_names import (
    A2A_GATEWAY,
    MCP_GATEWAY,
    Discovery,
    discovery_of,
    mcp_name,
)
from onrecord.adapters.bpmn.inputs import Given, inputs_of
from onrecord.adapters.bpmn.tools import Gateway
from onrecord.adapters.conversation.documents import linked
from onrecord.adapters.tools.a2a import a2a_name, agent_card
from onrecord.adapters.tools.mcp import mcp_listing
from onrecord.adapters.tools.mcp_results import document_in, document_of
from onrecord.adapters.tools.tool import Toolset
from onrecord.adapters.tools.unfolded import Unfolded
from onrecord.domain import jsontext
from onrecord.domain.content import Text
from onrecord.domain.errors import InvalidContent


@dataclass(frozen=True, slots=True)
class Answers:
    """What gateways offer, to be declared by `talk.tools`; all else, for `talk.take`."""

    discovered: tuple[Toolset, ...]
    inputs: tuple[Given, ...]


def answers_of(inputs: object, gateways: Iterable[Gateway]) -> Answers:
    """Return the entries of a collection, with those of gateways as a model knows them.

    Results have the names that the model called; what an MCP server gave is told as texts and
    documents. InvalidContent as in `inputs_of`, and where an answer to a discovery lists nothing.
    """
    types = {gateway.name: gateway.type for gateway in gateways}
    discovered: list[Toolset] = []
    others: list[Given] = []
    for given in inputs_of(inputs):
        discovery = discovery_of(given.id or "")
        if discovery is None:
            others.append(given if given.is_signal else _named(given, types))
        else:
            discovered.append(_offered(discovery, given.content))
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


def _named(given: Given, types: Mapping[str, str]) -> Given:
    element = given.name or ""
    gateway = types.get(element)
    if gateway == A2A_GATEWAY:
        return replace(given, name=a2a_name(element))
    return _of_server(given, element) if gateway == MCP_GATEWAY else given


def _of_server(given: Given, element: str) -> Given:
    """Return what a tool of a server gave; an entry as it is where no server answered."""
    match given.content:
        case {"name": str(tool), "content": [*_] | None as blocks, **others}:
            said = [_told(block) for block in blocks or ()] or None
            content = Unfolded(said, "/content", is_error=others.get("isError") is True)
            return replace(given, name=mcp_name(element, tool), content=content)
        case _:
            return given


def _told(block: Any) -> object:
    """Return a block as a text or a document; its JSON where it is neither."""
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "blob", "blob": str(data)} | {"type": "image" | "audio", "data": str(data)}:
            found: object = document_in(data, _media_type(block))
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)} as resource}:
            found = document_of(text, _media_type(resource), uri)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)} as resource}:
            found = document_in(data, _media_type(resource), uri)
        case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
            found = linked(uri, _media_type(block), name)
        case {"type": "object", "content": content}:
            return _json(content)
        case _:
            found = None
    return found or _json(block)


def _media_type(said: Mapping[str, Any]) -> str | None:
    media_type = said.get("mimeType")
    return media_type if isinstance(media_type, str) else None


def _json(value: object) -> Text:
    return Text(text=jsontext.write(value).decode())
