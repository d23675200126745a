"""What Gemini's API refuses: Google's own service, and Vertex where both say the same.

Not looked for, because a request alone cannot tell: whether a signature is the service's own, and
whether `toolConfig` is added that parts of the service's own tools want. Signatures are wanted
where the request names a model of the third generation or later, as the SDK's call does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.rules import Found, Path, Rule, bracketed
from onrecord.projections.members import member, placed_objects, text

# The contents of a request to Gemini, read as the service reads them: in either spelling.
#
# The service takes names of members in camel case and in snake case alike.

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
    entry = member(value, name)
    return member(value, snake(name)) if entry is None else entry


def name_in(value: JsonObject, name: str) -> str:
    """Return a member's name as an object spells it."""
    return name if name in value else snake(name)


def contents_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return the contents, each with its place."""
    return placed_objects(request.get("contents"))


def parts_of(content: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the parts of a content, each with its place."""
    return placed_objects(content.get("parts"))


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
        words = "* GenerateContentRequest.contents: contents is not specified"
        yield ("contents",) if "contents" in request else (), words


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
            parts = f"* GenerateContentRequest.contents[{path[1]}].parts[{path[3]}].data: "
            yield path, parts + "required oneof field 'data' must have one initialized field"
        elif data == ["text"] and part["text"] == "":
            yield (*path, "text"), _EMPTY


def parts_of_two_kinds(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find parts that hold more than one thing."""
    for path, part in all_parts(request):
        if len(data := _data(part)) > 1:
            where = f"contents[{path[1]}].parts[{path[3]}]"
            words = "oneof field 'data' is already set. Cannot set"
            yield path, f"Invalid value at '{where}' (oneof), {words} '{data[1]}'"


def _data(part: JsonObject) -> list[str]:
    return [name for name in _DATA if held(part, name) is not None]


def called(part: JsonObject, name: str) -> str:
    """Return the function's name of a call or a response in a part."""
    return text(member(held(part, name), "name"))


# The rules of Gemini for calls of functions, their responses and signatures.

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
    words = (
        place
        for place, (_, content) in enumerate(contents)
        if content.get("role") != "model" and not parts_with(content, _RESPONSE)
    )
    return max(words, default=-1)


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
                path = ("contents", index, "parts", place, name_in(part, kind), "name")
                yield path, called(part, kind)


def _declared(request: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for index, tool in placed_objects(request.get("tools")):
        name = "functionDeclarations"
        for place, declared in placed_objects(held(tool, name)):
            path = ("tools", index, name_in(tool, name), place, "name")
            yield path, text(declared.get("name"))


def _dotted(path: Path) -> str:
    return snake(bracketed(path))


RULES: Final = (
    Rule("messages", "say something first", no_contents),
    Rule("G7", "say it as the user, or as the model", refused_roles),
    Rule("G6", "leave the content out, or say something", no_parts),
    Rule("G6", "leave the part out, or say something", empty_parts),
    Rule("G6", "make it several parts", parts_of_two_kinds),
    Rule("G1", "put a response for each call into the one content after them", unequal_responses),
    Rule(
        "G2",
        "leave the response out, or put it right after the content that called it",
        responses_without_call,
    ),
    Rule("G3", "let the user speak before, or join the contents", calls_out_of_turn),
    Rule("G4", "give the signature back where it came, or leave the call out", unsigned_calls),
    Rule("G9", "spell it anew, in calls, responses and tools alike", bad_names),
    Rule("names", "declare each function once", repeated_names),
)
"""The rules of Gemini's API, in the order in which they are told."""
