"""The branches of one session: streams of its conversation, and which of them the holder goes on with.

The main branch is the stream without a name. While it is the current one, nothing here is asked. A
name that a branch had is not given again.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from onrecord.adapters.frameworks.item_events import backwards, forwards, item_event
from onrecord.adapters.frameworks.session import ItemSession, Loaded, NewItem, until_first
from onrecord.adapters.frameworks.sessions import must_be_an_id
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import Event
from onrecord.domain.items import ItemRecorded, ItemWithdrawn, StatePut, StreamCleared
from onrecord.projections.frameworks.branch_items import ORIGIN, BranchItems, Origin
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.openai_agents import OPENAI_AGENTS
from onrecord.projections.frameworks.openai_turns import is_prompt, turns_of

MAIN: Final = "main"


class Branch(NamedTuple):
    """What a branch holds: items in order, and state by name; `begun` is 0 for the main one.

    `recorded_at` has the time of each event of the session by its version, in microseconds.
    """

    name: str
    items: tuple[HeldItem, ...]
    state: Mapping[str, Any]
    begun: int
    recorded_at: Mapping[int, int]


class TurnPlace(NamedTuple):
    """Where a turn is: its branch, and the version of the item that it begins with."""

    branch: str
    begin: int


class _Pointer(NamedTuple):
    """The branch that a holder goes on with, as of a version of a conversation."""

    branch: str
    conversation: UUID | None = None
    version: int = 0


class _ItemEvents(NamedTuple):
    """All item events of a session with their versions, in order, and when each was recorded."""

    events: list[tuple[int, Event]]
    recorded_at: dict[int, int]


class _Read(NamedTuple):
    """A branch as it was read at a version; `current` may have its last items alone."""

    branch: str
    current: BranchItems
    version: int

    @property
    def stream(self) -> str:
        return _stream_of(self.branch)


class Branches:
    """The branches of one session; safe to share between threads."""

    def __init__(self, session: ItemSession) -> None:
        """Begin on the main branch."""
        self._session = session
        self._pointer = _Pointer(MAIN)
        self._lock = threading.Lock()

    @property
    def _is_main(self) -> bool:
        return self._pointer.branch == MAIN

    # Reading and writing on a branch.

    def load(self, branch: str | None = None, last: int | None = None) -> Loaded:
        """Return what a branch holds, the current one without a name: all of it, or the last items."""
        if branch == MAIN or (branch is None and self._is_main):
            return self._session.load(last=last)
        read = self._read(branch, last)
        return Loaded(tuple(reversed(read.current.items)), read.current.state, read.version)

    def add(self, items: Sequence[NewItem]) -> None:
        """Record items behind the current branch."""
        if self._is_main:
            self._session.record(items)
            return

        def add() -> None:
            read = self._read(None, 0)
            self._session.record(items, stream=read.stream, expected_version=read.version)

        until_first(add)

    def pop(self) -> HeldItem | None:
        """Take the last item off the current branch; other branches that hold it keep it."""
        if self._is_main:
            return self._session.pop()

        def pop() -> HeldItem | None:
            read = self._read(None, 1)
            if not read.current.items:
                return None
            (item,) = read.current.items
            if item.version > read.current.begun:
                self._session.events.append((ItemWithdrawn(version=item.version),), read.version)
            else:
                kept = ((0, item.version - 1),)
                self.replace(kept, (), branch=read.branch, expected_version=read.version)
            return item

        return until_first(pop)

    def replace(
        self,
        kept: Sequence[tuple[int, int]],
        items: Sequence[NewItem],
        *,
        branch: str,
        expected_version: int,
    ) -> None:
        """Let a branch keep ranges of versions, and new items behind; errors as `ItemSession.replace`."""
        stream = _stream_of(branch)
        self._session.replace(kept, items, stream=stream, expected_version=expected_version)

    def put(self, branch: str, state: Mapping[str, Any]) -> None:
        """Let a branch keep something by name."""
        self._session.record(stream=_stream_of(branch), state=state)

    def clear(self) -> None:
        """Let the session hold nothing, and go on with the main branch."""
        self._session.clear()
        if not self._is_main:
            self._point(_Pointer(MAIN))

    # The branches themselves.

    def create(self, turn: int, name: str | None) -> str:
        """Begin a branch with what comes before a turn of the current one, go on with it, return its name.

        InvalidInput where no user's message begins that turn, or the name was used before.
        """
        if name is not None:
            must_be_an_id("the name of a branch", name)

        def create() -> str:
            read = self._read()
            before = _begin_of(turn, read)
            branch = self._unused_name(name, turn, read.version)
            origin = StatePut(
                framework=OPENAI_AGENTS.name,
                stream=branch,
                key=ORIGIN,
                value=Origin(read.stream, before).value(),
            )
            self._session.events.append((origin,), read.version)
            self._point(self._pointer_to(branch, read.version + 1))
            return branch

        return until_first(create)

    def switch(self, branch: str) -> None:
        """Go on with another branch; InvalidInput where it is not there."""
        self._point(self._pointer_to(branch, self._must_exist(branch)))

    def delete(self, branch: str, *, force: bool) -> None:
        """Let a branch hold nothing; the record keeps what it held.

        InvalidInput for the main branch, one that is not there, and the current one without `force`.
        """
        must_be_an_id("the name of a branch", branch)
        if branch == MAIN:
            raise InvalidInput("the main branch cannot be deleted: clear the session")
        is_current = branch == self.resolved()
        if is_current and not force:
            raise InvalidInput(
                f"branch {branch!r} is the current one: switch to another one, or use force"
            )
        self._must_exist(branch)
        self._session.clear(branch)
        if is_current:
            self._point(_Pointer(MAIN))

    def all(self) -> list[Branch]:
        """Return the branches in the order in which they began, the main one first."""
        told = self._session.events.attempt(_everything)
        names = dict.fromkeys((MAIN, *_names(event for _, event in told.events)))
        return [found for name in names if (found := _folded(name, told)) is not None]

    def one(self, branch: str | None = None) -> Branch:
        """Return a branch, the current one without a name; one that is not there holds nothing."""
        name = self._read(branch, 0).branch
        told = self._session.events.attempt(_everything)
        return _folded(name, told) or Branch(name, (), {}, 0, {})

    def last_turn(self) -> TurnPlace | None:
        """Return where the last turn of the current branch is; None where that holds nothing."""
        read = self._read(is_enough=_has_prompt)
        if not read.current.items:
            return None
        return TurnPlace(read.branch, read.current.items[-1].version)

    def resolved(self) -> str:
        """Return the current branch's name: the main one's where it was deleted or the session emptied."""
        return MAIN if self._is_main else self._read(None, 0).branch

    # How it is done.

    def _read(
        self,
        branch: str | None = None,
        last: int | None = None,
        is_enough: Callable[[BranchItems], bool] = lambda current: current.is_complete,
    ) -> _Read:
        """Read a branch from its end, the current one without a name: until it is enough."""
        if branch is not None:
            must_be_an_id("the name of a branch", branch)

        def read(stream: Stream) -> _Read:
            version = stream.head().version
            name = self._resolved(stream, version) if branch is None else branch
            current = BranchItems(OPENAI_AGENTS.name, _stream_of(name), last)
            if not current.is_complete:
                for at, event in backwards(stream, version, last):
                    current.take(at, event)
                    if is_enough(current):
                        break
            return _Read(name, current, version)

        return self._session.events.attempt(read)

    def _resolved(self, stream: Stream, version: int) -> str:
        """Return the current branch at a version: the main one where it was deleted or the session emptied."""
        pointer = self._pointer
        if pointer.branch == MAIN:
            return MAIN
        if pointer.conversation != stream.found() or _emptied(stream, pointer, version):
            moved = _Pointer(MAIN)
        else:
            moved = pointer._replace(version=version)
        with self._lock:
            # Another task may have switched since.
            if self._pointer is pointer:
                self._pointer = moved
        return moved.branch

    def _pointer_to(self, branch: str, version: int) -> _Pointer:
        conversation = self._session.events.attempt(lambda stream: stream.found())
        return _Pointer(branch, conversation, version)

    def _point(self, pointer: _Pointer) -> None:
        with self._lock:
            self._pointer = pointer

    def _unused_name(self, name: str | None, turn: int, version: int) -> str:
        used = self._session.events.attempt(lambda stream: _used_names(stream, version))
        if name is None:
            return next(made for made in _made_names(turn) if made not in used)
        if name == MAIN:
            raise InvalidInput(f"{name!r} is the session's own branch: choose another name")
        if name in used:
            raise InvalidInput(
                f"a branch of this session was called {name!r} before: choose another name"
            )
        return name

    def _must_exist(self, branch: str) -> int:
        """Return the version at which a branch was there."""
        read = self._read(branch, 1)
        if branch != MAIN and not (read.current.begun or read.current.items):
            raise InvalidInput(f"there is no branch {branch!r}")
        return read.version


def _stream_of(branch: str) -> str:
    return "" if branch == MAIN else branch


def _begin_of(number: int, read: _Read) -> int:
    """Return the version of the user's message that a turn begins with."""
    for turn in turns_of(reversed(read.current.items)):
        if turn.number == number and number > 0:
            return turn.first.version
    raise InvalidInput(f"turn {number} has no message of a user in branch {read.branch!r}")


def _has_prompt(current: BranchItems) -> bool:
    """Whether a user's message was met, or nothing is to come."""
    return current.is_complete or (bool(current.items) and is_prompt(current.items[-1].item))


def _everything(stream: Stream) -> _ItemEvents:
    told = _ItemEvents([], {})
    for recorded in stream.read():
        if (event := item_event(stream, recorded)) is not None:
            told.events.append((recorded.version, event))
            told.recorded_at[recorded.version] = recorded.recorded_at
    return told


def _folded(name: str, told: _ItemEvents) -> Branch | None:
    """Return a branch; None where it is not there. The main one always is."""
    current = BranchItems(OPENAI_AGENTS.name, _stream_of(name))
    for version, event in reversed(told.events):
        current.take(version, event)
    if name != MAIN and not (current.begun or current.items):
        return None
    items = tuple(reversed(current.items))
    return Branch(name, items, current.state, current.begun, told.recorded_at)


def _names(events: Iterable[Event]) -> Iterator[str]:
    """Yield the names of all branches that ever were, in the order in which they began."""
    for event in events:
        if isinstance(event, ItemRecorded | StatePut) and event.framework == OPENAI_AGENTS.name:
            yield event.stream or MAIN


def _used_names(stream: Stream, version: int) -> set[str]:
    return {MAIN, *_names(event for _, event in forwards(stream, version))}


def _made_names(turn: int) -> Iterator[str]:
    yield f"branch_from_turn_{turn}"
    yield from (f"branch_from_turn_{turn}_{number}" for number in itertools.count(2))


def _emptied(stream: Stream, pointer: _Pointer, version: int) -> bool:
    """Whether a branch was cleared behind its pointer: alone, or with the whole session."""
    return any(
        isinstance(event, StreamCleared) and (event.whole or event.stream == pointer.branch)
        for _, event in forwards(stream, version, after=pointer.version)
    )
