"""The rules of Gemini for calls of functions, their responses and signatures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.referee.gemini_contents import (
    called,
    contents_of,
    held,
    parts_with,
    snake,
    spelled,
)
from onrecord.projections.referee.members import objects, text
from onrecord.projections.referee.violation import Found, Path, bracketed

_CALL: Final = "functionCall"
_RESPONSE: Final = "functionResponse"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_SIGNING: Final = re.compile(r"gemini-(?:[3-9]|\d\d)")

_UNEQUAL: Final = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
_NO_CALL: Final = (
    "Please ensure that function response turn comes immediately after a function call turn."
)
_NO_USER: Final = (
    "Please ensure that function call turn comes immediately after a user turn or after a function "
    "response turn."
)
_BAD_NAME: Final = (
    "Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or "
    "contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
)


def unequal_responses(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find turns with calls after which not as many responses stand in one content."""
    contents = contents_of(request)
    for place, (index, content) in enumerate(contents):
        calls = parts_with(content, _CALL)
        after = contents[place + 1][1] if place + 1 < len(contents) else {}
        if calls and len(parts_with(after, _RESPONSE)) != len(calls):
            yield ("contents", index), _UNEQUAL


def responses_without_call(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find responses that no turn with calls precedes."""
    before: JsonObject = {}
    for index, content in contents_of(request):
        if parts_with(content, _RESPONSE) and not parts_with(before, _CALL):
            yield ("contents", index), _NO_CALL
        before = content


def calls_out_of_turn(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls that the user's words, or responses, do not precede."""
    before: JsonObject = {"role": "model"}
    for index, content in contents_of(request):
        if parts_with(content, _CALL) and before.get("role") == "model":
            yield ("contents", index), _NO_USER
        before = content


def unsigned_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find steps of the current turn whose first call bears no signature, for Gemini 3 and later.

    The current turn begins after what the user said last. What a model wants whose name is not in
    the request, or says nothing, cannot be told.
    """
    if not _SIGNING.match(text(request.get("model")).rpartition("/")[2]):
        return
    contents = contents_of(request)
    for index, content in contents[_last_said(contents) + 1 :]:
        for place, part in parts_with(content, _CALL)[:1]:
            if not held(part, "thoughtSignature"):
                path = ("contents", index, "parts", place)
                yield path, _unsigned(called(part, _CALL), index + 1)


def _last_said(contents: list[tuple[int, JsonObject]]) -> int:
    said = (
        place
        for place, (_, content) in enumerate(contents)
        if content.get("role") != "model" and not parts_with(content, _RESPONSE)
    )
    return max(said, default=-1)


def _unsigned(name: str, position: int) -> str:
    return (
        "Function call is missing a thought_signature in functionCall parts. This is required for "
        "tools to work correctly, and missing thought_signature may lead to degraded model "
        f"performance. Additional data, function call `default_api:{name}` , position {position}."
    )


def bad_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names of functions that the service does not take."""
    for path, name in _names(request):
        if not _NAME.fullmatch(name):
            yield path, f"* GenerateContentRequest.{_dotted(path)}: {_BAD_NAME}"


def repeated_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find functions that are declared twice."""
    seen: set[str] = set()
    for path, name in _declared(request):
        if name in seen:
            yield path, f"Duplicate function declaration found: {name}"
        seen.add(name)


def _names(request: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    yield from _declared(request)
    for index, content in contents_of(request):
        for kind in (_CALL, _RESPONSE):
            for place, part in parts_with(content, kind):
                path = ("contents", index, "parts", place, spelled(part, kind), "name")
                yield path, called(part, kind)


def _declared(request: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for index, tool in objects(request.get("tools")):
        name = "functionDeclarations"
        for place, declared in objects(held(tool, name)):
            path = ("tools", index, spelled(tool, name), place, "name")
            yield path, text(declared.get("name"))


def _dotted(path: Path) -> str:
    return snake(bracketed(path))
