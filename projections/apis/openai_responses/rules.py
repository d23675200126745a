"""What OpenAI's Responses API refuses.

Not looked for, because a request alone cannot tell: items that were reasoned about before, sent
without their reasoning; ids and files that the service no longer holds; containers that have
expired; encrypted content of another account.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_responses.items import CALLS, PREFIXES
from onrecord.projections.apis.rules import (
    Found,
    Path,
    Rule,
    bracketed,
    malformed_name,
    media_type_of,
    no_data_url,
    repeated_tools,
    too_long,
    too_short,
    unread_file,
    unread_image,
)
from onrecord.projections.members import placed_objects, text

# The items of a request to OpenAI's Responses API: what calls, what answers, what ids begin with.

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
    places: list[tuple[Path, JsonObject]] = [
        *((("input", index), item) for index, item in items_of(request)),
        *((path, part) for path, _, part in _parts(request)),
    ]
    for path, members in places:
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


_LONGEST_ID: Final = 64


def reasoning_without_follower(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find reasoning that is not followed by what came of it.

    Recorded: reasoning with its id was refused before a message without one; before a call without
    one it was accepted.
    """
    items = items_of(request)
    for place, (index, item) in enumerate(items):
        if kind_of(item) != "reasoning" or not (item_id := text(item.get("id"))):
            continue
        follower = next((it for _, it in items[place + 1 :] if kind_of(it) != "reasoning"), None)
        if follower is None or not is_said_by_model(follower) or _is_anonymous_message(follower):
            message = (
                f"Item '{item_id}' of type 'reasoning' was provided without its required "
                "following item."
            )
            yield ("input", index), message


def _is_anonymous_message(item: JsonObject) -> bool:
    return kind_of(item) == "message" and not item.get("id")


def reasoning_not_stored(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find reasoning by id alone where nothing is stored (vercel/ai#7543)."""
    if request.get("store") is not False:
        return
    for index, item in items_of(request):
        if kind_of(item) == "reasoning" and not item.get("encrypted_content"):
            message = (
                f"Item with id '{text(item.get('id'))}' not found. Items are not persisted when "
                "`store` is set to false. Try again with `store` set to true, or remove this "
                "item from your input."
            )
            yield ("input", index), message


def unanswered_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls without an output after them (trae-agent#245)."""
    open_calls: list[tuple[int, JsonObject]] = []
    for index, item in items_of(request):
        kind = kind_of(item)
        if kind in CALLED and not item.get("async"):
            open_calls.append((index, item))
        if kind in CALLS:
            answered = answered_id(item)
            open_calls = [
                open_call for open_call in open_calls if answered not in call_ids(open_call[1])
            ]
    for index, item in open_calls:
        call = text(item.get("call_id"))
        yield ("input", index), f"No tool output found for {CALLED[kind_of(item)]} {call}."


_CALLS_LAST: Final = re.compile(r"(^|/)deepseek")
"""Names of models whose server wants calls right before their outputs."""


def words_before_outputs(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find what the assistant says between a call and its output, for DeepSeek's models (recorded)."""
    if not _CALLS_LAST.search(text(request.get("model")).lower()):
        return
    open_calls: list[str] = []
    for index, item in items_of(request):
        kind = kind_of(item)
        if kind in CALLED:
            open_calls.append(text(item.get("call_id")))
        elif kind in CALLS:
            open_calls = [call for call in open_calls if call != answered_id(item)]
        elif open_calls and kind == "message" and item.get("role") == "assistant":
            yield ("input", index), f"No tool output found for tool call {open_calls[0]}."


def outputs_without_call(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find outputs without a call of their own before them (continue#10092)."""
    if goes_on_from_storage(request):
        return
    called: dict[str, set[str]] = {}
    for index, item in items_of(request):
        kind = kind_of(item)
        called.setdefault(kind, set()).update(call_ids(item))
        if kind not in CALLS or not (call := answered_id(item)):
            continue
        if call not in called.get(CALLS[kind], ()):
            name = kind.replace("_", " ")
            yield ("input", index), f"No tool call found for {name} with call_id {call}."
        called.get(CALLS[kind], set[str]()).discard(call)


def wrong_prefixes(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find ids that do not begin with what stands for the type (codex#33176)."""
    for index, item in items_of(request):
        item_id, prefix = text(item.get("id")), PREFIXES.get(kind_of(item), "")
        if item_id and not item_id.startswith(prefix):
            path = ("input", index, "id")
            message = (
                f"Invalid '{bracketed(path)}': '{item_id}'. Expected an ID that begins with "
                f"'{prefix}'."
            )
            yield path, message


def long_ids(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find items whose id has more than 64 characters."""
    for index, item in items_of(request):
        item_id, path = text(item.get("id")), ("input", index, "id")
        if len(item_id) > _LONGEST_ID:
            yield path, too_long(path, len(item_id), _LONGEST_ID)


def bad_call_ids(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find ids of calls that have no character, or more than 64 (pi-cursor-sdk#237)."""
    for index, item in items_of(request):
        for name in ("call_id", "approval_request_id"):
            path, value = ("input", index, name), item.get(name)
            if isinstance(value, str) and len(value) > _LONGEST_ID:
                yield path, too_long(path, len(value), _LONGEST_ID)
            if value == "":
                yield path, too_short(path)


def repeated_items(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find items that stand in the input twice (vercel/ai#7883)."""
    seen: set[str] = set()
    for index, item in items_of(request):
        # The output of a local shell goes by the id of its call.
        item_id = "" if kind_of(item) == "local_shell_call_output" else text(item.get("id"))
        if item_id and item_id in seen:
            message = (
                f"Duplicate item found with id {item_id}. Remove duplicate items from your input "
                "and try again."
            )
            yield ("input", index, "id"), message
        seen.add(item_id)


def repeated_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find open calls that share a call_id (earendil-works/pi#9057)."""
    open_calls: set[str] = set()
    for index, item in items_of(request):
        kind, call = kind_of(item), text(item.get("call_id"))
        if kind in CALLED:
            if call in open_calls:
                yield ("input", index, "call_id"), f"Duplicate 'call_id': {call}"
            open_calls.add(call)
        if kind in CALLS:
            open_calls.discard(answered_id(item))


def two_histories(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a history that is named in two ways."""
    if request.get("previous_response_id") and request.get("conversation"):
        message = (
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation' cannot be "
            "used together."
        )
        yield ("previous_response_id",), message


def bad_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names of functions that have another form."""
    for index, item in items_of(request):
        if kind_of(item) in ("function_call", "custom_tool_call"):
            yield from malformed_name(("input", index, "name"), item.get("name"))
    for place, tool in placed_objects(request.get("tools")):
        if tool.get("type") in ("function", "custom"):
            yield from malformed_name(("tools", place, "name"), tool.get("name"))


def repeated_tool_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names that two tools have."""
    tools = placed_objects(request.get("tools"))
    yield from repeated_tools([(place, text(tool.get("name"))) for place, tool in tools])


def deferred_without_search(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find tools that are loaded late but cannot be searched for (pydantic-ai)."""
    tools = placed_objects(request.get("tools"))
    if any(tool.get("type") == "tool_search" for _, tool in tools):
        return
    for place, tool in tools:
        members = placed_objects(tool.get("tools")) if tool.get("type") == "namespace" else []
        deferred = [("tools", number) for number, value in members if value.get("defer_loading")]
        for path in [*([()] if tool.get("defer_loading") else []), *deferred]:
            yield (
                ("tools", place, *path, "defer_loading"),
                "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.",
            )


RULES: Final = (
    Rule(
        "O3",
        "send what followed it as it came, with its id, or leave the reasoning out with the ids",
        reasoning_without_follower,
    ),
    Rule(
        "O4",
        "send `encrypted_content` (include reasoning.encrypted_content), or leave it out",
        reasoning_not_stored,
    ),
    Rule("O1", "send an output for the call, after it", unanswered_calls),
    Rule("O17", "put the words before the calls", words_before_outputs),
    Rule("O2", "leave the output out, or put its call before it", outputs_without_call),
    Rule("O5", "leave `id` out where this API did not give it", wrong_prefixes),
    Rule("O5", "leave `id` out where this API did not give it", long_ids),
    Rule("O5", "send each item once", repeated_items),
    Rule("O6", "map the id, on both ends of the pair alike", bad_call_ids),
    Rule("O6", "give each call a call_id of its own", repeated_calls),
    Rule("storage", "name what came before in one way", two_histories),
    Rule("parts", "use the part's type that belongs to the role", misplaced_parts),
    Rule("files", "send it as a part that the API reads, or its text", refused_media),
    Rule("lengths", "shorten it, or send it as a file", large_strings),
    Rule("O7", "use letters, digits, _ and - only, at most 64 of them", bad_names),
    Rule("names", "give each tool a name of its own", repeated_tool_names),
    Rule("tools", "send the tool_search tool, or load all tools", deferred_without_search),
)
