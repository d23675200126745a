"""What changed between two requests, for showing; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from onrecord.adapters.page.requests.document_view import REASONS
from onrecord.adapters.page.requests.request_view import line_of
from onrecord.projections.history.history import Note
from onrecord.projections.matching.request_diff import EventChange, RequestDiff


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A change: to an event, to the instructions, or to a tool.

    `version` is the event's, None of what is none; `is_own` is False where a fork's origin has it.
    `before` and `after` are the notes that only one of the two reports has.
    """

    change: str
    version: int | None
    is_own: bool
    kind: str
    text: str
    why: str
    before: tuple[Note, ...] = ()
    after: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffView:
    """What changed from the request at version `a` to the one at version `b`."""

    a: int
    b: int
    changes: tuple[ChangeView, ...]


def diff_view(diff: RequestDiff, conversation: UUID) -> DiffView:
    """Return what changed in the requests of a conversation, what holds for all of it first."""
    changes = (*_settings(diff), *(_event(each, conversation) for each in diff.events))
    return DiffView(diff.a, diff.b, changes)


def _settings(diff: RequestDiff) -> Iterator[ChangeView]:
    instructions, tools = diff.instructions, diff.tools
    if instructions is not None and instructions.before:
        yield ChangeView("removed", None, True, "instructions", instructions.before, "")
    if instructions is not None and instructions.after:
        yield ChangeView("added", None, True, "instructions", instructions.after, "")
    if tools is None:
        return
    for change in ("added", "removed", "changed"):
        for name in getattr(tools, change):
            yield ChangeView(change, None, True, "tool", name, "")


def _event(change: EventChange, conversation: UUID) -> ChangeView:
    kind, text = line_of(change.event)
    other = {"added": "Before: ", "removed": "Now: "}.get(change.change, "")
    return ChangeView(
        change=change.change,
        version=change.event.version,
        is_own=change.event.conversation_id == conversation,
        kind=kind,
        text=text,
        why=other + REASONS[change.reason] if change.reason else "",
        before=tuple(note for note in change.before if note not in change.after),
        after=tuple(note for note in change.after if note not in change.before),
    )
