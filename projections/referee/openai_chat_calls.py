"""The rules of Chat Completions for calls and their results, and for ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.projections.referee.members import text
from onrecord.projections.referee.openai_chat_messages import (
    calls_of,
    empty_array,
    is_for_openai,
    messages_of,
)
from onrecord.projections.referee.openai_spelling import (
    too_long,
    too_short,
)
from onrecord.projections.referee.violation import Found, Path, bracketed

_LONGEST_ID: Final = 40
_MISTRAL: Final = re.compile(r"(^|/)(mi(ni)?stral|mixtral|codestral|devstral|magistral|pixtral)")


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
    for index, message in messages_of(request):
        if message.get("role") != "tool":
            calls = calls_of(message)
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
    for index, message in messages_of(request):
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
    is_mistral = _MISTRAL.search(text(request.get("model"))) is not None
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
    """Find empty lists of calls."""
    for index, message in messages_of(request):
        if message.get("tool_calls") == []:
            path = ("messages", index, "tool_calls")
            yield path, empty_array(bracketed(path))
