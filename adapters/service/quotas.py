"""How much there may be at once: of requests, tails and bytes of bodies, in all and of each key."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from onrecord.adapters.service.problems import OVERLOADED, TOO_MANY, Problem

T = TypeVar("T")


@dataclass(slots=True)
class Quota:
    """What is open now, in all and of each key, of which one has at most half: the rest is refused.

    Nobody waits for room: who has sent half of a body and waits for more room holds up all others.
    """

    most: int
    total: int = 0
    of_keys: Counter[UUID] = field(default_factory=Counter[UUID])

    def enter(self, key: UUID | None, count: int = 1) -> None:
        """Count what opens; Problem where that is too much."""
        if self.total + count > self.most:
            raise Problem(OVERLOADED)
        if key is not None and self.of_keys[key] + count > max(1, self.most // 2):
            raise Problem(TOO_MANY)
        self.total += count
        if key is not None:
            self.of_keys[key] += count

    def leave(self, key: UUID | None, count: int = 1) -> None:
        """Count what closes."""
        self.total -= count
        if key is not None:
            self.of_keys[key] -= count
            if not self.of_keys[key]:
                del self.of_keys[key]

    async def run(self, key: UUID | None, work: Callable[[], Awaitable[T]]) -> T:
        """Return what work gives; it counts until it ends, also where nobody waits for it any more."""
        self.enter(key)
        working = asyncio.ensure_future(work())
        working.add_done_callback(partial(self._end, key))
        return await asyncio.shield(working)

    @contextmanager
    def share(self, key: UUID | None) -> Generator[Share]:
        """Lend a share that is empty; what it holds in the end is given back."""
        share = Share(self, key)
        try:
            yield share
        finally:
            self.leave(key, share.size)

    def _end(self, key: UUID | None, working: asyncio.Future[T]) -> None:
        self.leave(key)
        if not working.cancelled():
            working.exception()  # Whoever still waits is told of it; else nobody is.


@dataclass(slots=True)
class Share:
    """What one request has of a quota, such as the bytes of its body, until it is answered."""

    quota: Quota
    key: UUID | None
    size: int = 0

    def hold(self, size: int) -> None:
        """Hold so much in all, if it is more than before; Problem where there is no room for it."""
        if size > self.size:
            self.quota.enter(self.key, size - self.size)
            self.size = size
