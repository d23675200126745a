"""The item events of one conversation: how they are appended, and read from either end.

Long strings of a framework's JSON are kept as blobs. A conversation that was forgotten is left for a new
one, which begins under the same key.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import chain
from typing import Any, Final, TypeVar
from uuid import UUID

from onrecord.adapters.streams.stream import Done, Stream, stored_again
from onrecord.domain import jsontext
from onrecord.domain.blobs import LIMIT, referenced, restore, spill
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import (
    ConversationForgotten,
    InvalidContent,
    MalformedJson,
    VersionConflict,
)
from onrecord.domain.events import Event
from onrecord.domain.items import ItemAmended, ItemRecorded, StatePut
from onrecord.domain.log import RecordedEvent
from onrecord.projections.frameworks.current_items import TYPES

T = TypeVar("T")

# A body that holds a reference to a blob, or what looks like one, holds this as itself.
_SPILLED: Final = b'"$onrecord.'

_FIRST_PAGE: Final = 64
_BESIDE: Final = 8
"""How many events a page has beside the items that are wanted: what was popped, other streams."""
_LARGEST_PAGE: Final = 4096
_CAME_SINCE: Final = 64
"""How many events may have come since a version was seen, and are read with those before it."""


class ItemEvents:
    """The item events of the conversation of a key; safe to share between threads."""

    def __init__(self, stream: Stream) -> None:
        """Append to a conversation, which begins with its first event."""
        self._first = stream
        self._stream = copy(stream)
        self._seen = 0
        self._lock = threading.Lock()

    def append(
        self,
        events: Sequence[Event],
        expected_version: int | None,
        conversation_id: UUID | None = None,
    ) -> Done:
        """Record events, all or none.

        VersionConflict where `expected_version` was given and is not the last one, or is of another
        conversation than the one that was given; MalformedJson or InvalidContent for what is no JSON.
        """
        spilled: dict[str, bytes] = {}
        ready = tuple(_spilled(event, spilled) for event in events)

        def append(held: Stream) -> Done:
            if conversation_id is not None and held.found() != conversation_id:
                raise VersionConflict(expected_version or 0, _version_of(held))
            for data in spilled.values():
                held.put([data])
            return held.append(*ready, expected_version=expected_version)

        try:
            done = self._attempted(lambda held: stored_again(lambda: append(held)))
        except ConversationForgotten:
            if expected_version:
                # What the caller read is gone: that version of the new conversation is another one.
                raise VersionConflict(expected_version, self.attempt(_version_of)) from None
            done = self.attempt(lambda held: stored_again(lambda: append(held)))
        self._seen = done.last
        return done

    def from_end(
        self, held: Stream, last: int | None = None
    ) -> tuple[int, Iterator[tuple[int, Event]]]:
        """Return the last version, and the item events up to it with theirs, as `backwards` yields them.

        Where a version was seen before, one question tells the last one and the first page.
        """
        if held.found() is None:
            return 0, iter(())
        # It says where to look, no more: others may have recorded since, or begun the session anew.
        seen, size = self._seen, _first_page(last)
        since = held.new_since(max(seen - size, 0), size + _CAME_SINCE if seen else 0)
        self._seen = version = since.head.version
        if not since.events or since.events[-1].version != version:
            return version, backwards(held, version, last)
        return version, chain(
            _page(held, since.events), _pages(held, since.events[0].version - 1, size * 4)
        )

    def attempt(self, act: Callable[[Stream], T]) -> T:
        """Do something in the session's conversation, or in a new one where that was forgotten."""
        try:
            return self._attempted(act)
        except ConversationForgotten:
            return act(self._stream)

    def _attempted(self, act: Callable[[Stream], T]) -> T:
        """Do something in the session's conversation; ConversationForgotten where a new one takes its place."""
        stream = self._stream
        try:
            return act(stream)
        except ConversationForgotten:
            with self._lock:
                if self._stream is stream:
                    self._stream = copy(self._first)
            raise


def _version_of(held: Stream) -> int:
    return held.head().version


def forwards(held: Stream, version: int, *, after: int = 0) -> Iterator[tuple[int, Event]]:
    """Yield the item events with after < version <= `version`, and their versions, in order."""
    for recorded in held.read(after=after, until=version):
        if (event := item_event(held, recorded)) is not None:
            yield recorded.version, event


def backwards(held: Stream, version: int, last: int | None = None) -> Iterator[tuple[int, Event]]:
    """Return the item events up to a version, the last one first, read a page at a time.

    `last` is how many items are wanted, if that is known: the first page has about as many.
    """
    return _pages(held, version, _first_page(last))


def _first_page(last: int | None) -> int:
    return _FIRST_PAGE if last is None else min(last + _BESIDE, _LARGEST_PAGE)


def _pages(held: Stream, version: int, size: int) -> Iterator[tuple[int, Event]]:
    while version > 0:
        size = min(size, _LARGEST_PAGE)
        start = max(version - size, 0)
        yield from _page(held, list(held.read(after=start, until=version)))
        version, size = start, size * 4


def _page(held: Stream, page: Sequence[RecordedEvent]) -> Iterator[tuple[int, Event]]:
    for recorded in reversed(page):
        if (event := item_event(held, recorded)) is not None:
            yield recorded.version, event


def _spilled(event: Event, spilled: dict[str, bytes]) -> Event:
    """Return an event whose long strings are references; what they refer to is added by digest."""
    if (member := _member_of(event)) is None:
        return event
    value = getattr(event, member)
    text = _json_of(value)
    if len(text) <= LIMIT and _SPILLED not in text:
        return event
    ready, found = spill(value)
    spilled.update(found)
    return event.model_copy(update={member: ready})


def _json_of(value: Any) -> bytes:
    """Return the JSON of a value; MalformedJson for what could not be read back as it is."""
    try:
        text = jsontext.write(value)
    except RecursionError:
        raise MalformedJson("nested too deeply to be kept: flatten it") from None
    if not jsontext.gives_back(text, value):
        raise InvalidContent("an item is JSON: keys are texts, lists are lists")
    return text


def item_event(held: Stream, recorded: RecordedEvent) -> Event | None:
    """Return an event that says what streams hold, its long strings restored; None for another one.

    ConversationForgotten where it was erased.
    """
    if recorded.type not in TYPES:
        return None
    match recorded.event():
        case Unrecognised():
            return None
        case Erased():
            # Another process may have begun the session anew, under the same key.
            raise ConversationForgotten
        case event:
            is_spilled = recorded.body is not None and _SPILLED in recorded.body
            return _restored(held, event) if is_spilled else event


def _restored(held: Stream, event: Event) -> Event:
    """Return an event with its long strings, of which references stand in it."""
    if (member := _member_of(event)) is None:
        return event
    value = getattr(event, member)
    blobs = {blob.sha256: held.blob(blob) for blob in referenced(value)}
    return event.model_copy(update={member: restore(value, blobs)})


def _member_of(event: Event) -> str | None:
    """Return the name of the member that holds a framework's own JSON, if an event has one."""
    match event:
        case ItemRecorded() | ItemAmended():
            return "item"
        case StatePut():
            return "value"
        case _:
            return None
