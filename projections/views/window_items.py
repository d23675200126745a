"""Which items of a framework's session its window has: those that the main stream holds by now.

They are told as a line of their own, which is always on the main branch, but for what was withdrawn, replaced
or cleared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.views.item_summary import item_summary
from onrecord.projections.views.view import Row

ITEMS: Final = "00000000-0000-0000-0000-000000000001"
"""The line of items: no side branch has this id."""


FOR_EVER: Final = 2**62
"""A version that no conversation reaches."""


class Segment(NamedTuple):
    """Versions of one line (None: the main branch) that the main branch has: after < version <= until."""

    after: int
    until: int
    line: str | None = None

    def has(self, version: int, line: str | None) -> bool:
        """Whether an event is in it."""
        return self.after < version <= self.until and self.line == line


def without(segments: tuple[Segment, ...], after: int, until: int) -> tuple[Segment, ...]:
    """Return the segments less the versions after < version <= until."""
    if after >= until:
        return segments
    parts = (
        part
        for segment in segments
        for part in (
            segment._replace(until=min(segment.until, after)),
            segment._replace(after=max(segment.after, until)),
        )
    )
    return tuple(part for part in parts if part.after < part.until)


def item_columns(members: JsonObject) -> Row | None:
    """Return what an entry says of an item, with all of its text; None where it is no entry.

    Where several speak in an item it is the user's, and a prompt.
    """
    summary = item_summary(members)
    calls = summary.tool_calls + summary.server_tool_calls
    if "stream" in members or not (summary.texts or calls):
        return None
    texts = summary.texts
    role = next((each for each in ("user", "assistant", "system") if each in texts), "assistant")
    return {
        "role": role,
        "opens": role == "user",
        "messages": len(texts),
        "tool_calls": calls,
        "documents": summary.documents,
        "text": "" if role == "system" else texts.get(role, ""),
    }


_PRUNING: Final = frozenset({"langgraph"})
"""Frameworks that replace what they no longer need: a thread still has the messages of a checkpoint
that was pruned."""


def gone_in(name: str, version: int, members: JsonObject) -> Iterator[tuple[int, int]]:
    """Yield the versions whose items are no part of the main stream behind an event: after, until.

    `members` are those of the event, which stands at `version`.
    """
    if "stream" in members:
        return
    match name:
        case "item.withdrawn":
            if 0 < members["version"] < version:
                yield members["version"] - 1, members["version"]
        case "items.replaced" if members["framework"] in _PRUNING:
            return
        case "items.replaced":
            after = 0
            for first, last in members.get("kept", ()):
                yield after, min(first - 1, version)
                after = max(after, min(last, version))
            yield after, version
        case _:
            yield 0, version
