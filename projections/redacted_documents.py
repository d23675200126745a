"""Documents that were taken out of results: those whose own events were redacted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from onrecord.domain import jsontext
from onrecord.domain.content import Document
from onrecord.domain.documents import reference_to
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.domain.registry import name_of
from onrecord.projections.plain import plain_of, plain_of_event
from onrecord.projections.responses import Item, Place

_TAKEN_OUT: Final = '{"document":"redacted"}'
"""Stands in the text of a result for a document that was taken out of it."""

_RESULT: Final = "tool_result.recorded"
_DOCUMENT: Final = "document.extracted"


def taken_out(items: Iterable[Item], redacted: set[Place]) -> Mapping[Place, list[JsonObject]]:
    """Return the documents that were taken out of each result, by its place.

    The events of a result's documents come right behind it.
    """
    found: dict[Place, list[JsonObject]] = {}
    result: Place | None = None
    for item in items:
        name, place = _named(item)
        if name == _RESULT:
            result = place
        elif name == _DOCUMENT and result is not None and place in redacted:
            plain = plain_of(item) if isinstance(item, Told) else plain_of_event(item[1])
            if isinstance(plain, dict) and "path" in plain:
                found.setdefault(result, []).append(plain["document"])
    return found


def without(content: JsonObject, documents: Iterable[JsonObject]) -> JsonObject:
    """Return a result in neutral form without some documents, and without what refers to them."""
    if content["kind"] != "tool_result":
        return content
    gone = list(documents)
    names = [_reference(document) for document in gone]
    kept = [_without(part, names) for part in content.get("content", ()) if part not in gone]
    return {**content, "content": kept}


def _without(part: JsonObject, references: Iterable[str]) -> JsonObject:
    if part["kind"] != "text":
        return part
    text: str = part["text"]
    for reference in references:
        text = text.replace(reference, _TAKEN_OUT)
    return {**part, "text": text}


def _reference(document: JsonObject) -> str:
    described: Any = {name: value for name, value in document.items() if name != "kind"}
    return jsontext.write(reference_to(Document.model_validate(described))).decode()


def _named(item: Item) -> tuple[str, Place]:
    if isinstance(item, Told):
        return item.type, (item.conversation_id, item.version)
    version, event = item
    return name_of(event), (None, version)
