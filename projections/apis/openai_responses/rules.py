"""What OpenAI's Responses API refuses.

Not looked for, because a request alone cannot tell: items that were reasoned about before, sent
without their reasoning; ids and files that the service no longer holds; containers that have
expired; encrypted content of another account.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.members import placed_objects, text
from onrecord.projections.apis.openai_responses.content_rules import (
    CALLED,
    answered_id,
    call_ids,
    goes_on_from_storage,
    is_said_by_model,
    items_of,
    kind_of,
    large_strings,
    misplaced_parts,
    refused_media,
)
from onrecord.projections.apis.openai_responses.items import CALLS, PREFIXES
from onrecord.projections.apis.openai_rules import (
    malformed_name,
    repeated_tools,
    too_long,
    too_short,
)
from onrecord.projections.apis.rules import Found, Rule, bracketed

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
            yield (
                ("input", index),
                (
                    f"Item '{item_id}' of type 'reasoning' was provided without its required "
                    "following item."
                ),
            )


def _is_anonymous_message(item: JsonObject) -> bool:
    return kind_of(item) == "message" and not item.get("id")


def reasoning_not_stored(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find reasoning by id alone where nothing is stored (vercel/ai#7543)."""
    if request.get("store") is not False:
        return
    for index, item in items_of(request):
        if kind_of(item) == "reasoning" and not item.get("encrypted_content"):
            yield (
                ("input", index),
                (
                    f"Item with id '{text(item.get('id'))}' not found. Items are not persisted when "
                    "`store` is set to false. Try again with `store` set to true, or remove this "
                    "item from your input."
                ),
            )


def unanswered_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls without an output after them (trae-agent#245)."""
    open_calls: list[tuple[int, JsonObject]] = []
    for index, item in items_of(request):
        kind = kind_of(item)
        if kind in CALLED and not item.get("async"):
            open_calls.append((index, item))
        if kind in CALLS:
            answered = answered_id(item)
            open_calls = [held for held in open_calls if answered not in call_ids(held[1])]
    for index, item in open_calls:
        call = text(item.get("call_id"))
        yield ("input", index), f"No tool output found for {CALLED[kind_of(item)]} {call}."


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
            yield (
                path,
                (
                    f"Invalid '{bracketed(path)}': '{item_id}'. Expected an ID that begins with "
                    f"'{prefix}'."
                ),
            )


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
            path, given = ("input", index, name), item.get(name)
            if isinstance(given, str) and len(given) > _LONGEST_ID:
                yield path, too_long(path, len(given), _LONGEST_ID)
            if given == "":
                yield path, too_short(path)


def repeated_items(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find items that stand in the input twice (vercel/ai#7883)."""
    seen: set[str] = set()
    for index, item in items_of(request):
        # The output of a local shell goes by the id of its call.
        item_id = "" if kind_of(item) == "local_shell_call_output" else text(item.get("id"))
        if item_id and item_id in seen:
            yield (
                ("input", index, "id"),
                (
                    f"Duplicate item found with id {item_id}. Remove duplicate items from your input "
                    "and try again."
                ),
            )
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
        yield (
            ("previous_response_id",),
            (
                "Mutually exclusive parameters: 'previous_response_id' and 'conversation' cannot be "
                "used together."
            ),
        )


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
        deferred = [("tools", number) for number, held in members if held.get("defer_loading")]
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
