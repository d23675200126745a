"""Two requests beside each other, for showing: what is in both, in one alone, or otherwise, and why; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from uuid import UUID

from onrecord.adapters.page.requests.absent_events import REASONS, line_of
from onrecord.adapters.page.requests.block_views import OriginView, origin_view
from onrecord.adapters.page.requests.document_view import DocumentView
from onrecord.projections.history.history import Note
from onrecord.projections.history.responses import Place
from onrecord.projections.matching.request_diff import EventChange, RequestContent, RequestDiff

CHANGES: Final = 300
"""The most changes that are shown, and the most events that are alike."""

Change = Literal["added", "removed", "changed"]

DocumentPair: TypeAlias = tuple[DocumentView, DocumentView]
"""Where a document is in the request before, and where in the one after."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents that two requests may have; those of so many events before are not among them."""

    pairs: tuple[DocumentPair, ...] = ()
    not_looked_through: int = 0


@dataclass(frozen=True, slots=True)
class Side:
    """One of two requests: its version, its API, and whether it is made as it was sent."""

    version: int
    api: str
    is_as_sent: bool
    content: RequestContent


@dataclass(frozen=True, slots=True)
class Form:
    """How one of two requests has something: why it has it not, and what its report says of it."""

    why: str = ""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A change: to an event, to the instructions, or to a tool; `origin` is None where it is no event's."""

    change: Change
    kind: str
    text: str
    origin: OriginView | None = None
    before: Form = Form()
    after: Form = Form()


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """What changed from one request to another.

    `alike` are the events that both have in the same form. `more` counts the changes that are not
    shown, `not_looked_through` the events whose documents were not compared.
    """

    before: Side
    after: Side
    changes: tuple[ChangeView, ...]
    more: int
    alike: tuple[OriginView, ...]
    not_looked_through: int = 0


def comparison_view(
    diff: RequestDiff,
    before: Side,
    after: Side,
    documents: Documents,
    redactions: Mapping[Place, int],
) -> ComparisonView:
    """Return how two requests of a conversation differ, what holds for all of it first.

    `redactions` are the versions that redacted events behind both requests.
    """
    places = {**before.content.blocks(), **after.content.blocks()}
    notes = before.content.notes(places), after.content.notes(places)
    conversation = after.content.conversation
    events = (_event(each, notes, conversation, redactions) for each in diff.events[:CHANGES])
    return ComparisonView(
        before=before,
        after=after,
        changes=(*_settings(diff), *_documents(documents.pairs), *events),
        more=max(0, len(diff.events) - CHANGES),
        alike=tuple(origin_view(place, conversation) for place in _alike(diff, before, after)),
        not_looked_through=documents.not_looked_through,
    )


def _alike(diff: RequestDiff, before: Side, after: Side) -> Iterator[Place]:
    changed = {(each.event.conversation_id, each.event.version) for each in diff.events}
    others = after.content.blocks()
    for place in before.content.blocks():
        if place in others and place not in changed:
            yield place


def _settings(diff: RequestDiff) -> Iterator[ChangeView]:
    instructions, tools = diff.instructions, diff.tools
    if instructions is not None and instructions.before:
        yield ChangeView("removed", "instructions", instructions.before)
    if instructions is not None and instructions.after:
        yield ChangeView("added", "instructions", instructions.after)
    if tools is None:
        return
    yield from (ChangeView("added", "tool", name) for name in tools.added)
    yield from (ChangeView("removed", "tool", name) for name in tools.removed)
    yield from (ChangeView("changed", "tool", name) for name in tools.changed)


def _documents(documents: Iterable[DocumentPair]) -> Iterator[ChangeView]:
    for before, after in documents:
        if before.is_seen == after.is_seen:
            continue
        yield ChangeView(
            change="added" if after.is_seen else "removed",
            kind="document",
            text=f"{after.name} ({after.media_type})" if after.name else after.media_type,
            origin=OriginView(after.version, after.is_own),
            before=_whereabouts(before),
            after=_whereabouts(after),
        )


def _whereabouts(document: DocumentView) -> Form:
    return Form(REASONS["not recorded yet"] if document.is_later else document.why)


def _event(
    change: EventChange,
    notes: tuple[Mapping[Place, tuple[Note, ...]], Mapping[Place, tuple[Note, ...]]],
    conversation: UUID,
    redactions: Mapping[Place, int],
) -> ChangeView:
    place = change.event.conversation_id, change.event.version
    one, other = (each.get(place, ()) for each in notes)
    kind, text = line_of(change.event)
    return ChangeView(
        change=change.change,
        kind=kind,
        text=text,
        origin=origin_view(place, conversation, redactions),
        before=_form(one, other, change, "added"),
        after=_form(other, one, change, "removed"),
    )


def _form(
    own: tuple[Note, ...], others: tuple[Note, ...], change: EventChange, absent: Change
) -> Form:
    """Return how one request has an event; `absent` is the change that says that it has it not."""
    notes = tuple(note for note in own if note not in others)
    if change.change == absent and change.reason is not None:
        is_said = any(note.deed == "left out" for note in notes)
        return Form("" if is_said else REASONS[change.reason], notes)
    return Form("" if own or change.change != "changed" else _AS_RECORDED, notes)


_AS_RECORDED: Final = "Goes as it was recorded."
