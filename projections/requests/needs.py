"""Which blobs a request needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from hansard.domain.content import Blob, Document, Native, ToolResult
from hansard.domain.draft import blobs_of
from hansard.projections.history import Content, History

_WITH_DOCUMENTS: Final = frozenset({"document", "tool_result"})


def needed_blobs(history: History) -> tuple[Blob, ...]:
    """Return the blobs that rendering a history reads, each once, in order."""
    held = [blobs_of(event) for event in (history.instructions, history.tools) if event]
    spoken = (
        blob
        for turn in history.turns
        for block in turn.blocks
        if block.spilled or block.plain["kind"] in _WITH_DOCUMENTS
        for blob in _blobs(block.content)
    )
    return tuple(dict.fromkeys([*(blob for some in held for blob in some), *spoken]))


def _blobs(content: Content) -> Iterator[Blob]:
    match content:
        case Native():
            yield from _spilled(content.value)
        case Document(blob=Blob() as blob):
            yield blob
        case ToolResult():
            for part in content.content:
                if isinstance(part, Document):
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
