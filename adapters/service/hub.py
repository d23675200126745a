"""The hub of tails: each shard of the log is read once a process, and new events go to all who wait.

A tail is a place in the log. As long as it keeps up, its events come from what the hub read last. One
that is behind that, since it resumes or since its client is slow, reads the log by itself until it has
caught up: so however many tails there are, and however slow, memory holds one short stretch a tenant.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.adapters.service.events import event_documents
from onrecord.adapters.service.model import json_bytes
from onrecord.adapters.storage.steps import Steps
from onrecord.adapters.storage.subscription import Wakeups, must_be_current, wakeups_of
from onrecord.domain.log import Backend, Cursor, RecordedEvent

_LOG: Final = logging.getLogger("onrecord.service")

Positions: TypeAlias = dict[int, int]
"""A place in each shard; a tenant lives in one, so a tail that has seen an event has only that."""

PAGE: Final = 200
"""How many events are read at once."""

_AT_ONCE: Final = 4
"""How many tails read by themselves at the same time."""

_REMEMBERED: Final = 10_000
_MOST_FRAMES: Final = 1_000
_MOST_BYTES: Final = 4 << 20
_MOST_SECONDS: Final = 5.0
"""What was erased must not come from here much later: a stretch is short in time, too."""

_AWAY: Final = 0.5
"""Seconds until the log is asked again that could not be read."""


@dataclass(frozen=True, slots=True)
class Frame:
    """An event as tails send it."""

    cursor: Cursor
    conversation_id: UUID
    version: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tail is in each shard; `conversation_id` is the one that it follows, None for all.

    No event of that conversation up to `version` is behind the place; None where nobody has looked.
    """

    positions: Positions
    conversation_id: UUID | None = None
    version: int | None = None

    def behind(self, frames: Sequence[Frame]) -> Place:
        """Return the place behind frames that come after this one."""
        if not frames:
            return self
        # A tenant lives in one shard, for ever.
        last = frames[-1].cursor
        positions = {last.shard: max(last.position, self.positions.get(last.shard, 0))}
        own = [each.version for each in frames if each.conversation_id == self.conversation_id]
        return replace(self, positions=positions, version=max(own) if own else self.version)


@dataclass(slots=True)
class Channel:
    """The last events of one tenant, for the tails of it that keep up.

    `complete` is from where on the frames are all there are; None until the hub has looked.
    """

    tails: int = 0
    frames: deque[tuple[float, Frame]] = field(default_factory=deque[tuple[float, Frame]])
    size: int = 0
    complete: Positions | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def since(self, positions: Positions) -> list[Frame] | None:
        """Return the frames behind a place; None where more than these came since."""
        self.shorten()
        complete = self.complete
        if complete is None or any(at < complete.get(of, 0) for of, at in positions.items()):
            return None
        # Who keeps up is behind the last few: they are looked at from the end.
        found: list[Frame] = []
        for _, frame in reversed(self.frames):
            if frame.cursor.position <= positions.get(frame.cursor.shard, frame.cursor.position):
                break
            found.append(frame)
        found.reverse()
        return found

    def add(self, frames: Iterable[Frame]) -> None:
        """Take what came, and wake who waits."""
        now = time.monotonic()
        for frame in frames:
            self.frames.append((now, frame))
            self.size += len(frame.text)
        self.shorten()
        self.wake()

    def wake(self) -> None:
        """Let all tails look."""
        self.moved.set()
        self.moved = asyncio.Event()

    def shorten(self) -> None:
        """Drop what is too old, or too much."""
        oldest = time.monotonic() - _MOST_SECONDS
        while self.frames and (
            self.frames[0][0] < oldest or len(self.frames) > _MOST_FRAMES or self.size > _MOST_BYTES
        ):
            _, frame = self.frames.popleft()
            self.size -= len(frame.text)
            if self.complete is not None:
                self.complete[frame.cursor.shard] = frame.cursor.position


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look at the log found: where it was, where it is, and the frames of each tenant.

    `erasures` is how many there were before anything was read.
    """

    erasures: int
    before: Positions
    after: Positions
    frames: Mapping[UUID, list[Frame]]


class Hub:
    """Reads the log for all tails of a process, as long as there are any. For one event loop."""

    def __init__(self, backend: Backend, steps: Steps) -> None:
        """Read nothing until there is a tail."""
        self._backend = backend
        self._steps = steps
        self._wakeups: Wakeups = wakeups_of(backend)
        self._channels: dict[UUID, Channel] = {}
        self._reader: asyncio.Task[None] | None = None
        self._positions: Positions | None = None
        self._turns = asyncio.Semaphore(_AT_ONCE)
        # Who owns a conversation never changes.
        self._owner: Callable[[UUID], UUID | None] = lru_cache(_REMEMBERED)(backend.owner)
        self._erasures: int | None = None
        self.forgot = 0
        self.is_over = False

    @contextmanager
    def channel(self, tenant: UUID) -> Generator[Channel]:
        """Lend the channel of a tenant while a tail lasts."""
        channel = self._channels.setdefault(tenant, Channel())
        channel.tails += 1
        if self._reader is None or self._reader.done():
            # Nobody read meanwhile: what channels of others have has a gap behind it.
            self.forget()
            self._reader = asyncio.create_task(self._read())
        try:
            yield channel
        finally:
            channel.tails -= 1
            if not channel.tails:
                self._channels.pop(tenant, None)

    async def ends(self) -> list[Cursor]:
        """Return where the log ends, shard by shard.

        A tail begins with it. What was erased before that, by whichever server, is not sent from here.
        """
        self._note(await self._steps.run(self._backend.erasures))
        return await self._steps.run(self._backend.cursors)

    async def read(self, tenant: UUID, after: Place) -> tuple[list[Frame], Place]:
        """Read behind a place by itself; return what a tenant has there, and where that ends.

        Of one conversation only its own events are read, however much else was said. StaleCursor where
        the log is another one by now.
        """
        read = self._behind if after.conversation_id is None else self._behind_own
        async with self._turns:
            while True:
                forgot = self.forgot
                found = await self._steps.run(partial(read, tenant, after))
                # What was erased meanwhile may be among it.
                if forgot == self.forgot:
                    return found

    def end(self) -> None:
        """End all tails: the server was told to end."""
        self.is_over = True
        for channel in self._channels.values():
            channel.wake()
        self._wakeups.stir()

    def forget(self) -> None:
        """Keep nothing that was read, and nothing that is being read now: something was erased.

        All tails read by themselves until the hub has looked again. `forgot` is how often that was.
        """
        self.forgot += 1
        self._positions = None
        for channel in self._channels.values():
            channel.frames.clear()
            channel.size, channel.complete = 0, None
            channel.wake()

    async def close(self) -> None:
        """Return once nothing is read any more."""
        if self._reader is not None:
            await asyncio.wait((self._reader,))

    async def _read(self) -> None:
        steps = self._steps.apart()
        try:
            while self._channels and not self.is_over:
                tenants = frozenset(self._channels)
                forgot = self.forgot
                try:
                    look = await steps.run(partial(self._look, tenants))
                    self._note(look.erasures)
                    if forgot == self.forgot:
                        self._publish(tenants, look)
                except Exception as error:  # noqa: BLE001 - all tails hang on this one task
                    _LOG.warning("tails cannot read the log now: %s", type(error).__name__)
                    # What came meanwhile is not known.
                    self.forget()
                    await asyncio.sleep(_AWAY)
        finally:
            steps.close()

    def _note(self, erasures: int) -> None:
        """Keep nothing where something was erased since: another server may have done so."""
        known, self._erasures = self._erasures, erasures
        if known not in (None, erasures):
            self.forget()

    def _look(self, tenants: frozenset[UUID]) -> _Look:
        """Return what is new; waits a moment where nothing is."""
        seen = self._wakeups.seen()
        erasures = self._backend.erasures()
        ends = {end.shard: end for end in self._backend.cursors()}
        after = {shard: end.position for shard, end in ends.items()}
        before = self._positions
        if before is None:
            return _Look(erasures, after, after, {})
        if after == before:
            self._wakeups.wait(seen, lambda: self.is_over, self._wakeups.shared_seconds)
            return _Look(erasures, before, before, {})
        frames: dict[UUID, list[Frame]] = {}
        reached = dict(before)
        for shard, end in ends.items():
            if end.position > before.get(shard, 0):
                start = replace(end, position=before.get(shard, 0))
                page = self._backend.read_log(start, PAGE)
                reached[shard] = page[-1].position if page else start.position
                for tenant, own in self._by_tenant(page, tenants).items():
                    frames.setdefault(tenant, []).extend(self._frames(end, tenant, own))
        return _Look(erasures, before, reached, frames)

    def _publish(self, tenants: frozenset[UUID], look: _Look) -> None:
        self._positions = dict(look.after)
        for tenant, channel in self._channels.items():
            if tenant not in tenants:
                # It came while the log was read: what is in that page it reads by itself.
                channel.wake()
            elif channel.complete is None:
                channel.complete = dict(look.before)
                channel.add(look.frames.get(tenant, ()))
            elif tenant in look.frames:
                channel.add(look.frames[tenant])

    def _behind(self, tenant: UUID, after: Place) -> tuple[list[Frame], Place]:
        frames: list[Frame] = []
        positions = dict(after.positions)
        incarnation = self._backend.incarnation()
        for shard, position in after.positions.items():
            start = Cursor(incarnation, shard, position)
            page = self._backend.read_log(start, PAGE)
            if page:
                positions[shard] = page[-1].position
            own = self._by_tenant(page, frozenset((tenant,))).get(tenant, [])
            frames += self._frames(start, tenant, own)
        return frames, replace(after, positions=positions)

    def _behind_own(self, tenant: UUID, after: Place) -> tuple[list[Frame], Place]:
        """Read the one conversation that a tail follows."""
        assert after.conversation_id is not None
        # Where the log ends is asked first: up to there nothing can come that is not read below.
        ends = {end.shard: end for end in self._backend.cursors()}
        for shard, position in after.positions.items():
            end = ends.get(shard) or next(iter(ends.values()))
            must_be_current(Cursor(end.incarnation, shard, position), end)
        version = self._version(after, ends)
        events = list(self._backend.read(after.conversation_id, after=version, limit=PAGE))
        frames = [
            frame
            for shard, position in after.positions.items()
            for frame in self._frames(
                ends[shard],
                tenant,
                (each for each in events if each.shard == shard and each.position > position),
            )
        ]
        if events:
            version = events[-1].version
        positions = dict(after.positions)
        if len(events) < PAGE:
            for shard, position in positions.items():
                positions[shard] = max(position, ends[shard].position)
        return frames, replace(after, positions=positions, version=version).behind(frames)

    def _version(self, after: Place, ends: Mapping[int, Cursor]) -> int:
        """Return a version that the place is not before, as near as can be told by one look."""
        if after.version is not None or len(after.positions) > 1:
            return after.version or 0
        ((shard, position),) = after.positions.items()
        page = self._backend.read_log(replace(ends[shard], position=max(0, position - 1)), 1)
        is_own = bool(page) and page[0].conversation_id == after.conversation_id
        return page[0].version if is_own and page[0].position == position else 0

    def _by_tenant(
        self, page: Iterable[RecordedEvent], tenants: frozenset[UUID]
    ) -> dict[UUID, list[RecordedEvent]]:
        found: dict[UUID, list[RecordedEvent]] = {}
        for event in page:
            owner = self._owner(event.conversation_id)
            if owner is not None and owner in tenants:
                found.setdefault(owner, []).append(event)
        return found

    def _frames(self, of: Cursor, tenant: UUID, events: Iterable[RecordedEvent]) -> list[Frame]:
        own = list(events)
        documents = event_documents(self._backend, tenant, own) if own else []
        return [
            _frame(
                replace(of, position=event.position),
                event,
                json_bytes(document),
            )
            for event, document in zip(own, documents, strict=True)
        ]


def _frame(cursor: Cursor, event: RecordedEvent, data: bytes) -> Frame:
    named = f"{cursor.incarnation}:{cursor.shard}:{cursor.position}"
    text = b"id: %s\ndata: %s\n\n" % (named.encode(), data)
    return Frame(cursor, event.conversation_id, event.version, text)
