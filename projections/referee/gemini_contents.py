"""The contents of a request to Gemini, read as the service reads them: in either spelling.

The service takes names of members in camel case and in snake case alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.referee.members import member, objects, text
from onrecord.projections.referee.violation import Found, Path

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DATA: Final = (
    *("text", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"),
    *("toolCall", "toolResponse", "inlineData", "fileData"),
)
"""The members of a part of which it has one (google-genai, `Part`)."""
_ROLES: Final = (None, "user", "model")
_EMPTY: Final = (
    "Unable to submit request because it has an empty text parameter. Add a value to the "
    "parameter and try again."
)


def snake(name: str) -> str:
    """Return a name in snake case."""
    return _HUMP.sub("_", name).lower()


def held(value: Any, name: str) -> Any:
    """Return a member of an object, whichever way its name is spelled; None where there is none."""
    found = member(value, name)
    return member(value, snake(name)) if found is None else found


def spelled(value: JsonObject, name: str) -> str:
    """Return a member's name as an object spells it."""
    return name if name in value else snake(name)


def contents_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return the contents, each with its place."""
    return objects(request.get("contents"))


def parts_of(content: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the parts of a content, each with its place."""
    return objects(content.get("parts"))


def parts_with(content: JsonObject, name: str) -> list[tuple[int, JsonObject]]:
    """Return the parts of a content that hold an object under a name, each with its place."""
    return [
        (place, part) for place, part in parts_of(content) if isinstance(held(part, name), dict)
    ]


def all_parts(request: Mapping[str, Any]) -> Iterator[tuple[Path, JsonObject]]:
    """Yield each part of the contents, with the way to it."""
    for index, content in contents_of(request):
        for place, part in parts_of(content):
            yield ("contents", index, "parts", place), part


def no_contents(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a request that says nothing."""
    if not request.get("contents"):
        said = "* GenerateContentRequest.contents: contents is not specified"
        yield ("contents",) if "contents" in request else (), said


def refused_roles(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find contents of other than the user and the model; who says nothing of it is the user."""
    for index, content in contents_of(request):
        if content.get("role") not in _ROLES:
            yield ("contents", index, "role"), "Please use a valid role: user, model."


def no_parts(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find contents without a part."""
    for index, content in contents_of(request):
        if not content.get("parts"):
            place = f"GenerateContentRequest.contents[{index}].parts"
            yield ("contents", index), f"* {place}: contents.parts must not be empty."


def empty_parts(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find parts that hold nothing; one that only bears a signature came so from the service."""
    for path, part in all_parts(request):
        if held(part, "thoughtSignature"):
            continue
        data = _data(part)
        if not data:
            said = f"* GenerateContentRequest.contents[{path[1]}].parts[{path[3]}].data: "
            yield path, said + "required oneof field 'data' must have one initialized field"
        elif data == ["text"] and part["text"] == "":
            yield (*path, "text"), _EMPTY


def parts_of_two_kinds(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find parts that hold more than one thing."""
    for path, part in all_parts(request):
        if len(data := _data(part)) > 1:
            where = f"contents[{path[1]}].parts[{path[3]}]"
            said = "oneof field 'data' is already set. Cannot set"
            yield path, f"Invalid value at '{where}' (oneof), {said} '{data[1]}'"


def _data(part: JsonObject) -> list[str]:
    return [name for name in _DATA if held(part, name) is not None]


def called(part: JsonObject, name: str) -> str:
    """Return the function's name of a call or a response in a part."""
    return text(member(held(part, name), "name"))
