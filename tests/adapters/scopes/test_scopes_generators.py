"""A scope that is entered in a generator is that generator's, not its consumer's."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from contextvars import Context

import openai
import pytest

import onrecord
from tests.adapters.scopes.scoped_calls import WAITING, ask, ask_later, calls

pytestmark = pytest.mark.anyio


async def test_an_async_generator_that_is_left_unfinished_does_not_leak_its_scope(
    chat: onrecord.Conversation, later: openai.AsyncOpenAI
) -> None:
    async def agent() -> AsyncGenerator[int]:
        with chat.recording():
            for number in range(3):
                await ask_later(later)
                yield number

    left = agent()
    async for number in left:
        await ask_later(later)
        if number == 1:
            break
    await ask_later(later)
    assert calls(chat) == 2
    await left.aclose()
    await ask_later(later)
    assert calls(chat) == 2


def test_a_generator_that_is_left_unfinished_does_not_leak_its_scope(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    def agent() -> Generator[int]:
        with chat.recording():
            for number in range(3):
                ask(client)
                yield number

    left = agent()
    assert (next(left), next(left)) == (0, 1)
    ask(client)
    assert calls(chat) == 2
    del left
    ask(client)
    assert calls(chat) == 2


async def test_generators_that_take_turns_keep_their_scopes_apart(
    chat: onrecord.Conversation, other: onrecord.Conversation, later: openai.AsyncOpenAI
) -> None:
    async def agent(chat: onrecord.Conversation, times: int) -> AsyncGenerator[int]:
        with chat.recording():
            for number in range(times):
                await ask_later(later)
                yield number

    one, two = agent(chat, 3), agent(other, 5)
    async for _ in one:
        await anext(two)
    await anext(two)
    await anext(two)
    await two.aclose()
    assert (calls(chat), calls(other)) == (3, 5)


async def test_an_async_generator_may_be_closed_in_another_context(
    chat: onrecord.Conversation, other: onrecord.Conversation, later: openai.AsyncOpenAI
) -> None:
    async def agent() -> AsyncGenerator[int]:
        with chat.recording():
            await ask_later(later)
            yield 1

    with other.recording():
        left = agent()
        await anext(left)
        await asyncio.get_running_loop().create_task(left.aclose(), context=Context())
        await ask_later(later)
    await ask_later(later)
    assert (calls(chat), calls(other)) == (1, 1)


async def test_a_dropped_generator_is_closed_as_it_would_be_without_a_scope(
    chat: onrecord.Conversation, later: openai.AsyncOpenAI
) -> None:
    closed = asyncio.Event()

    async def agent() -> AsyncGenerator[int]:
        try:
            with chat.recording():
                yield 1
        finally:
            closed.set()

    async for _ in agent():
        break
    gc.disable()  # So that only dropping it can close it.
    try:
        async with asyncio.timeout(WAITING):
            await closed.wait()
    finally:
        gc.enable()
    await ask_later(later)
    assert chat.events(after=0) == []


async def test_work_that_a_generator_began_goes_on_in_its_scope_while_it_waits(
    chat: onrecord.Conversation, later: openai.AsyncOpenAI
) -> None:
    """As a framework does that streams the events of a run which goes on beside."""
    go = asyncio.Event()

    async def run() -> None:
        await go.wait()
        await ask_later(later)

    async def agent() -> AsyncGenerator[None]:
        with chat.recording():
            task = asyncio.create_task(run())
            yield
            await task

    async for _ in agent():
        go.set()
        await ask_later(later)
        async with asyncio.timeout(WAITING):
            while calls(chat) == 0:
                await asyncio.sleep(0.01)
    assert calls(chat) == 1


async def test_a_context_manager_that_is_a_generator_opens_its_scope_for_its_users(
    chat: onrecord.Conversation, client: openai.OpenAI, later: openai.AsyncOpenAI
) -> None:
    @contextmanager
    def sync() -> Generator[None]:
        with chat.recording():
            yield

    @asynccontextmanager
    async def concurrent() -> AsyncGenerator[None]:
        with ExitStack() as stack:
            stack.enter_context(chat.recording())
            yield

    with sync():
        ask(client)
    async with concurrent():
        await ask_later(later)
    assert calls(chat) == 2
    ask(client)
    await ask_later(later)
    assert calls(chat) == 2


async def test_a_context_manager_within_a_generator_does_not_leak_its_scope(
    chat: onrecord.Conversation, later: openai.AsyncOpenAI
) -> None:
    @contextmanager
    def scoped() -> Generator[None]:
        with chat.recording():
            yield

    async def agent() -> AsyncGenerator[None]:
        with scoped():
            await ask_later(later)
            yield

    left = agent()
    await anext(left)
    await ask_later(later)
    await left.aclose()
    assert calls(chat) == 1
