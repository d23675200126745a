"""A range of a conversation as text to paste: Markdown for people and models; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from onrecord.adapters.page.conversation.events import ShownDocument, ShownEvent, ShownRow
from onrecord.adapters.presentation.control_characters import visible
from onrecord.adapters.presentation.sizes_and_times import moment, size

_TICKS: Final = re.compile("`+")
_FENCED: Final = frozenset({"tool call", "server call", "result", "tools"})
_SHORT_FENCE: Final = 3


def transcript(title: str, events: Iterable[ShownEvent]) -> Iterator[str]:
    """Yield events in Markdown, a paragraph for each thing that was said or done."""
    yield f"# {_line(title)}\n"
    for event in events:
        if event.summary is not None:
            yield f"\nThe summary of version {event.summary} stands for what was said above.\n"
        if event.exchange is not None:
            yield f"\n## Exchange {event.exchange}, {moment(event.recorded_at)}\n"
        if event.branch is not None:
            yield f"\n{event.branch}.\n"
        for row in event.rows:
            yield _row(event.version, row)
        for document in event.documents:
            yield _document(document)


def _row(version: int, shown: ShownRow) -> str:
    row = shown.row
    kind = row.speaker if row.kind == "text" else row.kind
    parts = [f"**{_line(kind)}**"]
    if row.actor is not None and row.speaker not in ("record", "assistant"):
        parts.append(f"({_line(row.actor)})")
    if shown.name:
        parts.append(_code(_line(shown.name)))
    parts.append(f"· version {version}")
    if row.answers is not None:
        parts.append(f"· of version {row.answers}")
    parts += [f"· {mark}" for mark in shown.marks]
    text = visible(shown.text)
    if row.speaker == "record":
        return f"\n{' '.join(parts)}: {_line(text)}\n"
    if row.kind in _FENCED:
        return f"\n{' '.join(parts)}\n\n{_fenced(text)}\n"
    return f"\n{' '.join(parts)}\n\n{text}\n"


def _document(document: ShownDocument) -> str:
    about = f"{_line(document.media_type)}, {size(document.size)}, SHA-256 {document.sha256}"
    return f"\n**document** {_line(document.name)} ({about})\n"


def _line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(visible(text).split())


def _code(text: str) -> str:
    ticks = "`" * (_longest_ticks(text) + 1)
    return f"{ticks}{text}{ticks}"


def _fenced(text: str) -> str:
    """Return a text between fences that are longer than any in it."""
    fence = "`" * max(_SHORT_FENCE, _longest_ticks(text) + 1)
    return f"{fence}\n{text}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
