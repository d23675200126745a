"""What Gemini's own tools were asked and what they gave, in the form that all APIs share.

Parts of a content, and what a candidate says of its grounding: `{"groundingMetadata": ...}` and
`{"urlContextMetadata": ...}`, each as a call (its queries alone) and as a result (all of it). Names
of members are taken as the API spells them and as the SDK does. Shapes: ai.google.dev, "Grounding
with Google Search", "URL context", "Code execution", "File search".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Document, ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.documents import media_type_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import Replay
from onrecord.projections.members import (
    members,
    nonempty_text,
    objects,
    standard_base64,
    text,
    texts,
)

# Members of Gemini's parts, in either spelling, and what a part holds beside calls.
#
# The service takes names of members as it spells them and in snake case, as its SDK spells what
# is nested. Shapes: ai.google.dev, "Content" and "Part".

Part = Text | Document
"""What a content or a result may hold beside calls."""

CALL: Final = "functionCall"
"""The member of a part that calls a tool of the caller's."""

RESPONSE: Final = "functionResponse"
"""The member of a part that holds what such a tool gave."""

SIGNATURE: Final = "thoughtSignature"
"""The member in which a part is signed."""

_RECORD_ONLY: Final = frozenset({"groundingMetadata", "urlContextMetadata"})
"""Members of a candidate that are recorded as blocks, and that no request has."""

_BESIDE: Final = frozenset(
    {
        *("thought", "thoughtSignature", "partMetadata", "mediaResolution", "mediaProcessing"),
        *("videoMetadata", "audioMetadata", "documentMetadata", "spreadsheetMetadata"),
        *("speechMetadata", "audioTranscription"),
    }
)
_CAPITAL: Final = re.compile("[A-Z]")
_LETTER: Final = re.compile("_([a-z])")
_RESOURCE: Final = "/v1beta/files/"


@cache
def snake(name: str) -> str:
    """Return the name of a member as the SDK spells it."""
    return _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", name)


@cache
def camel(name: str) -> str:
    """Return the name of a member as the service spells it."""
    return _LETTER.sub(lambda letter: letter[1].upper(), name)


def member(value: JsonObject, name: str) -> Any:
    """Return a member by the service's name, in either spelling; None where there is none."""
    return value[name] if name in value else value.get(snake(name))


def object_in(value: JsonObject, name: str) -> JsonObject | None:
    """Return a member that is an object; None for anything else."""
    content = member(value, name)
    return cast("JsonObject", content) if isinstance(content, dict) else None


def without(value: JsonObject, name: str) -> JsonObject:
    """Return an object without a member, in whichever spelling it has it."""
    return {key: item for key, item in value.items() if camel(key) != name}


def kind_of(value: JsonObject) -> str | None:
    """Return the member that says what a part holds; None for one that holds nothing."""
    for name in value:
        if (known := camel(name)) not in _BESIDE:
            return known
    return None


def replay(value: JsonObject) -> Replay:
    """Return how a part of an answer goes back: what is told of grounding does not."""
    return "record" if kind_of(value) in _RECORD_ONLY else "verbatim"


def is_thought(value: JsonObject) -> bool:
    """Whether a part is what the model thought."""
    return value.get("thought") is True


def is_signed(value: JsonObject) -> bool:
    """Whether a part bears a signature."""
    return bool(member(value, SIGNATURE))


def part(value: Any) -> Part | None:
    """Return what a text or a file says; None for any other part."""
    match value:
        case {"text": str(text)}:
            return Text(text=text)
        case dict():
            fields = cast("JsonObject", value)
            return _inline(fields) or _file(fields)
        case _:
            return None


def texts_in(content: Any) -> list[str]:
    """Return the texts of a content: an object with parts, a list of parts, a string."""
    match content:
        case str():
            return [content]
        case {"parts": parts}:
            return texts_in(parts)
        case {"text": str(text)}:
            return [text]
        case list():
            return [text for value in cast("list[Any]", content) for text in texts_in(value)]
        case _:
            return []


def is_held_by_the_service(value: JsonObject) -> bool:
    """Whether a part names a file that was uploaded to the service, which keeps it for a while."""
    uri = member(object_in(value, "fileData") or {}, "fileUri")
    return isinstance(uri, str) and (_RESOURCE in uri or uri.startswith("files/"))


def _inline(value: JsonObject) -> Document | None:
    fields = object_in(value, "inlineData") or {}
    data, media_type = member(fields, "data"), member(fields, "mimeType")
    if not isinstance(data, str) or not isinstance(media_type, str):
        return None
    url = f"data:{media_type};base64,{standard_base64(data)}"
    return Document(media_type=media_type, name=_name(fields), url=url)


def _file(value: JsonObject) -> Part | None:
    fields = object_in(value, "fileData") or {}
    uri, media_type = member(fields, "fileUri"), member(fields, "mimeType")
    if not isinstance(uri, str):
        return None
    if is_held_by_the_service(value) or uri.startswith("gs:"):
        return Text(text=f"[file held by the provider as {uri}]")
    guess = media_type_of(b"", uri.partition("?")[0])
    return Document(media_type=nonempty_text(media_type) or guess, name=_name(fields), url=uri)


def _name(value: JsonObject) -> str | None:
    return nonempty_text(member(value, "displayName"))


NAMES: Final[Mapping[str, str]] = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "GOOGLE_SEARCH_IMAGE": "web_search",
    "URL_CONTEXT": "web_fetch",
    "FILE_SEARCH": "file_search",
    "CODE_EXECUTION": "code_execution",
}
"""Types of Gemini's tools to the names that all APIs share."""

QUERIES: Final = ("webSearchQueries", "imageSearchQueries", "retrievalQueries")
"""The members of `groundingMetadata` that say what was asked: those alone are its call."""

_FETCHED: Final = "URL_RETRIEVAL_STATUS_SUCCESS"

_Found: TypeAlias = Text | Url | Document


class _Grounded(NamedTuple):
    content: tuple[_Found, ...]
    metadata: JsonObject
    is_error: bool = False


def called(value: JsonObject) -> ServerToolCall | None:
    """Return what one of Gemini's tools was asked; None for any other part.

    The id is empty where the part has none.
    """
    if (code := object_in(value, "executableCode")) is not None:
        arguments = members(code, "code", "language")
        return ServerToolCall(id=text(code.get("id")), name="code_execution", arguments=arguments)
    if (call := object_in(value, "toolCall")) is not None:
        tool_arguments: JsonObject = call.get("args") or {}
        return ServerToolCall(id=text(call.get("id")), name=_tool(call), arguments=tool_arguments)
    if (grounding := object_in(value, "groundingMetadata")) is not None and _asks(grounding):
        queries = _queries(grounding)
        arguments = {"queries": queries} if queries else {}
        return ServerToolCall(id="", name=grounded_by(grounding), arguments=arguments)
    if object_in(value, "urlContextMetadata") == {}:
        return ServerToolCall(id="", name="web_fetch", arguments={})
    return None


def gave(value: JsonObject) -> ServerToolResult | None:
    """Return what one of Gemini's tools gave; None for any other part.

    The id of its call is empty where the part has none.
    """
    if (ran := object_in(value, "codeExecutionResult")) is not None:
        outcome = ran.get("outcome")
        return ServerToolResult(
            call_id=text(ran.get("id")),
            name="code_execution",
            content=texts(ran.get("output")),
            is_error=isinstance(outcome, str) and outcome != "OUTCOME_OK",
            metadata=members(ran, "outcome"),
        )
    if (response := object_in(value, "toolResponse")) is not None:
        content = _answered(response.get("response"))
        return ServerToolResult(
            call_id=text(response.get("id")), name=_tool(response), content=content
        )
    if (grounding := object_in(value, "groundingMetadata")) is not None:
        return _result(grounded_by(grounding), _grounded(grounding))
    if (fetched := object_in(value, "urlContextMetadata")) is not None:
        return _result("web_fetch", _fetched(fetched))
    return None


def grounded_by(grounding: JsonObject) -> str:
    """Return the name of the tool that `groundingMetadata` tells of."""
    if member(grounding, "webSearchQueries") or member(grounding, "imageSearchQueries"):
        return "web_search"
    chunks = objects(member(grounding, "groundingChunks"))
    if isinstance(member(grounding, "retrievalQueries"), list) or any(
        member(it, "retrievedContext") for it in chunks
    ):
        return "file_search"
    return "web_fetch"


def _tool(part: JsonObject) -> str:
    kind = member(part, "toolType")
    return NAMES.get(kind, kind) if isinstance(kind, str) else ""


def _asks(grounding: JsonObject) -> bool:
    """Whether there is nothing but what was asked."""
    return all(camel(name) in QUERIES for name in grounding)


def _queries(grounding: JsonObject) -> list[Any]:
    lists = (member(grounding, name) for name in QUERIES)
    return [
        query for value in lists if isinstance(value, list) for query in cast("list[Any]", value)
    ]


def _grounded(grounding: JsonObject) -> _Grounded:
    chunks = objects(member(grounding, "groundingChunks"))
    queries = _queries(grounding)
    content = tuple(part for chunk in chunks for part in _chunk(chunk))
    return _Grounded(content, {"queries": queries} if queries else {})


def _chunk(chunk: JsonObject) -> tuple[_Found, ...]:
    """Return the page that something said rests on, and its text where there is one."""
    for name in ("web", "maps", "retrievedContext"):
        if (source := object_in(chunk, name)) is not None:
            return (*_page(source), *texts(source.get("text")))
    return ()


def _page(source: JsonObject) -> tuple[Url, ...]:
    uri, title = nonempty_text(source.get("uri")), nonempty_text(source.get("title"))
    return (Url(url=uri, title=title, about=members(source, "domain")),) if uri else ()


def _fetched(context: JsonObject) -> _Grounded:
    """Return the pages that were read; it failed if none of them could be."""
    pages = objects(member(context, "urlMetadata"))
    content = tuple(
        Url(url=url, about={} if status is None else {"status": status})
        for page in pages
        if isinstance(url := member(page, "retrievedUrl"), str) and url
        for status in (member(page, "urlRetrievalStatus"),)
    )
    failed = bool(content) and all(page.about.get("status") != _FETCHED for page in content)
    return _Grounded(content, {"count": len(content)}, failed)


def _result(name: str, grounded: _Grounded) -> ServerToolResult:
    return ServerToolResult(
        call_id="",
        name=name,
        content=grounded.content,
        is_error=grounded.is_error,
        metadata=grounded.metadata,
    )


def _answered(response: Any) -> tuple[Text, ...]:
    """Return what a tool answered: the texts that it found, else all of it as JSON.

    Suggestions for searching on are a page's markup, and not for models.
    """
    if not isinstance(response, dict):
        return texts(response)
    rest = {k: v for k, v in cast("JsonObject", response).items() if k not in _SUGGESTIONS}
    found_texts = [text for item in objects(rest.get("result")) for text in texts(item.get("text"))]
    if found_texts or not rest:
        return tuple(found_texts)
    return (Text(text=jsontext.write(rest).decode()),)


_SUGGESTIONS: Final = frozenset({"search_suggestions", "searchSuggestions"})
