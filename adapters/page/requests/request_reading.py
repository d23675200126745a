"""What the page reads to show a request: no more than is shown, however long the conversation is."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Final

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.history_queries import (
    documents_held,
    recipe_content,
    request_content,
)
from onrecord.adapters.inputs.arguments import version_asked
from onrecord.adapters.page.requests.request_view import Read, RequestView, Setters, request_view
from onrecord.adapters.streams.event_reading import in_force, read_through
from onrecord.adapters.streams.lineage import LineSegment, amendments, parted
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.events import ContentRedacted
from onrecord.domain.head import Pointer
from onrecord.domain.log import Backend
from onrecord.domain.request_template import Recipe
from onrecord.projections.apis.request import Request
from onrecord.projections.history.responses import Place
from onrecord.projections.history.windows import MessageWindow, Window
from onrecord.projections.matching.request_diff import RequestContent

LONG: Final = 1_000
"""Of a conversation of more events only the end is rendered, unless all of it is asked for."""

LOOKED_THROUGH: Final = 500
"""So many events before and after a version are looked through for what is not in the request."""

END: Final = Window(exchanges=50, step=1)
"""The end of a long conversation: what is rendered of it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Which request is shown: its window, the number of its last block, and all of it or its end.

    With a recipe it is made by that: its window is the one of the recipe.
    """

    api: str
    at: int | None = None
    window: Window | MessageWindow | None = None
    upto: int | None = None
    is_whole: bool = False
    recipe: Recipe | None = None


def is_long(conversation: Conversation, version: int) -> bool:
    """Return whether a conversation has so many events up to a version that not all are read."""
    return length_of(stream_of(conversation).lineages().whole(version)) > LONG


def content_of(conversation: Conversation, wish: Wish) -> tuple[Request, RequestContent]:
    """Return the request of a wish and what it is made of, however long the conversation is."""
    if wish.recipe is None:
        return request_content(conversation, wish.at, wish.api, wish.window)
    return recipe_content(conversation, wish.recipe)


def read_request(conversation: Conversation, wish: Wish) -> RequestView:
    """Return the request at a version, as a page shows it."""
    stream = stream_of(conversation)
    head = stream.head()
    version = version_asked(head, wish.at)
    can_be_bounded = not wish.is_whole and wish.window is None
    bounds_window = can_be_bounded and is_long(conversation, version)
    made, content = content_of(conversation, _at_its_end(wish) if bounds_window else wish)
    is_end = bounds_window and content.history.left_out > 0
    if is_end:
        content = replace(content, is_windowed=False)
    read = _read(stream, content, head.version, is_end=is_end, is_whole=wish.is_whole)
    # A request is sent some versions behind those that it is made of.
    return replace(request_view(made, content, read, wish.upto), at=version)


def _at_its_end(wish: Wish) -> Wish:
    if wish.recipe is None:
        return replace(wish, window=END)
    options = {**wish.recipe.options, "window": END.model_dump(mode="json")}
    return replace(wish, recipe=wish.recipe.model_copy(update={"options": options}))


def _read(
    stream: Stream, content: RequestContent, last: int, *, is_end: bool, is_whole: bool
) -> Read:
    """Return what is told beside a request: what is absent, documents, and who declared what is in force."""
    whole = stream.lineages().whole(content.version)
    main, later = stream.lineage(content.version), stream.lineage(last)
    looked_through = whole
    if not is_whole:
        later = stream.lineage(min(last, content.version + LOOKED_THROUGH))
        looked_through = ending(whole, LOOKED_THROUGH)
        if is_end and (first := _first(content)) is not None:
            looked_through = behind(looked_through, first)
    before = length_of(whole) - length_of(looked_through)
    held = later if before == 0 else behind(later, _start(looked_through))
    redacted = amendments(stream.backend, main).redacted
    return Read(
        recorded=read_through(stream.backend, looked_through),
        documents=documents_held(stream.backend, held),
        setters=_setters(stream, main, redacted),
        not_looked_through=before,
        is_end=is_end,
        redactions=redacted_later(stream.backend, whole, redacted),
    )


def redacted_later(
    backend: Backend, segments: tuple[LineSegment, ...], applied: Container[Place]
) -> dict[Place, int]:
    """Return the versions that redacted events of these conversations up to now, but for those applied."""
    later: dict[Place, int] = {}
    for owner in {segment.conversation_id for segment in segments}:
        until_now = LineSegment(owner, backend.head(owner).version)
        for recorded in amendments(backend, (until_now,)).redactions:
            event = recorded.event()
            if isinstance(event, ContentRedacted) and (owner, event.version) not in applied:
                later.setdefault((owner, event.version), recorded.version)
    return later


def declared_in(stream: Stream, version: int) -> Setters:
    """Return where the instructions and tools were declared that were in force at a version."""
    main = stream.lineage(version)
    return _setters(stream, main, amendments(stream.backend, main).redacted)


def _setters(
    stream: Stream, segments: tuple[LineSegment, ...], redacted: frozenset[Place]
) -> Setters:
    return Setters(
        instructions=_declared(stream, segments, "instructions", redacted),
        tools=_declared(stream, segments, "tools", redacted),
    )


def _declared(
    stream: Stream,
    segments: tuple[LineSegment, ...],
    pointer: Pointer,
    redacted: frozenset[Place],
) -> Place | None:
    setter = in_force(stream.backend, segments, pointer, redacted)
    return None if setter is None else (setter.conversation_id, setter.version)


def _first(content: RequestContent) -> Place | None:
    """Return where the first event of a request is; a summary stands behind what follows it."""
    places = [block.place for turn in content.history.turns for block in turn.blocks]
    return min((each for each in places if each[0] == places[0][0]), default=None, key=_version)


def _version(place: Place) -> int:
    return place[1]


# Parts of a lineage, counted by events; pure.


def length_of(segments: Iterable[LineSegment]) -> int:
    """Return how many versions segments have."""
    return sum(segment.until - segment.after for segment in segments)


def ending(segments: tuple[LineSegment, ...], count: int) -> tuple[LineSegment, ...]:
    """Return the last versions of segments, so many of them."""
    kept: list[LineSegment] = []
    for segment in reversed(segments):
        if count <= 0:
            break
        after = max(segment.after, segment.until - count)
        kept.insert(0, replace(segment, after=after))
        count -= segment.until - after
    return tuple(kept)


def behind(segments: tuple[LineSegment, ...], first: Place) -> tuple[LineSegment, ...]:
    """Return the segments from an event on; all of them where they have it not."""
    owner, version = first
    if owner is None or not any(segment.conversation_id == owner for segment in segments):
        return segments
    return parted(segments, owner, version - 1)[1]


def _start(segments: tuple[LineSegment, ...]) -> Place:
    return segments[0].conversation_id, segments[0].after + 1
