"""How coroutines of a framework wait for the log, and learn what became of a commit when cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from onrecord.adapters.storage.steps import steps_of
from onrecord.adapters.store import Store, backend_of

T = TypeVar("T")


async def settled(store: Store, step: Callable[[], T]) -> T:
    """Return what a step gives, without holding up the event loop.

    A caller that is cancelled waits for the step's end before it is: what was to be recorded is
    recorded by then, or was refused. An error of a step that was given up is not raised.
    """
    working = asyncio.ensure_future(steps_of(backend_of(store)).run(step))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        if working.cancelled():
            raise
        while not working.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        working.exception()
        raise
