"""The types of what Ollama's server reads of a chat: its SDK knows neither ids of calls nor results.

Source: Ollama's `api/types.go`, `ChatRequest` and `Message`. As with the server, other members are
not looked at, and null is as if it were not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict

from onrecord.adapters.mismatch import Mismatch, ParameterTypes
from onrecord.projections.apis.ollama.rules import json_kind

_SOURCE: Final = "ollama api/types.go"
_GO: Final[Mapping[str, str]] = {
    "string_type": "string",
    "bool_type": "bool",
    "int_type": "int",
    "messages.images": "[]api.ImageData",
    "messages.tool_calls": "[]api.ToolCall",
    "messages.tool_calls.function": "api.ToolCallFunction",
    "messages": "[]api.Message",
    "options": "map[string]interface {}",
    "tools": "api.Tools",
}
"""What Go calls the type at a place, or one that pydantic has this reason to miss."""


class _Function(TypedDict, total=False):
    name: str | None
    arguments: Any


class _Call(TypedDict, total=False):
    id: str | None
    function: _Function | None


class _Message(TypedDict, total=False):
    role: str | None
    content: str | None
    thinking: str | None
    images: list[Any] | None
    tool_calls: list[_Call] | None
    tool_name: str | None
    tool_call_id: str | None


class _Chat(TypedDict, total=False):
    model: str | None
    messages: list[_Message] | None
    tools: list[dict[str, Any]] | None
    options: dict[str, Any] | None
    stream: bool | None
    truncate: bool | None
    shift: bool | None
    logprobs: bool | None
    top_logprobs: int | None


_CHAT: Final = TypeAdapter(_Chat)


def ollama_types() -> ParameterTypes:
    """Return the types of a request."""
    return ParameterTypes(_SOURCE, _mismatches)


def _mismatches(request: bytes) -> tuple[Mismatch, ...]:
    try:
        _CHAT.validate_json(request, strict=True)
    except ValidationError as exc:
        return tuple(_mismatch(error) for error in exc.errors(include_url=False))
    return ()


def _mismatch(error: ErrorDetails) -> Mismatch:
    path, given = error["loc"], error["input"]
    place = ".".join(step for step in path if isinstance(step, str))
    of_go = _GO.get(place) or _GO.get(error["type"], "api.Message")
    field = f"Go struct field ChatRequest.{place} of type {of_go}"
    said = f"json: cannot unmarshal {json_kind(given)} into {field}"
    return Mismatch(path, error["type"], said, None, given)
