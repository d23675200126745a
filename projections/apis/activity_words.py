"""What tools of a provider did, in words: for a model that cannot read their blocks.

A note that it was done, not a call in another spelling: a model that reads calls as text writes
such texts, and calls nothing. Nothing is cut short.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, assert_never, cast

from onrecord.domain import jsontext
from onrecord.domain.content import (
    Document,
    HeldFile,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    Url,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.documents import words_for


def words_of(activity: ToolCall | ServerToolCall | ServerToolResult) -> str:
    """Return what a tool was asked, or what a provider's own tool gave."""
    match activity:
        case ToolCall():
            return "\n".join([f"[{activity.name} was called.]", *_asked(activity.arguments)])
        case ServerToolCall():
            return "\n".join([f"[{activity.name} was used.]", *_asked(activity.arguments)])
        case ServerToolResult():
            ended = "failed" if activity.is_error else "gave"
            told = [*map(part_told, activity.content), *_ended(activity.metadata)]
            return "\n".join([f"[{activity.name} {ended}:]", *(told or ["nothing"])])
        case _:
            assert_never(activity)


def part_told(part: Text | Url | Document | HeldFile) -> str:
    """Return a part of what a tool gave, as text."""
    match part:
        case Text(text=text):
            return text
        case Url(url=url, title=title, about=about):
            beside = [held for held in about.values() if isinstance(held, str) and held]
            return "\n".join([*([title] if title else []), url, *beside])
        case HeldFile(file_id=file_id):
            return f"[file held by the provider as {file_id}]"
        case Document():
            return document_told(part)
        case _:
            assert_never(part)


def document_told(document: Document) -> str:
    """Return what is said of a document where an answer holds it.

    A picture whose bytes the answer has was recorded as a document too, and is told on its own.
    """
    is_picture = document.media_type.startswith("image/")
    if is_picture and (document.url or "").startswith("data:"):
        return f"[A picture ({document.media_type}).]"
    return words_for(document)


def _asked(arguments: Any) -> Iterator[str]:
    """Yield a line for each argument; a text of several lines stands below its name."""
    if not isinstance(arguments, dict):
        yield _value(arguments)
        return
    for name, held in cast("JsonObject", arguments).items():
        said = _value(held)
        yield f"{name}:\n{said}" if "\n" in said else f"{name}: {said}"


def _value(held: Any) -> str:
    match held:
        case str():
            return held
        case [*items] if all(isinstance(item, str) for item in items):
            return "; ".join(items)
        case _:
            return jsontext.write(held).decode()


def _ended(metadata: JsonObject) -> Iterator[str]:
    """Yield how it ended, where what it gave does not say so."""
    code, updated = metadata.get("return_code"), metadata.get("is_file_update")
    if isinstance(code, int) and code:
        yield f"return code {code}"
    if isinstance(updated, bool):
        yield "file updated" if updated else "file created"
    if (outcome := metadata.get("outcome")) in _OUTCOMES:
        yield _OUTCOMES[outcome]


_OUTCOMES: Final[dict[Any, str]] = {
    "OUTCOME_FAILED": "it failed",
    "OUTCOME_DEADLINE_EXCEEDED": "it took too long",
}
"""How Gemini says that code did not end well."""
