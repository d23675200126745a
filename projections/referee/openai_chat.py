"""What OpenAI's Chat Completions API refuses, and the compatible servers that say so.

Not looked for, because a request alone cannot tell: audio that has expired, and reasoning that
DeepSeek wants back (whether it does has changed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hansard.domain.jsontext import JsonObject
from hansard.projections.referee.members import member, objects, text
from hansard.projections.referee.openai_spelling import (
    malformed_name,
    repeated_tools,
    too_long,
    too_short,
)
from hansard.projections.referee.violation import Found, Path, Rule, bracketed

_LONGEST_ID: Final = 40
_MISTRAL: Final = re.compile(r"(^|/)(mi(ni)?stral|mixtral|codestral|devstral|magistral|pixtral)")
_OPENAI: Final = re.compile(r"^(openai/|gpt-|chatgpt-|ft:|o\d)")
_DEAF: Final = re.compile(r"^(gpt-|o\d)(?!.*audio)")
_NO_SYSTEM: Final = re.compile(r"^o1-(mini|preview)")
_NAME: Final = r"^[^\s<|\\/>]+$"


def _messages(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    return objects(request.get("messages"))


def _calls(message: JsonObject) -> list[tuple[int, JsonObject]]:
    return objects(message.get("tool_calls"))


def no_messages(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a request that says nothing."""
    if not request.get("messages"):
        yield ("messages",), _empty_array("messages")


def unanswered_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls without a result before something else is said (cai#111)."""
    messages = _messages(request)
    for place, (index, message) in enumerate(messages):
        calls = [text(call.get("id")) for _, call in _calls(message)]
        answered: set[str] = set()
        for _, later in messages[place + 1 :]:
            if later.get("role") != "tool":
                break
            answered.add(text(later.get("tool_call_id")))
        if missing := [call for call in calls if call not in answered]:
            yield (
                ("messages", index, "tool_calls"),
                (
                    "An assistant message with 'tool_calls' must be followed by tool messages "
                    "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                    f"response messages: {', '.join(missing)}"
                ),
            )


def results_without_call(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find results that do not follow the message that called them (promptflow#3130)."""
    called: set[str] | None = None
    for index, message in _messages(request):
        if message.get("role") != "tool":
            calls = _calls(message)
            called = {text(call.get("id")) for _, call in calls} if calls else None
            continue
        call = text(message.get("tool_call_id"))
        if called is None:
            yield (
                ("messages", index),
                (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
                    "message with 'tool_calls'."
                ),
            )
        elif call not in called:
            yield (
                ("messages", index, "tool_call_id"),
                (
                    f"Invalid parameter: 'tool_call_id' of '{call}' not found in 'tool_calls' of "
                    "previous message."
                ),
            )


def repeated_results(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls with two results (opencode#1211)."""
    answered: dict[str, int] = {}
    for index, message in _messages(request):
        if message.get("role") != "tool":
            answered = {}
            continue
        call = text(message.get("tool_call_id"))
        if call in answered:
            yield (
                ("messages", index, "tool_call_id"),
                (
                    f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call}', in "
                    f"messages[{answered[call]}] and messages[{index}]."
                ),
            )
        answered[call] = index


def repeated_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls of one message that share an id (openclaw#47136)."""
    for index, message in _messages(request):
        seen: set[str] = set()
        for place, call in _calls(message):
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
    model = text(request.get("model"))
    is_mistral = _MISTRAL.search(model) is not None
    is_openai = not model or _OPENAI.search(model) is not None
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
    for index, message in _messages(request):
        for place, call in _calls(message):
            yield ("messages", index, "tool_calls", place, "id"), text(call.get("id"))
        if message.get("role") == "tool":
            yield ("messages", index, "tool_call_id"), text(message.get("tool_call_id"))


def no_content(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages without content, unless they call, refuse or speak aloud instead."""
    for index, message in _messages(request):
        path: Path = ("messages", index, "content")
        content = message.get("content")
        if content == []:
            yield path, _empty_array(bracketed(path))
        if content is None and not _says_otherwise(message):
            yield path, "Invalid value for 'content': expected a string, got null."


def _says_otherwise(message: JsonObject) -> bool:
    others = ("tool_calls", "function_call", "refusal", "audio")
    return message.get("role") == "assistant" and any(message.get(name) for name in others)


def no_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find empty lists of calls."""
    for index, message in _messages(request):
        if message.get("tool_calls") == []:
            path = ("messages", index, "tool_calls")
            yield path, _empty_array(bracketed(path))


def _empty_array(name: str) -> str:
    return (
        f"Invalid '{name}': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    )


def bad_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names of functions, tools and speakers that have another form."""
    for index, message in _messages(request):
        for place, call in _calls(message):
            kind = "custom" if "custom" in call else "function"
            path = ("messages", index, "tool_calls", place, kind, "name")
            yield from malformed_name(path, member(call.get(kind), "name"))
        name = text(message.get("name"))
        if name and message.get("role") != "tool" and not re.fullmatch(_NAME, name):
            at = ("messages", index, "name")
            yield (
                at,
                (
                    f"Invalid '{bracketed(at)}': string does not match pattern. Expected a string "
                    f"that matches the pattern '{_NAME}'."
                ),
            )
    for place, tool in objects(request.get("tools")):
        kind = text(tool.get("type"))
        yield from malformed_name(("tools", place, kind, "name"), member(tool.get(kind), "name"))


def repeated_tool_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names that two tools have."""
    tools = objects(request.get("tools"))
    yield from repeated_tools(
        [(place, text(member(tool.get(text(tool.get("type"))), "name"))) for place, tool in tools]
    )


def refused_roles(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find instructions to models that take none (recorded with o1-mini)."""
    if not _NO_SYSTEM.search(text(request.get("model"))):
        return
    for index, message in _messages(request):
        if (role := message.get("role")) in ("system", "developer"):
            path = ("messages", index, "role")
            yield (
                path,
                (
                    f"Unsupported value: '{bracketed(path)}' does not support '{role}' with this "
                    "model."
                ),
            )


def unheard_audio(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find audio for a model of OpenAI's that has no `audio` in its name (recorded)."""
    if not _DEAF.search(text(request.get("model"))):
        return
    for index, message in _messages(request):
        for place, part in objects(message.get("content")):
            if part.get("type") == "input_audio":
                yield (
                    ("messages", index, "content", place),
                    (
                        f"Invalid 'messages[{index}]'. Content blocks are expected to be either text "
                        "or image_url type."
                    ),
                )


RULES: Final = (
    Rule("messages", "say something first", no_messages),
    Rule(
        "C1",
        "put a result for each call right after the message that made them",
        unanswered_calls,
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
    Rule("audio", "choose a model that hears, or send a transcript", unheard_audio),
)
