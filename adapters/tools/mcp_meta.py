"""What of a context an MCP server is told: the `_meta` of a call, by a filter; nothing by default.

Which names are reserved: MCP, "Basic / General fields / `_meta`" (2025-11-25, 2026-07-28).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from onrecord.adapters.conversation.arguments import kind_of, text_given
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext

MetaFilter: TypeAlias = Callable[[ToolCallContext], Mapping[str, Any]]
"""Says what of a context a server is told."""

_RESERVED: Final = frozenset(
    {"baggage", "progressToken", "progress_token", "traceparent", "tracestate"}
)
"""Names of the protocol's own; `progress_token` is how the `mcp` SDK spells one."""

_OF_THE_PROTOCOL: Final = frozenset({"mcp", "modelcontextprotocol"})


def allow(*names: str) -> MetaFilter:
    """Return a filter that tells a server these names of a context, and no others."""
    allowed = frozenset(_not_reserved(text_given("a name to allow", name)) for name in names)
    return lambda context: {name: value for name, value in context.items() if name in allowed}


def deny(*names: str) -> MetaFilter:
    """Return a filter that tells a server all names of a context but these."""
    denied = frozenset(text_given("a name to deny", name) for name in names)
    return lambda context: {name: value for name, value in context.items() if name not in denied}


NOTHING: Final[MetaFilter] = allow()
"""Tells a server nothing."""


def meta_of(context: ToolCallContext, told: MetaFilter) -> JsonObject | None:
    """Return the `_meta` of a call: None where the context is empty, else what the filter tells.

    That may be an empty object. InvalidContent, with names and without values, for what is
    reserved by the protocol and for what is no JSON.
    """
    if not context:
        return None
    filtered = cast("object", told(context))
    if not isinstance(filtered, Mapping):
        raise InvalidContent(f"a filter of `_meta` gives a mapping, not {kind_of(filtered)}")
    meta: JsonObject = {}
    for name, value in cast("Mapping[object, object]", filtered).items():
        meta[_not_reserved(text_given("a name in `_meta`", name))] = _json(str(name), value)
    return meta


def _not_reserved(name: str) -> str:
    prefix, slash, _ = name.rpartition("/")
    labels = prefix.split(".")
    if name in _RESERVED or (slash and len(labels) > 1 and labels[1] in _OF_THE_PROTOCOL):
        raise InvalidContent(
            f"{name!r} is reserved by MCP: name it otherwise in the context, such as "
            f"'com.example/{name.rpartition('/')[2]}'"
        )
    return name


def _json(name: str, value: object) -> Any:
    try:
        return jsontext.read(jsontext.write(value))
    except MalformedJson:
        # The cause would show the value.
        raise InvalidContent(
            f"{name!r} is no JSON but {kind_of(value)}, and so cannot be told to a server"
        ) from None
