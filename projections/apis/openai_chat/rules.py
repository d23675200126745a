"""What OpenAI's Chat Completions API refuses, and the compatible servers that say so.

Not looked for, because a request alone cannot tell: audio that has expired, and reasoning that
DeepSeek wants back (whether it does has changed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.draft import Reader
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
from onrecord.projections.members import member, placed_objects, text

# The messages of a request to Chat Completions, their calls, and whom it is for.


def messages_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return the messages, each with its place."""
    return placed_objects(request.get("messages"))


def calls_of(message: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the calls of a message, each with its place."""
    return placed_objects(message.get("tool_calls"))


def is_for_openai(request: Mapping[str, Any]) -> bool:
    """Whether a request is for a model of OpenAI's, as far as its name tells."""
    model = text(request.get("model"))
    return not model or Reader(model).is_openai


def is_for_mistral(request: Mapping[str, Any]) -> bool:
    """Whether a request is for a model of Mistral's, as far as its name tells."""
    return Reader(text(request.get("model"))).is_mistral


def empty_array(name: str) -> str:
    """Return what the service says of a list that has to hold something."""
    return (
        f"Invalid '{name}': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    )


# The rules of Chat Completions for calls and their results, and for ids.

_LONGEST_ID: Final = 40


def unanswered_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls without a result before something else is said (cai#111)."""
    messages = messages_of(request)
    for place, (index, message) in enumerate(messages):
        calls = [text(call.get("id")) for _, call in calls_of(message)]
        answered: set[str] = set()
        for _, later in messages[place + 1 :]:
            if later.get("role") != "tool":
                break
            answered.add(text(later.get("tool_call_id")))
        if missing := [call for call in calls if call not in answered]:
            words = (
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(missing)}"
            )
            yield ("messages", index, "tool_calls"), words


def results_without_call(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find results that do not follow the message that called them (promptflow#3130)."""
    called: set[str] | None = None
    for index, message in messages_of(request):
        if message.get("role") != "tool":
            calls = calls_of(message)
            called = {text(call.get("id")) for _, call in calls} if calls else None
            continue
        call = text(message.get("tool_call_id"))
        if called is None:
            words = (
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
                "message with 'tool_calls'."
            )
            yield ("messages", index), words
        elif call not in called:
            words = (
                f"Invalid parameter: 'tool_call_id' of '{call}' not found in 'tool_calls' of "
                "previous message."
            )
            yield ("messages", index, "tool_call_id"), words


def repeated_results(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls with two results (opencode#1211)."""
    answered: dict[str, int] = {}
    for index, message in messages_of(request):
        if message.get("role") != "tool":
            answered = {}
            continue
        call = text(message.get("tool_call_id"))
        if call in answered:
            words = (
                f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call}', in "
                f"messages[{answered[call]}] and messages[{index}]."
            )
            yield ("messages", index, "tool_call_id"), words
        answered[call] = index


def repeated_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls of one message that share an id (openclaw#47136)."""
    for index, message in messages_of(request):
        seen: set[str] = set()
        for place, call in calls_of(message):
            call_id = text(call.get("id"))
            if call_id in seen:
                path = ("messages", index, "tool_calls", place, "id")
                yield path, f"Invalid '{bracketed(path)}': duplicate tool_call_id '{call_id}'."
            seen.add(call_id)


def bad_ids(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find ids of other than 1 to 40 characters (vercel/ai#8132).

    Some deployments take 64 (9router#3167). Mistral wants nine of its own (magentic#276), and
    others take the ids that they gave.
    """
    is_mistral = is_for_mistral(request)
    is_openai = is_for_openai(request)
    for path, call_id in _ids(request):
        if is_mistral and not re.fullmatch("[a-zA-Z0-9]{9}", call_id):
            yield (
                path,
                f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9.",
            )
        elif is_openai and len(call_id) > _LONGEST_ID:
            yield path, too_long(path, len(call_id), _LONGEST_ID)
        elif not call_id:
            yield path, too_short(path)


def _ids(request: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for index, message in messages_of(request):
        for place, call in calls_of(message):
            yield ("messages", index, "tool_calls", place, "id"), text(call.get("id"))
        if message.get("role") == "tool":
            yield ("messages", index, "tool_call_id"), text(message.get("tool_call_id"))


def no_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find empty lists of calls; Mistral takes them (recorded)."""
    if is_for_mistral(request):
        return
    for index, message in messages_of(request):
        if message.get("tool_calls") == []:
            path = ("messages", index, "tool_calls")
            yield path, empty_array(bracketed(path))


# The rules of Chat Completions for what a message holds, and who may say it.

_DEAF: Final = re.compile(r"^(gpt-|o\d)(?!.*audio)")
_NO_SYSTEM: Final = re.compile(r"^o1-(mini|preview)")
_PDF: Final = "an application/pdf MIME type"
_NAME: Final = r"^[^\s<|\\/>]+$"


def no_messages(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a request that says nothing."""
    if not request.get("messages"):
        yield ("messages",), empty_array("messages")


def no_content(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages without content, unless they call, refuse or speak aloud instead.

    Mistral takes an empty list beside calls (recorded).
    """
    for index, message in messages_of(request):
        path: Path = ("messages", index, "content")
        content = message.get("content")
        if content == [] and not (message.get("tool_calls") and is_for_mistral(request)):
            yield path, empty_array(bracketed(path))
        if content is None and not _says_otherwise(message):
            yield path, "Invalid value for 'content': expected a string, got null."


def _says_otherwise(message: JsonObject) -> bool:
    others = ("tool_calls", "function_call", "refusal", "audio")
    return message.get("role") == "assistant" and any(message.get(name) for name in others)


def bad_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names of functions, tools and speakers that have another form."""
    for index, message in messages_of(request):
        for place, call in calls_of(message):
            # Some servers give a call of a function an empty `custom` beside it.
            kind = "custom" if "custom" in call and call.get("type") != "function" else "function"
            path = ("messages", index, "tool_calls", place, kind, "name")
            yield from malformed_name(path, member(call.get(kind), "name"))
        name = text(message.get("name"))
        if name and message.get("role") != "tool" and not re.fullmatch(_NAME, name):
            at = ("messages", index, "name")
            words = (
                f"Invalid '{bracketed(at)}': string does not match pattern. Expected a string "
                f"that matches the pattern '{_NAME}'."
            )
            yield at, words
    for place, tool in placed_objects(request.get("tools")):
        kind = text(tool.get("type"))
        yield from malformed_name(("tools", place, kind, "name"), member(tool.get(kind), "name"))


def repeated_tool_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names that two tools have."""
    tools = placed_objects(request.get("tools"))
    yield from repeated_tools(
        [(place, text(member(tool.get(text(tool.get("type"))), "name"))) for place, tool in tools]
    )


def refused_roles(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find instructions to models that take none (recorded with o1-mini)."""
    if not _NO_SYSTEM.search(text(request.get("model"))):
        return
    for index, message in messages_of(request):
        if (role := message.get("role")) in ("system", "developer"):
            path = ("messages", index, "role")
            words = (
                f"Unsupported value: '{bracketed(path)}' does not support '{role}' with this model."
            )
            yield path, words


def unheard_audio(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find audio for a model of OpenAI's that has no `audio` in its name (recorded)."""
    if not _DEAF.search(text(request.get("model"))):
        return
    for index, message in messages_of(request):
        for place, part in placed_objects(message.get("content")):
            if part.get("type") == "input_audio":
                words = (
                    f"Invalid 'messages[{index}]'. Content blocks are expected to be either text "
                    "or image_url type."
                )
                yield ("messages", index, "content", place), words


def refused_media(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find images and files that OpenAI's own models do not read."""
    if not is_for_openai(request):
        return
    for index, message in messages_of(request):
        for place, part in placed_objects(message.get("content")):
            path: Path = ("messages", index, "content", place)
            yield from unread_image((*path, "image_url"), member(part.get("image_url"), "url"))
            at, data = (*path, "file", "file_data"), member(part.get("file"), "file_data")
            yield from no_data_url(at, data, _PDF)
            if media_type_of(data) not in (None, "application/pdf"):
                yield unread_file(at, data, _PDF)


RULES: Final = (
    Rule("messages", "say something first", no_messages),
    Rule(
        "C1", "put a result for each call right after the message that made them", unanswered_calls
    ),
    Rule(
        "C2",
        "leave the result out, or put it right after the message that called it",
        results_without_call,
    ),
    Rule("C2", "keep one of the results", repeated_results),
    Rule("C5", "give each call an id of its own, and its result the same", repeated_calls),
    Rule("C5", "map the id, on both ends of the pair alike", bad_ids),
    Rule("C4", "leave the message out, or say something", no_content),
    Rule("C4", "leave `tool_calls` out where nothing is called", no_calls),
    Rule("names", "use letters, digits, _ and - only, at most 64 of them", bad_names),
    Rule("names", "give each tool a name of its own", repeated_tool_names),
    Rule("C6", "say it as the user", refused_roles),
    Rule("files", "send it as a part that the API reads, or its text", refused_media),
    Rule("audio", "choose a model that hears, or send a transcript", unheard_audio),
)
