"""Calls of tools that are awaited: the part of making calls that needs a loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from functools import partial
from inspect import isawaitable
from typing import Any, cast

from onrecord.adapters.tools.runner.calling import (
    Outcome,
    Work,
    begin,
    failure,
    in_thread,
    outcome,
    timed_out,
)
from onrecord.adapters.tools.tool import Tool
from onrecord.domain.errors import InvalidInput


def settled_here(work: Work, awaitable: Awaitable[object]) -> Outcome:
    """Return what a call gives that is to be awaited, in a loop of its own.

    InvalidInput where a loop runs in this thread already.
    """
    settling = _settled(work, awaitable)
    try:
        must_be_free(work.tool)
        return asyncio.run(settling)
    except OSError as exc:  # Not the tool's: there was no loop to be had.
        return failure(work, exc)
    finally:
        settling.close()
        _close(awaitable)


def must_be_free(tool: Tool) -> None:
    """Raise InvalidInput, for an asynchronous tool, where a loop runs in this thread."""
    if _loop_runs():
        raise InvalidInput(
            f"the tool {tool.name!r} is asynchronous and a loop runs in this thread: "
            "write `await runner.run_async()`"
        )


async def call_async(work: Work) -> Outcome:
    """Make a call without blocking the loop: what is not asynchronous runs in a thread."""
    return await _settled(work, _begun(work))


async def outcomes(
    work: tuple[Work, ...], is_awaited: Callable[[Work], bool], *, parallel: bool
) -> AsyncGenerator[tuple[Work, Outcome]]:
    """Yield what calls give, in their order; one by one, or all begun together that do not wait.

    One by one, those that nobody awaits any more by then are not made.
    """
    together = {at: each for at, each in enumerate(work) if parallel and not each.waits}
    tasks = {at: asyncio.ensure_future(call_async(each)) for at, each in together.items()}
    try:
        for at, each in enumerate(work):
            if at in tasks:
                yield each, await tasks[at]
            elif not at or await asyncio.to_thread(is_awaited, each):
                yield each, await call_async(each)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


async def _begun(work: Work) -> object:
    if work.tool.is_async:
        result = begin(work)
    else:
        result = await asyncio.wrap_future(in_thread(partial(begin, work)))
    return await result if isawaitable(result) else result


async def _settled(work: Work, awaitable: Awaitable[object]) -> Outcome:
    limit = asyncio.timeout(work.timeout)
    try:
        async with limit:
            return outcome(await awaitable)
    except TimeoutError as exc:
        return timed_out(work) if limit.expired() else failure(work, exc)
    except asyncio.CancelledError as exc:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return failure(work, exc)  # Nobody cancelled us: what the tool relies on is gone.
    except Exception as exc:  # noqa: BLE001 - it is the result of the call
        return failure(work, exc)
    finally:
        _close(awaitable)


def _close(awaitable: Awaitable[object]) -> None:
    """End what was perhaps never begun: a coroutine that nobody awaits is a warning."""
    if isinstance(awaitable, Coroutine):
        cast("Coroutine[Any, Any, Any]", awaitable).close()


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
