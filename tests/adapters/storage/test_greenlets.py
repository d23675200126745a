"""Steps that an event loop drives: one stack serves many, and keeps nothing of any."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextvars import ContextVar

import pytest
from greenlet import getcurrent, greenlet

from onrecord.adapters.storage.greenlets import driven, is_driven, wait_for

_WHO: ContextVar[str] = ContextVar("who", default="nobody")


class _Answer:
    """Something that a weak reference can follow."""


async def _asleep() -> str:
    await asyncio.sleep(0)
    return "awake"


def _stack() -> greenlet:
    return getcurrent()


def test_steps_one_after_the_other_share_a_stack() -> None:
    async def used() -> list[greenlet]:
        return [await driven(_stack) for _ in range(3)]

    first, *others = asyncio.run(used())

    assert all(stack is first for stack in others)


def test_steps_that_wait_at_once_have_a_stack_each() -> None:
    def waits() -> greenlet:
        wait_for(_asleep())
        return getcurrent()

    async def at_once() -> list[greenlet]:
        return await asyncio.gather(*(driven(waits) for _ in range(3)))

    assert len(set(map(id, asyncio.run(at_once())))) == 3


def test_a_step_within_what_a_step_waits_for_has_a_stack_of_its_own() -> None:
    def outer() -> tuple[greenlet, greenlet]:
        return getcurrent(), wait_for(driven(_stack))

    async def nested() -> tuple[greenlet, greenlet]:
        return await driven(outer)

    one, other = asyncio.run(nested())

    assert one is not other


def test_nothing_of_a_step_is_kept_once_it_is_done() -> None:
    async def left() -> weakref.ref[_Answer]:
        answer = await driven(_Answer)
        gone = weakref.ref(answer)
        del answer
        return gone

    assert asyncio.run(left())() is None


def test_a_context_variable_that_a_step_sets_is_its_tasks_alone() -> None:
    def acts() -> str:
        before = _WHO.get()
        _WHO.set("ana")
        wait_for(_asleep())
        return before

    async def task() -> tuple[str, str]:
        return await driven(acts), _WHO.get()

    async def one_after_the_other() -> list[tuple[str, str]]:
        return [await asyncio.create_task(task()) for _ in range(2)]

    assert asyncio.run(one_after_the_other()) == [("nobody", "ana")] * 2


@pytest.mark.parametrize("waits", [False, True])
def test_a_step_that_raises_harms_no_later_one(waits: bool) -> None:
    def fails() -> None:
        if waits:
            wait_for(_asleep())
        raise LookupError("gone")

    async def fails_then_goes_on() -> str:
        with pytest.raises(LookupError, match="gone"):
            await driven(fails)
        return await driven(lambda: wait_for(_asleep()))

    assert asyncio.run(fails_then_goes_on()) == "awake"


def test_a_step_that_is_cancelled_and_still_ends_well_gives_its_answer() -> None:
    def insists() -> str:
        try:
            wait_for(asyncio.sleep(60))
        except asyncio.CancelledError:
            return "rolled back"
        return "slept"

    async def cancelled() -> list[str]:
        task = asyncio.create_task(driven(insists))
        await asyncio.sleep(0)
        task.cancel()
        return [await task, await driven(lambda: wait_for(_asleep()))]

    assert asyncio.run(cancelled()) == ["rolled back", "awake"]


def test_a_step_whose_coroutine_is_closed_is_left_by_that() -> None:
    left: list[type[BaseException]] = []

    def waits() -> None:
        try:
            wait_for(_asleep())
        except BaseException as error:
            left.append(type(error))
            raise

    async def closed() -> str:
        coroutine = driven(waits)
        coroutine.send(None)
        coroutine.close()
        return await driven(lambda: wait_for(_asleep()))

    assert asyncio.run(closed()) == "awake"
    assert left == [GeneratorExit]


def test_what_no_loop_drives_is_not_driven_after_a_step_was() -> None:
    async def asked() -> list[bool]:
        return [await driven(is_driven), is_driven()]

    assert asyncio.run(asked()) == [True, False]


def test_few_stacks_are_kept_however_many_steps_waited_at_once() -> None:
    def waits() -> weakref.ref[greenlet]:
        wait_for(_asleep())
        return weakref.ref(getcurrent())

    async def crowd() -> list[weakref.ref[greenlet]]:
        return await asyncio.gather(*(driven(waits) for _ in range(300)))

    stacks = asyncio.run(crowd())
    gc.collect()

    assert sum(stack() is not None for stack in stacks) <= 64
