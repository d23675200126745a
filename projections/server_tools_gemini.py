"""What Gemini's own tools were asked and what they gave, in the form that all APIs share.

Parts of a content, and what a candidate says of its grounding: `{"groundingMetadata": ...}` and
`{"urlContextMetadata": ...}`, each as a call (its queries alone) and as a result (all of it). Names
of members are taken as the API spells them and as the SDK does. Shapes: ai.google.dev, "Grounding
with Google Search", "URL context", "Code execution", "File search".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Document, ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.native_members import members, objects, text_or_none, texts
from onrecord.projections.neutral_gemini_parts import camel, member, object_in

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
        return ServerToolCall(id=_id(code), name="code_execution", arguments=arguments)
    if (call := object_in(value, "toolCall")) is not None:
        asked: JsonObject = call.get("args") or {}
        return ServerToolCall(id=_id(call), name=_tool(call), arguments=asked)
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
            call_id=_id(ran),
            name="code_execution",
            content=texts(ran.get("output")),
            is_error=isinstance(outcome, str) and outcome != "OUTCOME_OK",
            metadata=members(ran, "outcome"),
        )
    if (told := object_in(value, "toolResponse")) is not None:
        content = _answered(told.get("response"))
        return ServerToolResult(call_id=_id(told), name=_tool(told), content=content)
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
    asked = (member(grounding, name) for name in QUERIES)
    return [query for held in asked if isinstance(held, list) for query in cast("list[Any]", held)]


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
    uri, title = text_or_none(source.get("uri")), text_or_none(source.get("title"))
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


def _result(name: str, held: _Grounded) -> ServerToolResult:
    return ServerToolResult(
        call_id="",
        name=name,
        content=held.content,
        is_error=held.is_error,
        metadata=held.metadata,
    )


def _answered(response: Any) -> tuple[Text, ...]:
    """Return what a tool answered: the texts that it found, else all of it as JSON.

    Suggestions for searching on are a page's markup, and not for models.
    """
    if not isinstance(response, dict):
        return texts(response)
    held = {k: v for k, v in cast("JsonObject", response).items() if k not in _SUGGESTIONS}
    found = [text for item in objects(held.get("result")) for text in texts(item.get("text"))]
    if found or not held:
        return tuple(found)
    return (Text(text=jsontext.write(held).decode()),)


_SUGGESTIONS: Final = frozenset({"search_suggestions", "searchSuggestions"})


def _id(part: JsonObject) -> str:
    found = part.get("id")
    return found if isinstance(found, str) else ""
