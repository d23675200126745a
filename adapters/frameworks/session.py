"""One session of a framework: its streams in a conversation, appended to and read.

Every verb is one durable commit. What takes the place of something is compared with the version that
it was read at, and done again where another writer was first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Final, NamedTuple, TypeVar, cast

from onrecord.adapters.streams.stream import Done, Stream, stored_again
from onrecord.domain import jsontext
from onrecord.domain.admission import must_refer_back
from onrecord.domain.blobs import referenced, restore, spill
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import (
    ConversationForgotten,
    IdempotencyMismatch,
    InvalidContent,
    MalformedJson,
    VersionConflict,
)
from onrecord.domain.events import Event
from onrecord.domain.items import (
    ItemAmended,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Duplicate, RecordedEvent
from onrecord.projections.frameworks.current_items import TYPES, CurrentItems, HeldItem
from onrecord.projections.frameworks.known_items import KnownItems

T = TypeVar("T")

# A body that holds a reference to a blob, or what looks like one, holds this as itself.
_SPILLED: Final = b'"$onrecord.'

_FIRST_PAGE: Final = 64
_BESIDE: Final = 8
"""How many events a page has beside the items that are wanted: what was popped, other streams."""
_LARGEST_PAGE: Final = 4096


class NewItem(NamedTuple):
    """An item to record: the framework's JSON of it, and the framework's own id of it, if it has one."""

    item: JsonObject
    item_id: str | None = None


class Loaded(NamedTuple):
    """What a stream held at a version: items in order, state by name, long strings restored."""

    items: tuple[HeldItem, ...]
    state: Mapping[str, Any]
    version: int


class ItemSession:
    """A session of a framework; safe to share between threads, and between processes."""

    def __init__(self, stream: Stream, framework: str) -> None:
        """Keep the session in a conversation, which begins with its first event."""
        self._first = stream
        self._stream = copy(stream)
        self._framework = framework
        self._lock = threading.Lock()

    def version(self) -> int:
        """Return the last version of the session's conversation; 0 before anything was said."""
        return self._attempt(lambda stream: stream.head().version)

    def record(
        self,
        items: Sequence[NewItem] = (),
        *,
        stream: str = "",
        state: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> Done | None:
        """Record items at the end of a stream, and state by name: all, or nothing.

        An item whose id the stream has is not recorded again; where it says something else, it is
        kept beside the stream. None where there was nothing to record. VersionConflict where
        `expected_version` was given and is not the last one; MalformedJson for NaN and the like.
        """
        puts = tuple(
            StatePut(framework=self._framework, stream=stream, key=key, value=value)
            for key, value in (state or {}).items()
        )
        if not items and not puts:
            return None
        new = tuple(self._recorded(item, stream) for item in items)
        has_ids = any(item.item_id is not None for item in new)
        try:
            done = self._append((*new, *puts), expected_version)
        except IdempotencyMismatch:
            if not has_ids:
                raise
        else:
            if not has_ids or not isinstance(done, Duplicate):
                return done
        return self._again(
            lambda: self._record_unknown(new, puts, stream, expected_version), expected_version
        )

    def load(
        self, stream: str = "", *, last: int | None = None, until: int | None = None
    ) -> Loaded:
        """Return what a stream holds now, or held at version `until`: all of it, or the last items.

        State is whole only where all items are asked for.
        """
        return self._attempt(lambda held: self._load(held, stream, last, until))

    def state(self, key: str, stream: str = "") -> tuple[Any, int]:
        """Return what a stream keeps under a name (None: nothing), and the version it was read at."""

        def read(held: Stream) -> tuple[Any, int]:
            version = held.head().version
            current = CurrentItems(self._framework, stream)
            for at, event in _backwards(held, version):
                current.take(at, event)
                if key in current.state or current.is_complete:
                    break
            return current.state.get(key), version

        return self._attempt(read)

    def pop(self, stream: str = "") -> HeldItem | None:
        """Take the last item of a stream away and return it; of those who pop at once each gets another."""

        def take_last() -> HeldItem | None:
            loaded = self.load(stream, last=1)
            if not loaded.items:
                return None
            (item,) = loaded.items
            self._append((ItemWithdrawn(version=item.version),), loaded.version)
            return item

        return self._again(take_last)

    def replace(
        self,
        kept: Iterable[tuple[int, int]],
        items: Sequence[NewItem],
        *,
        stream: str = "",
        expected_version: int,
    ) -> Done:
        """Let a stream keep what it holds within ranges of versions, and new items behind that, at once.

        A range is its first and its last version; ranges come in order. VersionConflict where the
        session is no longer at `expected_version`, InvalidContent for ranges that are out of order.
        """
        replaced = ItemsReplaced(framework=self._framework, stream=stream, kept=tuple(kept))
        must_refer_back(replaced, expected_version + 1)
        new = (self._recorded(item, stream) for item in items)
        return self._append((replaced, *new), expected_version)

    def clear(self, stream: str | None = None) -> None:
        """Let a stream hold nothing, or, without its name, all streams; the record keeps what it held."""
        if self.version():
            cleared = StreamCleared(
                framework=self._framework, stream=stream or "", whole=stream is None
            )
            self._append((cleared,), None)

    def streams(self) -> list[str]:
        """Return the names of the streams that hold items or state, in the order they began."""

        def read(held: Stream) -> list[str]:
            names: dict[str, bool] = {}
            for _, event in _forwards(held, held.head().version):
                match event:
                    case ItemRecorded(stream=name) | StatePut(stream=name):
                        names[name] = True
                    case StreamCleared(whole=True):
                        names.clear()
                    case StreamCleared(stream=name):
                        names.pop(name, None)
                    case _:
                        pass
            return [name for name in names if self._load(held, name, 1, None).items]

        return self._attempt(read)

    def holds_anything(self) -> bool:
        """Whether anything was recorded since the session was last deleted."""

        def look(held: Stream) -> bool:
            for _, event in _backwards(held, held.head().version):
                match event:
                    case ItemRecorded() | StatePut():
                        return True
                    case StreamCleared(whole=True):
                        return False
                    case _:
                        pass
            return False

        return self._attempt(look)

    # How it is done.

    def _recorded(self, new: NewItem, stream: str) -> ItemRecorded:
        if not _is_object(new.item):
            raise InvalidContent("an item is a JSON object: its names are texts")
        return ItemRecorded(
            framework=self._framework, stream=stream, item_id=new.item_id, item=new.item
        )

    def _append(self, events: Sequence[Event], expected_version: int | None) -> Done:
        spilled: dict[str, bytes] = {}
        ready = tuple(_spilled(event, spilled) for event in events)

        def append(held: Stream) -> Done:
            for data in spilled.values():
                held.put([data])
            return held.append(*ready, expected_version=expected_version)

        return self._attempt(lambda held: stored_again(lambda: append(held)))

    def _record_unknown(
        self,
        items: Sequence[ItemRecorded],
        puts: Sequence[StatePut],
        stream: str,
        expected_version: int | None,
    ) -> Done | None:
        """Record those items that the stream does not have, compared with the version it was read at."""
        known, version = self._attempt(lambda held: self._known(held, stream))
        new = known.new_among(items, max(version, 1))
        if not new and not puts:
            return Duplicate(version, version)
        try:
            return self._append(
                (*new, *puts), version if expected_version is None else expected_version
            )
        except IdempotencyMismatch:
            # The log looks at ids before it looks at the version: another may have recorded one since.
            if (current := self.version()) == version:
                raise
            raise VersionConflict(version, current) from None

    def _known(self, held: Stream, stream: str) -> tuple[KnownItems, int]:
        known, version = KnownItems(self._framework, stream), held.head().version
        for at, event in _forwards(held, version):
            known.take(at, event)
        return known, version

    def _load(self, held: Stream, stream: str, last: int | None, until: int | None) -> Loaded:
        version = held.head().version if until is None else until
        current = CurrentItems(self._framework, stream, last)
        for at, event in _backwards(held, version, last):
            if current.is_complete:
                break
            current.take(at, event)
        state = {key: value for key, value in current.state.items() if value is not None}
        return Loaded(tuple(reversed(current.items)), state, version)

    def _again(self, act: Callable[[], T], expected_version: int | None = None) -> T:
        """Do what another writer may come before, until none does; at once if the caller names a version."""
        while True:
            try:
                return act()
            except VersionConflict:
                if expected_version is not None:
                    raise

    def _attempt(self, act: Callable[[Stream], T]) -> T:
        """Do something in the session's conversation, or in a new one where that was forgotten."""
        stream = self._stream
        try:
            return act(stream)
        except ConversationForgotten:
            with self._lock:
                if self._stream is stream:
                    self._stream = copy(self._first)
            return act(self._stream)


def _spilled(event: Event, spilled: dict[str, bytes]) -> Event:
    """Return an event whose long strings are references; what they refer to is added by digest."""
    if (member := _member_of(event)) is None:
        return event
    value = getattr(event, member)
    _must_be_json(value)
    ready, found = spill(value)
    spilled.update(found)
    return event.model_copy(update={member: ready})


def _is_object(value: object) -> bool:
    """Return whether a framework's value is what it says: nobody else checked it."""
    if not isinstance(value, dict):
        return False
    return all(isinstance(name, str) for name in cast("dict[object, object]", value))


def _must_be_json(value: Any) -> None:
    """Raise MalformedJson for what could not be read back as it is."""
    try:
        text = jsontext.write(value)
    except RecursionError:
        raise MalformedJson("nested too deeply to be kept: flatten it") from None
    if jsontext.read_bounded(text) != value:
        raise InvalidContent("an item is JSON: keys are texts, lists are lists")


def _forwards(held: Stream, version: int) -> Iterator[tuple[int, Event]]:
    """Yield events that say what streams hold, and their versions, in order."""
    for recorded in held.read(until=version):
        yield from _of_streams(held, recorded)


def _backwards(held: Stream, version: int, last: int | None = None) -> Iterator[tuple[int, Event]]:
    """Yield events that say what streams hold, the last one first, read a page at a time."""
    size = _FIRST_PAGE if last is None else min(last + _BESIDE, _LARGEST_PAGE)
    while version > 0:
        start = max(version - size, 0)
        for recorded in reversed(list(held.read(after=start, until=version))):
            yield from _of_streams(held, recorded)
        version, size = start, min(size * 4, _LARGEST_PAGE)


def _of_streams(held: Stream, recorded: RecordedEvent) -> Iterator[tuple[int, Event]]:
    """Yield an event that says what streams hold; ConversationForgotten where it was erased."""
    if recorded.type not in TYPES:
        return
    match recorded.event():
        case Unrecognised():
            return
        case Erased():
            # Another process may have begun the session anew, under the same key.
            raise ConversationForgotten
        case event:
            is_spilled = recorded.body is not None and _SPILLED in recorded.body
            yield recorded.version, _restored(held, event) if is_spilled else event


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
