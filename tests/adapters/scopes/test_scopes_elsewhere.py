"""A scope goes along where context variables do: into tasks, and into threads that are given it."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

import openai
import pytest

import onrecord
from onrecord.adapters.recording.spool import RecordingWarning
from tests.adapters.scopes.scoped_calls import WAITING, ask, ask_later, calls
from tests.patience import PATIENCE, join

pytestmark = pytest.mark.anyio

BEGUN_WITHIN = "its thread was begun within"


# -- threads and executors -------------------------------------------------------------------


def test_a_thread_takes_a_scope_along_in_a_copied_context_only(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    def run(work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        join(thread)

    with talk.recording():
        with pytest.warns(RecordingWarning, match=BEGUN_WITHIN):
            run(partial(ask, client))
        context = copy_context()
        run(lambda: context.run(ask, client))
    assert calls(talk) == 1


def test_an_executor_takes_a_scope_along_in_a_copied_context_only(
    store: onrecord.Store, client: openai.OpenAI
) -> None:
    talks = [store.conversation(f"talk/{number}") for number in range(6)]

    def submitted(pool: ThreadPoolExecutor, talk: onrecord.Talk) -> None:
        with talk.recording():
            pool.submit(copy_context().run, ask, client).result()
            pool.submit(ask, client).result()

    with (
        ThreadPoolExecutor(3) as pool,
        ThreadPoolExecutor(6) as callers,
        pytest.warns(RecordingWarning, match=BEGUN_WITHIN),
    ):
        list(callers.map(partial(submitted, pool), talks))
    assert [calls(talk) for talk in talks] == [1] * 6


def test_threads_have_scopes_of_their_own(
    store: onrecord.Store, client: openai.OpenAI, talk: onrecord.Talk
) -> None:
    everyone = threading.Barrier(5, timeout=PATIENCE)

    def work(number: int) -> None:
        with store.conversation(f"talk/{number}").recording():
            everyone.wait(WAITING)
            ask(client)

    with talk.recording(), ThreadPoolExecutor(4) as pool:
        work_done = [pool.submit(work, number) for number in range(4)]
        everyone.wait(WAITING)
        ask(client)
        for done in work_done:
            done.result(PATIENCE)
    found = [talk, *(store.conversation(f"talk/{number}") for number in range(4))]
    assert [calls(each) for each in found] == [1] * 5


# -- tasks -----------------------------------------------------------------------------------


async def test_tasks_take_their_scopes_along(
    store: onrecord.Store, later: openai.AsyncOpenAI
) -> None:
    async def work(talk: onrecord.Talk) -> None:
        with talk.recording():
            await ask_later(later)
            await asyncio.gather(ask_later(later), ask_later(later))

    talks = [store.conversation(f"talk/{number}") for number in range(4)]
    await asyncio.gather(*(work(talk) for talk in talks))
    assert [calls(talk) for talk in talks] == [3] * 4


async def test_a_task_keeps_the_scope_that_it_was_begun_in(
    talk: onrecord.Talk, later: openai.AsyncOpenAI
) -> None:
    with talk.recording():
        task = asyncio.create_task(ask_later(later))
    await task
    await ask_later(later)
    assert calls(talk) == 1


async def test_a_call_that_goes_on_in_another_thread_is_recorded(
    talk: onrecord.Talk, client: openai.OpenAI
) -> None:
    with talk.recording():
        await asyncio.to_thread(ask, client)
        with pytest.warns(RecordingWarning, match=BEGUN_WITHIN):
            await asyncio.get_running_loop().run_in_executor(None, ask, client)
    assert calls(talk) == 1
