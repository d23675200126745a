"""What Ollama's chat API refuses: next to nothing, for it hands what it is given to a template.

Source: Ollama's `api/types.go` and `server/routes.go`. Not looked for, because a request alone
cannot tell: what the model's template can read, and whether it thinks.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.projections.apis.rules import Found, Rule
from onrecord.projections.members import list_of, member, placed_objects

_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})


def no_messages(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a request that says nothing: the server would load the model, and answer nothing."""
    if not request.get("messages"):
        yield (), "messages must not be empty"


def unknown_roles(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages that no template tells."""
    for index, message in placed_objects(request.get("messages")):
        if message.get("role") not in _ROLES:
            path = ("messages", index, "role")
            yield path, f"invalid role: {message.get('role')}"


def arguments_in_text(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls whose arguments are a text, as other APIs have them."""
    for index, message in placed_objects(request.get("messages")):
        for place, call in placed_objects(message.get("tool_calls")):
            value = member(call.get("function"), "arguments")
            if value is not None and not isinstance(value, dict):
                path = ("messages", index, "tool_calls", place, "function", "arguments")
                of_go = "ChatRequest.messages.tool_calls.function.arguments of type "
                words = f"json: cannot unmarshal {json_kind(value)} into Go struct field {of_go}"
                yield path, f"{words}api.ToolCallFunctionArguments"


def json_kind(value: object) -> str:
    """Return what Go calls a kind of JSON."""
    match value:
        case str():
            return "string"
        case bool():
            return "bool"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "number"


def images_not_base64(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find pictures that are no standard base64: an address, or a path."""
    for index, message in placed_objects(request.get("messages")):
        images: Any = message.get("images")
        for place, image in enumerate(list_of(images)):
            if not _is_base64(image):
                yield ("messages", index, "images", place), "illegal base64 data at input byte 0"


def _is_base64(image: object) -> bool:
    if not isinstance(image, str):
        return False
    try:
        b64decode(image, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


RULES: Final = (
    Rule("messages", "say something first", no_messages),
    Rule("roles", "use system, user, assistant or tool", unknown_roles),
    Rule("L5", "give the arguments as an object", arguments_in_text),
    Rule("L3", "give the picture's bytes in base64, without `data:`", images_not_base64),
)
