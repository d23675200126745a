"""One session of a framework: its streams in a conversation, appended to and read.

Every verb is one durable commit. What takes the place of something is compared with the version that
it was read at, and done again where another writer was first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from onrecord.adapters.frameworks.item_events import ItemEvents, backwards, forwards
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.admission import must_refer_back
from onrecord.domain.errors import IdempotencyMismatch, InvalidContent, VersionConflict
from onrecord.domain.items import (
    ItemAmended,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Duplicate
from onrecord.projections.frameworks.current_items import CurrentItems, HeldItem, streams_held
from onrecord.projections.frameworks.known_items import KnownItems

T = TypeVar("T")


class NewItem(NamedTuple):
    """An item to record: the framework's JSON of it, and the framework's own id of it, if it has one."""

    item: JsonObject
    item_id: str | None = None


class Loaded(NamedTuple):
    """What a stream held at a version: items in order, state by name, long strings restored."""

    items: tuple[HeldItem, ...]
    state: Mapping[str, Any]
    version: int


def until_first(act: Callable[[], T]) -> T:
    """Do what another writer may come before, until none does."""
    while True:
        try:
            return act()
        except VersionConflict:
            continue


class ItemSession:
    """A session of a framework; safe to share between threads, and between processes."""

    def __init__(self, stream: Stream, framework: str) -> None:
        """Keep the session in a conversation, which begins with its first event."""
        self.events = ItemEvents(stream)
        self._framework = framework

    def version(self) -> int:
        """Return the last version of the session's conversation; 0 before anything was said."""
        return self.events.attempt(lambda stream: stream.head().version)

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
            done = self.events.append((*new, *puts), expected_version)
        except IdempotencyMismatch:
            if not has_ids:
                raise
        else:
            if not has_ids or not isinstance(done, Duplicate):
                return done
        if expected_version is not None:
            return self._record_unknown(new, puts, stream, expected_version)
        return until_first(lambda: self._record_unknown(new, puts, stream, None))

    def load(
        self, stream: str = "", *, last: int | None = None, until: int | None = None
    ) -> Loaded:
        """Return what a stream holds now, or held at version `until`: all of it, or the last items.

        State is whole only where all items are asked for.
        """
        return self.events.attempt(lambda held: self._load(held, stream, last, until))

    def state(self, key: str, stream: str = "") -> tuple[Any, int]:
        """Return what a stream keeps under a name (None: nothing), and the version it was read at."""

        def read(held: Stream) -> tuple[Any, int]:
            version, events = self.events.from_end(held)
            current = CurrentItems(self._framework, stream)
            for at, event in events:
                current.take(at, event)
                if key in current.state or current.is_complete:
                    break
            return current.state.get(key), version

        return self.events.attempt(read)

    def pop(self, stream: str = "") -> HeldItem | None:
        """Take the last item of a stream away and return it; of those who pop at once each gets another."""

        def take_last() -> HeldItem | None:
            loaded = self.load(stream, last=1)
            if not loaded.items:
                return None
            (item,) = loaded.items
            self.events.append((ItemWithdrawn(version=item.version),), loaded.version)
            return item

        return until_first(take_last)

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
        return self.events.append((replaced, *new), expected_version)

    def amend(self, version: int, item: JsonObject, *, stream: str = "") -> Done:
        """Let the item at a version say something else, at its place and under its id.

        InvalidContent where the stream holds no item there now, and for what is no JSON object;
        MalformedJson for NaN and the like. It costs what was recorded behind the item.
        """
        _must_be_object(item)

        def amend_held() -> Done:
            held, at = self.events.attempt(lambda held: self._held_at(held, stream, version))
            if held is None:
                raise InvalidContent(
                    f"the stream holds no item at version {version}: amend one that `load` returns"
                )
            return self.events.append((ItemAmended(version=version, item=item),), at)

        return until_first(amend_held)

    def clear(self, stream: str | None = None) -> None:
        """Let a stream hold nothing, or, without its name, all streams; the record keeps what it held."""
        if self.version():
            cleared = StreamCleared(
                framework=self._framework, stream=stream or "", whole=stream is None
            )
            self.events.append((cleared,), None)

    def streams(self) -> list[str]:
        """Return the names of the streams that hold items, in the order they began.

        It costs what the session holds: each event is read once.
        """
        return self.events.attempt(
            lambda held: streams_held(self._framework, self.events.from_end(held)[1])
        )

    def holds_anything(self) -> bool:
        """Whether anything was recorded since the session was last deleted."""

        def look(held: Stream) -> bool:
            for _, event in self.events.from_end(held, last=1)[1]:
                match event:
                    case ItemRecorded() | StatePut():
                        return True
                    case StreamCleared(whole=True):
                        return False
                    case _:
                        pass
            return False

        return self.events.attempt(look)

    # How it is done.

    def _recorded(self, new: NewItem, stream: str) -> ItemRecorded:
        _must_be_object(new.item)
        return ItemRecorded(
            framework=self._framework, stream=stream, item_id=new.item_id, item=new.item
        )

    def _record_unknown(
        self,
        items: Sequence[ItemRecorded],
        puts: Sequence[StatePut],
        stream: str,
        expected_version: int | None,
    ) -> Done | None:
        """Record those items that the stream does not have, compared with the version it was read at."""
        known, version = self.events.attempt(lambda held: self._known(held, stream))
        new = known.new_among(items, max(version, 1))
        if not new and not puts:
            return Duplicate(version, version)
        try:
            return self.events.append(
                (*new, *puts), version if expected_version is None else expected_version
            )
        except IdempotencyMismatch:
            # The log looks at ids before it looks at the version: another may have recorded one since.
            if (current := self.version()) == version:
                raise
            raise VersionConflict(version, current) from None

    def _known(self, held: Stream, stream: str) -> tuple[KnownItems, int]:
        known, version = KnownItems(self._framework, stream), held.head().version
        for at, event in forwards(held, version):
            known.take(at, event)
        return known, version

    def _load(self, held: Stream, stream: str, last: int | None, until: int | None) -> Loaded:
        if until is None:
            version, events = self.events.from_end(held, last)
        else:
            version, events = until, backwards(held, until, last)
        current = CurrentItems(self._framework, stream, last)
        for at, event in events:
            if current.is_complete:
                break
            current.take(at, event)
        state = {key: value for key, value in current.state.items() if value is not None}
        return Loaded(tuple(reversed(current.items)), state, version)

    def _held_at(self, held: Stream, stream: str, version: int) -> tuple[HeldItem | None, int]:
        """Return the item that a stream holds at a version, and the version it was read at."""
        current = CurrentItems(self._framework, stream)
        end, events = self.events.from_end(held)
        for at, event in events:
            if at < version:
                break
            current.take(at, event)
        found = (item for item in current.items if item.version == version)
        return next(found, None), end


def _must_be_object(value: object) -> None:
    """Raise InvalidContent where a framework's value is not what it says: nobody else checked it."""
    names = cast("dict[object, object]", value) if isinstance(value, dict) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise InvalidContent("an item is a JSON object: its names are texts")
