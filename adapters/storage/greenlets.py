"""Functions that wait, driven by the event loop of their own thread; see `steps.py`.

A step runs in a greenlet, which is a stack of its own. Where it waits, it hands what it waits for to
the coroutine that drives it, and stands still until that has the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, cast

from onrecord.domain.errors import NotInstalled

try:
    from greenlet import getcurrent, greenlet
except ModuleNotFoundError as exc:
    raise NotInstalled("awaiting PostgreSQL", exc.name, "postgres") from exc

T = TypeVar("T")


class _Stack(greenlet):
    """A stack that steps run on, one after the other; `step` is the one that runs, `result` what it gave."""

    step: Callable[[], object] | None = None
    result: object = None


def _run_steps() -> None:
    # A stack that named itself here would hold itself for ever: what a greenlet's frames hold while it
    # stands still, the collector does not see.
    while True:
        _run_step()
        cast("greenlet", getcurrent().parent).switch()


def _run_step() -> None:
    stack = cast("_Stack", getcurrent())
    assert stack.step is not None
    stack.result = stack.step()
    stack.step = None


class _IdleStacks(threading.local):
    """The stacks of a thread on which no step runs: a new one costs more than most steps do."""

    def __init__(self) -> None:
        self.stacks: list[_Stack] = []


_MOST_IDLE: Final = 64
_idle: Final = _IdleStacks()


def is_driven() -> bool:
    """Whether the code that asks is a step that an event loop drives."""
    return isinstance(getcurrent(), _Stack)


def wait_for(answer: Awaitable[T]) -> T:
    """Return what a driven step waits for, or raise what that raises."""
    driver = getcurrent().parent
    assert driver is not None
    return cast("T", driver.switch(answer))


async def driven(step: Callable[[], T]) -> T:
    """Return what a step gives; where it waits, the event loop goes on.

    Where the coroutine is cancelled or closed, the step is left by that exception from where it waits.
    """
    idle = _idle.stacks
    stack = idle.pop() if idle else _Stack(_run_steps)
    driver = getcurrent()
    # It sees and sets the context variables of the loop's own greenlet.
    stack.parent, stack.gr_context, stack.step = driver, driver.gr_context, step
    # A step that raises ends its stack, and the error comes from here.
    waits: Any = stack.switch()
    while stack.step is not None:
        try:
            answer: object = await waits
        except BaseException as error:  # noqa: BLE001 - the step gets it, and says what becomes of it
            waits = stack.throw(type(error), error, error.__traceback__)
        else:
            waits = stack.switch(answer)
    result, stack.result, stack.gr_context = stack.result, None, None
    if len(idle) < _MOST_IDLE:
        idle.append(stack)
    return cast("T", result)
