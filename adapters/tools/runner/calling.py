"""Calls of tools: what is to be called, and that whatever becomes of it is a result.

Only what ends a program, or a task, gets through: `KeyboardInterrupt`, `SystemExit`, the
cancellation of the task that runs the tools. Then nothing is a result yet.
"""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
)
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import Any, Final, TypeAlias, TypeVar, cast

from onrecord.adapters.inputs.arguments import kind_of
from onrecord.adapters.tools.runner.hidden_values import without_values
from onrecord.adapters.tools.runner.leases import CallLease
from onrecord.adapters.tools.tool import Failed, Tool
from onrecord.domain.content import ToolCall
from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext

logger = logging.getLogger("onrecord")

TIMED_OUT: Final = "Error: Tool execution timed out"
"""What a model is told of a call that took too long."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool gave, or why it gave nothing."""

    output: object
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """A call to be made: of which tool, what it is told besides, and what its result's header keeps.

    `timeout` is in seconds. A call that names no tool has one that says so, and is not known. One
    that `waits` is not made before those in front of it have their results. `lease` is the right to
    make it, which no other runner has then.
    """

    call: ToolCall
    tool: Tool
    context: ToolCallContext
    metadata: Mapping[str, str]
    timeout: float | None = None
    is_known: bool = True
    waits: bool = False
    lease: CallLease | None = None


MayBegin: TypeAlias = Callable[[Work, bool], bool]
"""Whether a call may be made now; the flag says that time has passed since it was found open."""


def begin(work: Work) -> object:
    """Call the tool; return what it gives, or what is to be awaited for it."""
    return work.tool.call(arguments_of(work.call), work.context)


def timed_out(work: Work) -> Outcome:
    """Return the result of a call that took too long."""
    logger.info("the tool %r timed out", work.tool.name)
    return Outcome(TIMED_OUT, is_error=True)


def failure(work: Work, exc: BaseException) -> Outcome:
    """Return the result of a call that failed; no value of its context is in the message."""
    cause = _alone(exc)
    # No traceback: it may quote what the context holds.
    logger.info("the tool %r failed: %s", work.tool.name, type(cause).__name__)
    message = without_values(_message(cause), work.context)
    # Names of files may be no UTF-8 (PEP 383), and no record holds half a surrogate pair.
    message = message.encode("utf-8", "backslashreplace").decode("utf-8")
    return Outcome(f"Error: {message}", is_error=True)


def _message(exc: BaseException) -> str:
    """Return what an exception says, or its name where it says nothing, or fails at that too."""
    name = type(exc).__name__
    with suppress(Exception):
        # All that a KeyError says is the key: alone, nobody could tell what is the matter with it.
        before = f"{name}: " if type(exc) is KeyError and exc.args else ""
        return before + str(exc).strip() or name
    return name


def _alone(exc: BaseException) -> BaseException:
    """Return the one exception that a group is of: task groups wrap even a single one."""
    if not isinstance(exc, BaseExceptionGroup):
        return exc
    group = cast("BaseExceptionGroup[BaseException]", exc)
    return _alone(group.exceptions[0]) if len(group.exceptions) == 1 else group


def outcome(result: object) -> Outcome:
    """Return what a tool gave, as a result."""
    if isinstance(result, Failed):
        return Outcome(result.content, is_error=True)
    return Outcome(result)


def arguments_of(call: ToolCall) -> JsonObject:
    """Return the arguments; a model that gives none may say so in several ways."""
    arguments: object = call.arguments
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, dict):
        return cast("JsonObject", arguments)
    raise InvalidInput(f"the arguments are no JSON object but {kind_of(arguments)}")


T = TypeVar("T")


def in_thread(function: Callable[[], T]) -> Future[T]:
    """Return what a function gives, once it gives it, in a thread that sees the caller's context.

    The threads of an executor are waited for when the program ends, and a tool that hangs would
    keep it from ending.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(function)
        except BaseException as exc:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(exc)
        else:
            future.set_result(result)

    future.set_running_or_notify_cancel()
    try:
        threading.Thread(target=run, daemon=True, name="onrecord-tool").start()
    except RuntimeError as exc:  # The system gives no more threads.
        future.set_exception(exc)
    return future


def _in_thread(work: Work, function: Callable[[Work], T]) -> Future[T]:
    """Do as `in_thread`; the thread holds the lease too: it goes on though nobody waits for it."""
    lease = work.lease
    if lease is None:
        return in_thread(partial(function, work))
    lease.hold()

    def run() -> T:
        with lease.dropping():
            return function(work)

    return in_thread(run)


# Calls of tools that are waited for: in this thread, or in threads of their own.


def outcomes(
    work: tuple[Work, ...], may_begin: MayBegin, *, parallel: bool
) -> Iterator[tuple[Work, Outcome]]:
    """Yield what calls give, in their order; one by one, or all begun together that do not wait.

    One by one and without a time-out they are made in this thread; those that nobody awaits any
    more by then, since they were cancelled or answered, are not made, nor those that another runner
    makes. InvalidInput, before any is made, where one is asynchronous and a loop runs in this thread: it may be the one it needs.
    """
    _must_block_no_loop(work)
    together = [at for at, each in enumerate(work) if parallel and not each.waits]
    begun = [at for at in together if may_begin(work[at], False)]
    futures = {at: _in_thread(work[at], _call_here) for at in begun}
    since = time.monotonic()
    for at, each in enumerate(work):
        if at in futures:
            yield each, _waited_for(each, futures[at], since)
        elif at in together or not may_begin(each, at > 0):
            continue
        elif each.timeout is None:
            yield each, _call_here(each)
        else:
            yield each, _waited_for(each, _in_thread(each, _call_here), time.monotonic())


def _call_here(work: Work) -> Outcome:
    """Make a call in this thread, and wait for it; asynchronous ones get a loop of their own.

    InvalidInput for an asynchronous tool where a loop runs already.
    """
    try:
        result = begin(work)
    except Exception as exc:  # noqa: BLE001 - it is the result of the call
        return failure(work, exc)
    if not isawaitable(result):
        return outcome(result)
    return _settled_here(work, result)


def _waited_for(work: Work, future: Future[Outcome], begun: float) -> Outcome:
    """Return what a call in a thread gives, or that it takes too long."""
    seconds = None if work.timeout is None else max(0.0, begun + work.timeout - time.monotonic())
    try:
        return future.result(seconds)
    except TimeoutError:
        return timed_out(work)
    except Exception as exc:  # noqa: BLE001 - there was no thread to be had: the call has failed
        return failure(work, exc)


def _must_block_no_loop(work: tuple[Work, ...]) -> None:
    asynchronous = [each.tool for each in work if each.tool.is_async]
    if asynchronous:
        _must_be_free(asynchronous[0])


# Calls of tools that are awaited. The loop takes a while to import, and most tools need none: so
# each function that needs it imports it.


def _settled_here(work: Work, awaitable: Awaitable[object]) -> Outcome:
    """Return what a call gives that is to be awaited, in a loop of its own.

    InvalidInput where a loop runs in this thread already.
    """
    import asyncio

    settling = _settled(work, awaitable)
    try:
        _must_be_free(work.tool)
        return asyncio.run(settling)
    except OSError as exc:  # Not the tool's: there was no loop to be had.
        return failure(work, exc)
    finally:
        settling.close()
        _close(awaitable)


def _must_be_free(tool: Tool) -> None:
    """Raise InvalidInput, for an asynchronous tool, where a loop runs in this thread."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidInput(
        f"the tool {tool.name!r} is asynchronous and a loop runs in this thread: "
        "write `await runner.run_async()`"
    )


async def _call_async(work: Work) -> Outcome:
    """Make a call without blocking the loop: what is not asynchronous runs in a thread."""
    return await _settled(work, _begun(work))


async def _kept(finished: dict[int, tuple[Work, Outcome]], at: int, work: Work) -> Outcome:
    result = await _call_async(work)
    finished[at] = (work, result)
    return result


async def outcomes_async(
    work: tuple[Work, ...],
    may_begin: MayBegin,
    finished: dict[int, tuple[Work, Outcome]],
    *,
    parallel: bool,
) -> AsyncGenerator[tuple[Work, Outcome]]:
    """Yield what calls give, in their order; one by one, or all begun together that do not wait.

    One by one, those that nobody awaits any more by then are not made, nor are those that another
    runner makes. `finished` has, by their places, the calls that are over, until the next one is asked for:
    whoever is cancelled finds there what ran.
    """
    import asyncio

    together = [at for at, each in enumerate(work) if parallel and not each.waits]
    begun = [at for at in together if await asyncio.to_thread(may_begin, work[at], False)]
    tasks = {at: asyncio.ensure_future(_kept(finished, at, work[at])) for at in begun}
    try:
        for at, each in enumerate(work):
            if at in tasks:
                await tasks[at]
            elif at not in together and await asyncio.to_thread(may_begin, each, at > 0):
                await _kept(finished, at, each)
            else:
                continue
            yield finished[at]
            # Not before: who is cancelled while it is recorded finds it there.
            del finished[at]
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


async def _begun(work: Work) -> object:
    import asyncio

    if work.tool.is_async:
        result = begin(work)
    else:
        result = await asyncio.wrap_future(_in_thread(work, begin))
    return await result if isawaitable(result) else result


async def _settled(work: Work, awaitable: Awaitable[object]) -> Outcome:
    import asyncio

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
