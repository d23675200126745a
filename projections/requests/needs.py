"""Which blobs a request needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from hansard.domain.content import Blob
from hansard.domain.draft import blobs_of
from hansard.domain.jsontext import JsonObject
from hansard.projections.history import History

_WITH_DOCUMENTS: Final = frozenset({"document", "tool_result"})


def needed_blobs(history: History) -> tuple[Blob, ...]:
    """Return the blobs that rendering a history reads, each once, in order."""
    found = {
        blob: None
        for event in (history.instructions, history.tools)
        if event is not None
        for blob in blobs_of(event)
    }
    for turn in history.turns:
        for block in turn.blocks:
            plain = block.plain
            if block.spilled or plain["kind"] in _WITH_DOCUMENTS:
                found.update(dict.fromkeys(_blobs(plain)))
    return tuple(found)


def _blobs(content: JsonObject) -> Iterator[Blob]:
    match content:
        case {"kind": "native", "value": value}:
            yield from _spilled(value)
        case {"kind": "document", "blob": {"sha256": str() as digest, "size": int() as size}}:
            yield Blob(sha256=digest, size=size)
        case {"kind": "tool_result", "content": parts}:
            for part in cast("list[JsonObject]", parts):
                if part["kind"] == "document":
                    yield from _blobs(part)
        case _:
            return


def _spilled(value: Any) -> Iterator[Blob]:
    match value:
        case {"$hansard.blob": str() as digest, "size": int() as size}:
            yield Blob(sha256=digest, size=size)
        case dict():
            for held in cast("dict[str, Any]", value).values():
                yield from _spilled(held)
        case list():
            for held in cast("list[Any]", value):
                yield from _spilled(held)
        case _:
            return
