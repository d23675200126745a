"""The items of a request to OpenAI's Responses API: what calls, what answers, what ids begin with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.members import placed_objects, text
from onrecord.projections.apis.openai_responses.items import CALLS
from onrecord.projections.apis.openai_rules import (
    media_type_of,
    no_data_url,
    too_long,
    unread_file,
    unread_image,
)
from onrecord.projections.apis.rules import Found, Path

CALLED: Final = {
    "function_call": "function call",
    "custom_tool_call": "custom tool call",
    "computer_call": "computer call",
    "local_shell_call": "local shell call",
    "shell_call": "shell call",
    "apply_patch_call": "apply patch call",
}
"""Calls that are refused without their output, by the name that the service gives them."""

_CALLERS: Final = frozenset(
    {*CALLS, "item_reference", "additional_tools", "configuration_update", "compaction_trigger"}
)
"""What a caller says; all else is an answer's, kinds that are not yet known among it."""

_RUN_BY_SERVICE: Final = frozenset({"shell_call_output", "tool_search_output", "program_output"})
"""Outputs that an answer may hold itself: of hosted shells, hosted tool search and programs."""


def items_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return the items of the input, each with its place; none of an input that is a string."""
    return placed_objects(request.get("input"))


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


# OpenAI's rules of the parts of messages and outputs, in the Responses API.

_SAID: Final = ("output_text", "refusal")
_LONGEST: Final = {
    "output": 10_485_760,
    "encrypted_content": 20_971_520,
    "image_url": 20_971_520,
    "file_data": 73_400_320,
}
"""The most characters of a member, as OpenAI's OpenAPI document (2.3.0) has it."""
_REFUSED_MEDIA: Final = ("audio/", "video/")
_FILE: Final = "a valid file MIME type"


def misplaced_parts(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find parts of input that the assistant says, and parts of output that others say."""
    for path, item, part in _parts(request):
        kind = text(part.get("type"))
        is_said = kind in _SAID
        if kind_of(item) != "message" or not kind or is_said == (item.get("role") == "assistant"):
            continue
        fitting = "'input_text', 'input_image', and 'input_file'"
        supported = fitting if is_said else "'output_text' and 'refusal'"
        yield (*path, "type"), f"Invalid value: '{kind}'. Supported values are: {supported}."


def refused_media(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find images and files that are not read (recorded for a sound)."""
    for path, _, part in _parts(request):
        yield from unread_image((*path, "image_url"), part.get("image_url"))
        at, data = (*path, "file_data"), part.get("file_data")
        yield from no_data_url(at, data, _FILE)
        if (media_type_of(data) or "").startswith(_REFUSED_MEDIA):
            yield unread_file(at, data, _FILE)


def large_strings(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find outputs, images and files that are longer than the most that is taken."""
    held: list[tuple[Path, JsonObject]] = [
        *((("input", index), item) for index, item in items_of(request)),
        *((path, part) for path, _, part in _parts(request)),
    ]
    for path, members in held:
        for name, longest in _LONGEST.items():
            value = members.get(name)
            if isinstance(value, str) and len(value) > longest:
                at = (*path, name)
                yield at, too_long(at, len(value), longest)


def _parts(request: Mapping[str, Any]) -> Iterator[tuple[Path, JsonObject, JsonObject]]:
    """Yield each part of a message or an output: where it stands, its item, and itself."""
    for index, item in items_of(request):
        name = "content" if kind_of(item) == "message" else "output"
        for place, part in placed_objects(item.get(name)):
            yield ("input", index, name, place), item, part
