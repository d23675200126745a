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
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    def run(work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        join(thread)

    with chat.recording():
        with pytest.warns(RecordingWarning, match=BEGUN_WITHIN):
            run(partial(ask, client))
        context = copy_context()
        run(lambda: context.run(ask, client))
    assert calls(chat) == 1


def test_an_executor_takes_a_scope_along_in_a_copied_context_only(
    store: onrecord.Store, client: openai.OpenAI
) -> None:
    chats = [store.conversation(f"talk/{number}") for number in range(6)]

    def submitted(pool: ThreadPoolExecutor, chat: onrecord.Conversation) -> None:
        with chat.recording():
            pool.submit(copy_context().run, ask, client).result()
            pool.submit(ask, client).result()

    with (
        ThreadPoolExecutor(3) as pool,
        ThreadPoolExecutor(6) as callers,
        pytest.warns(RecordingWarning, match=BEGUN_WITHIN),
    ):
        list(callers.map(partial(submitted, pool), chats))
    assert [calls(chat) for chat in chats] == [1] * 6


def test_threads_have_scopes_of_their_own(
    store: onrecord.Store, client: openai.OpenAI, chat: onrecord.Conversation
) -> None:
    everyone = threading.Barrier(5, timeout=PATIENCE)

    def work(number: int) -> None:
        with store.conversation(f"talk/{number}").recording():
            everyone.wait(WAITING)
            ask(client)

    with chat.recording(), ThreadPoolExecutor(4) as pool:
        work_done = [pool.submit(work, number) for number in range(4)]
        everyone.wait(WAITING)
        ask(client)
        for done in work_done:
            done.result(PATIENCE)
    found = [chat, *(store.conversation(f"talk/{number}") for number in range(4))]
    assert [calls(each) for each in found] == [1] * 5


# -- tasks -----------------------------------------------------------------------------------


async def test_tasks_take_their_scopes_along(
    store: onrecord.Store, later: openai.AsyncOpenAI
) -> None:
    async def work(chat: onrecord.Conversation) -> None:
        with chat.recording():
            await ask_later(later)
            await asyncio.gather(ask_later(later), ask_later(later))

    chats = [store.conversation(f"talk/{number}") for number in range(4)]
    await asyncio.gather(*(work(chat) for chat in chats))
    assert [calls(chat) for chat in chats] == [3] * 4


async def test_a_task_keeps_the_scope_that_it_was_begun_in(
    chat: onrecord.Conversation, later: openai.AsyncOpenAI
) -> None:
    with chat.recording():
        task = asyncio.create_task(ask_later(later))
    await task
    await ask_later(later)
    assert calls(chat) == 1


async def test_a_call_that_goes_on_in_another_thread_is_recorded(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    with chat.recording():
        await asyncio.to_thread(ask, client)
        with pytest.warns(RecordingWarning, match=BEGUN_WITHIN):
            await asyncio.get_running_loop().run_in_executor(None, ask, client)
    assert calls(chat) == 1
