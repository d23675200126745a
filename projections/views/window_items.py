"""What items of a framework's session are in its window, and which the session holds no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.views.item_summary import item_summary
from onrecord.projections.views.view import Row


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


def removed_ranges(name: str, version: int, members: JsonObject) -> Iterator[tuple[int, int]]:
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
