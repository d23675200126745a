"""The rules of Chat Completions for what a message holds, and who may say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.referee.members import member, objects, text
from onrecord.projections.referee.openai_chat_messages import (
    calls_of,
    empty_array,
    is_for_openai,
    messages_of,
)
from onrecord.projections.referee.openai_media import (
    media_type_of,
    no_data_url,
    unread_file,
    unread_image,
)
from onrecord.projections.referee.openai_spelling import (
    malformed_name,
    repeated_tools,
)
from onrecord.projections.referee.violation import Found, Path, bracketed

_DEAF: Final = re.compile(r"^(gpt-|o\d)(?!.*audio)")
_NO_SYSTEM: Final = re.compile(r"^o1-(mini|preview)")
_PDF: Final = "an application/pdf MIME type"
_NAME: Final = r"^[^\s<|\\/>]+$"


def no_messages(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a request that says nothing."""
    if not request.get("messages"):
        yield ("messages",), empty_array("messages")


def no_content(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages without content, unless they call, refuse or speak aloud instead."""
    for index, message in messages_of(request):
        path: Path = ("messages", index, "content")
        content = message.get("content")
        if content == []:
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
    for index, message in messages_of(request):
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
    for index, message in messages_of(request):
        for place, part in objects(message.get("content")):
            if part.get("type") == "input_audio":
                yield (
                    ("messages", index, "content", place),
                    (
                        f"Invalid 'messages[{index}]'. Content blocks are expected to be either text "
                        "or image_url type."
                    ),
                )


def refused_media(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find images and files that OpenAI's own models do not read."""
    if not is_for_openai(request):
        return
    for index, message in messages_of(request):
        for place, part in objects(message.get("content")):
            path: Path = ("messages", index, "content", place)
            yield from unread_image((*path, "image_url"), member(part.get("image_url"), "url"))
            at, data = (*path, "file", "file_data"), member(part.get("file"), "file_data")
            yield from no_data_url(at, data, _PDF)
            if media_type_of(data) not in (None, "application/pdf"):
                yield unread_file(at, data, _PDF)
