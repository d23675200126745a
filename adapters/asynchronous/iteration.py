"""Reads that go on, as async iterators: some entries are read, then handed out one by one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Final, Self, TypeVar

from onrecord.adapters.storage.steps import Steps
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import RecordedEvent, Subscription

T = TypeVar("T")

_AT_ONCE: Final = 64
"""How many entries are read at once: a step costs a thread's turn on an embedded store."""


async def awaited_each(steps: Steps, read: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
    """Yield what a read yields, without holding up the event loop."""
    entries = await steps.run(read)
    while page := await steps.run(lambda: list(islice(entries, _AT_ONCE))):
        for entry in page:
            yield entry


class AsyncSubscription:
    """Events from a cursor on, then each new one as it comes; ends when it is stopped.

    `async with store.subscribe(cursor) as events:`, then `async for event in events:`. StaleCursor, for
    a cursor of another incarnation, comes as it is entered, or else with the first event. A task that
    is cancelled while it waits loses no event: the next one that is asked for is the same.
    """

    def __init__(self, begin: Callable[[], Subscription], steps: Steps) -> None:
        """Follow the log from where `begin` does, by steps of its own."""
        self._begin = begin
        self._steps = steps
        self._subscription: Subscription | None = None
        self._next: deque[RecordedEvent] = deque()
        self._is_stopped = False
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Begin to follow the log."""
        async with self._turn:
            if not self._is_over:
                await self._run(self._follow)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    async def __anext__(self) -> RecordedEvent:
        """Return the next event, waiting for it; end the iteration once stopped."""
        # One task after the other: two that read at once would read the same, and two
        # that began at once would follow twice.
        async with self._turn:
            while not (self._next or self._is_over):
                await self._run(self._fetch)
            if self._is_over:
                raise StopAsyncIteration
            return self._next.popleft()

    def stop(self) -> None:
        """End the iteration, from any thread."""
        self._is_stopped = True
        if self._subscription is not None:
            self._subscription.stop()
        self._steps.close()

    @property
    def _is_over(self) -> bool:
        subscription = self._subscription
        return self._is_stopped or (subscription is not None and subscription.is_over)

    async def _run(self, step: Callable[[], object]) -> None:
        try:
            await self._steps.run(step)
        except StorageUnavailable:
            # Whoever stops this takes its thread away, or the store's connections.
            if not self._is_over:
                raise

    def _follow(self) -> Subscription:
        if self._subscription is None:
            self._subscription = self._begin()
            if self._is_stopped:
                self._subscription.stop()
        return self._subscription

    def _fetch(self) -> None:
        # A thread goes on though its caller was cancelled: what it takes is for the next caller. It
        # waits for a moment only, so that a program ends though nobody stopped this.
        subscription = self._follow()
        if not self._next and (event := subscription.poll()) is not None:
            self._next.append(event)
