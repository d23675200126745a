"""Which blobs a request needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from onrecord.domain.content import Blob
from onrecord.domain.draft import blobs_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import History
from onrecord.projections.requests.request import Options
from onrecord.projections.requests.routing import is_read, takes_of

_WITH_DOCUMENTS: Final = frozenset({"document", "tool_result"})


def needed_blobs(history: History, options: Options) -> tuple[Blob, ...]:
    """Return the blobs that rendering a history reads, each once.

    Not those of documents that the model does not take, or not of that size: they go in words.
    """
    found = {
        blob: None
        for event in (history.instructions, history.tools)
        if event is not None
        for blob in blobs_of(event)
    }
    documents: dict[tuple[str, Blob], None] = {}
    for turn in history.turns:
        for block in turn.blocks:
            plain = block.plain
            if plain["kind"] in _WITH_DOCUMENTS:
                documents.update(dict.fromkeys(_documents(plain)))
            elif block.spilled and plain["kind"] == "native":
                found.update(dict.fromkeys(_spilled(plain["value"])))
    if documents:
        takes = takes_of(history, options)
        read = (blob for kind, blob in documents if is_read(takes, kind, blob.size))
        found.update(dict.fromkeys(read))
    return tuple(found)


def _documents(content: JsonObject) -> Iterator[tuple[str, Blob]]:
    """Yield the media types and the blobs of a document, or of those in a result."""
    match content:
        case {
            "kind": "document",
            "media_type": str() as kind,
            "blob": {"sha256": str() as digest, "size": int() as size},
        }:
            yield kind, Blob(sha256=digest, size=size)
        case {"kind": "tool_result", "content": parts}:
            for part in cast("list[JsonObject]", parts):
                if part["kind"] == "document":
                    yield from _documents(part)
        case _:
            return


def _spilled(value: Any) -> Iterator[Blob]:
    match value:
        case {"$onrecord.blob": str() as digest, "size": int() as size}:
            yield Blob(sha256=digest, size=size)
        case dict():
            for held in cast("dict[str, Any]", value).values():
                yield from _spilled(held)
        case list():
            for held in cast("list[Any]", value):
                yield from _spilled(held)
        case _:
            return
