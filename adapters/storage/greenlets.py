"""Functions that wait, driven by the event loop of their own thread; see `steps.py`.

A step runs in a greenlet, on a stack of its own. Where it waits, it hands what it waits for to the
coroutine that drives it, and stands still until that has the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from onrecord.domain.errors import NotInstalled

try:
    from greenlet import getcurrent, greenlet
except ModuleNotFoundError as exc:
    raise NotInstalled("awaiting PostgreSQL", exc.name, "postgres") from exc

T = TypeVar("T")


class _Step(greenlet):
    """A step, and the greenlet of the loop that drives it, whose context variables it sees and sets."""

    def __init__(self, step: Callable[[], object], driver: greenlet) -> None:
        super().__init__(step, driver)
        self.gr_context = driver.gr_context


def is_driven() -> bool:
    """Whether the code that asks is a step that an event loop drives."""
    return isinstance(getcurrent(), _Step)


def wait_for(answer: Awaitable[T]) -> T:
    """Return what a driven step waits for, or raise what that raises."""
    driver = getcurrent().parent
    assert driver is not None
    return cast("T", driver.switch(answer))


async def driven(step: Callable[[], T]) -> T:
    """Return what a step gives; where it waits, the event loop goes on.

    Where the coroutine is cancelled or closed, the step is left by that exception from where it waits.
    """
    stack = _Step(step, getcurrent())
    waits: Any = stack.switch()
    while not stack.dead:
        try:
            answer: object = await waits
        except BaseException as error:  # noqa: BLE001 - the step gets it, and says what becomes of it
            waits = stack.throw(type(error), error, error.__traceback__)
        else:
            waits = stack.switch(answer)
    return cast("T", waits)
