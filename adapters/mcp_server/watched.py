"""Conversations that an agent watches: it is told when one has grown, and reads it anew."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from onrecord.adapters.mcp_server.passages import names_in
from onrecord.adapters.mcp_server.scope import Scope
from onrecord.adapters.storage.steps import Steps, steps_of
from onrecord.adapters.storage.subscription import Wakeups, wakeups_of
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import ConversationNotFound, InvalidInput, StorageError

MOST: Final = 100
"""How many conversations one agent watches at once."""

_PACE: Final = 1.0
"""Seconds until the log is looked at again, though nothing told that it has grown."""

_REST: Final = 0.1
"""Seconds before each look: what is appended meanwhile is one look, however much it is."""


class Moves(Protocol):
    """Tells that a log may have moved on, so that it is worth a look."""

    def seen(self) -> object:
        """Return what to pass to `wait` after a look."""
        ...

    async def wait(self, seen: object) -> bool:
        """Return after a move since then, or after some time; False where nobody is to look any more."""
        ...


@dataclass(frozen=True, slots=True)
class LogMoves:
    """The moves of a log, as this process is told of them; others' are seen at a pace."""

    wakeups: Wakeups

    def seen(self) -> object:
        """Return how many appends there were."""
        return self.wakeups.seen()

    async def wait(self, seen: object) -> bool:
        """Return after an append, or after a second; False where the store was closed."""
        await self.wakeups.awaited(cast("int", seen), _PACE)
        return not self.wakeups.closed


def moves_of(scope: Scope) -> LogMoves:
    """Return the moves of the log that a scope is of."""
    return LogMoves(wakeups_of(backend_of(scope.store)))


@dataclass(slots=True)
class Watched:
    """The conversations that are watched, by their URIs, and the version that each was seen at."""

    scope: Scope
    moves: Moves
    versions: dict[str, int] = field(default_factory=dict[str, int])
    _end: object = None

    async def add(self, uri: str) -> None:
        """Watch a conversation; InvalidInput or ConversationNotFound where none is shown there."""
        if uri not in self.versions and len(self.versions) >= MOST:
            raise InvalidInput(f"at most {MOST} conversations are watched at once")
        self.versions[uri] = await self._steps.run_long(lambda: self._version(uri))
        self._end = None  # It may have grown before it was watched.

    def remove(self, uri: str) -> None:
        """Watch a conversation no more."""
        self.versions.pop(uri, None)

    async def grown(self) -> list[str]:
        """Return the URIs of conversations that have grown, or are shown no more, once there are any.

        Nothing where none is watched any more, or where nobody is to look any more.
        """
        goes_on = True
        while self.versions and goes_on:
            await asyncio.sleep(_REST)
            seen = self.moves.seen()
            try:
                if found := await self._steps.run_long(self._look):
                    return found
            except StorageError:
                self._end = None  # The store is away: what grows meanwhile is found later.
            goes_on = await self.moves.wait(seen)
        return []

    def _look(self) -> list[str]:
        """Return what has grown since the last look; where the log is as it was, nothing is read."""
        backend = backend_of(self.scope.store)
        end = backend.erasures(), list(backend.cursors())
        if end == self._end:
            return []
        self._end = end
        watched = tuple(self.versions.items())
        return [uri for uri, version in watched if self._has_grown(uri, version)]

    def _has_grown(self, uri: str, seen: int) -> bool:
        try:
            version = self._version(uri)
        except ConversationNotFound:
            self.remove(uri)  # It was forgotten: there is nothing more to tell.
            return True
        if uri in self.versions:
            self.versions[uri] = version
        return version != seen

    def _version(self, uri: str) -> int:
        match names_in(uri):
            case ("conversations", str(key)) if key:
                return self.scope.conversation(key).head().version
            case _:
                raise InvalidInput("only a conversation grows: subscribe to its resource")

    @property
    def _steps(self) -> Steps:
        return steps_of(backend_of(self.scope.store))
