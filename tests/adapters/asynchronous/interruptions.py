"""Cancellation of a verb as it waits for the n-th time, whatever it waits for."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from itertools import count
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Interrupted(Generic[T]):
    """A verb whose task is cancelled as it waits for the n-th time: before it waits, or as soon as it does."""

    def __init__(self, verb: Awaitable[T], number: int, *, at_once: bool) -> None:
        self._verb = verb
        self._left = number
        self._at_once = at_once

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._verb.__await__()
        error: BaseException | None = None
        while True:
            try:
                waits = next(steps) if error is None else _thrown(steps, error)
            except StopIteration as end:
                answer: T = end.value
                return answer
            self._count()
            error = None
            try:
                yield waits
            except BaseException as raised:  # noqa: BLE001 - the verb gets it
                error = raised

    def _count(self) -> None:
        self._left -= 1
        if self._left:
            return
        task = asyncio.current_task()
        assert task is not None
        if self._at_once:
            task.cancel()
        else:
            asyncio.get_running_loop().call_soon(task.cancel)


def _thrown(steps: Generator[Any, Any, Any], error: BaseException) -> Any:
    return steps.throw(error)


async def _awaited(verb: Awaitable[T]) -> T:
    return await verb


async def cut_at_every_wait(
    verb: Callable[[], Awaitable[object]], check: Callable[[], Awaitable[object]], *, at_once: bool
) -> int:
    """Cancel a verb at its first wait, its second one, and so on, until it is through; return how often.

    `check` is called after each.
    """
    for number in count(1):
        cut: Interrupted[object] = Interrupted(_awaited(verb()), number, at_once=at_once)
        task = asyncio.ensure_future(_awaited(cut))
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        await check()
        if not isinstance(outcome, asyncio.CancelledError):
            if isinstance(outcome, BaseException):
                raise outcome
            return number - 1
    raise AssertionError
