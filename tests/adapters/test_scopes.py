"""Scopes: what is called within one is recorded, whoever owns the client."""

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from contextvars import Context, copy_context
from functools import partial
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import hansard
from hansard.adapters.demo.server import DemoServer
from tests.adapters import recorded_calls
from tests.adapters.openai_clients import ANSWERED, HELLO, KEY, MODEL, types
from tests.adapters.openai_server import Fails, OpenAIServer, Says

GREETING = Says("Hello! What can I do for you?")
WAITING = 10

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: GREETING) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[hansard.Store]:
    with hansard.connect(f"sqlite:///{tmp_path / 'talks.db'}") as opened:
        yield opened


@pytest.fixture
def talk(store: hansard.Store) -> hansard.Talk:
    return store.conversation("talk")


@pytest.fixture
def other(store: hansard.Store) -> hansard.Talk:
    return store.conversation("other")


@pytest.fixture
def client(server: OpenAIServer) -> Iterator[openai.OpenAI]:
    """A client that nobody recorded."""
    with openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0) as made:
        yield made


@pytest.fixture
async def later(server: OpenAIServer) -> AsyncGenerator[openai.AsyncOpenAI]:
    """An async client that nobody recorded."""
    async with openai.AsyncOpenAI(api_key=KEY, base_url=server.url, max_retries=0) as made:
        yield made


def ask(client: openai.OpenAI) -> None:
    client.chat.completions.create(model=MODEL, messages=HELLO)


async def ask_later(client: openai.AsyncOpenAI) -> None:
    await client.chat.completions.create(model=MODEL, messages=HELLO)


def calls(talk: hansard.Talk) -> int:
    return types(talk).count("request.sent")


# -- a scope ---------------------------------------------------------------------------------


def test_what_is_called_in_a_scope_is_recorded_and_nothing_else(
    talk: hansard.Talk, client: openai.OpenAI
) -> None:
    ask(client)
    with talk.recording():
        ask(client)
    ask(client)
    assert types(talk) == ANSWERED


def test_clients_made_in_a_scope_are_recorded_too(talk: hansard.Talk, server: OpenAIServer) -> None:
    with talk.recording(), openai.OpenAI(api_key=KEY, base_url=server.url) as client:
        ask(client)
    assert types(talk) == ANSWERED


def test_anthropics_clients_are_recorded_in_a_scope(talk: hansard.Talk) -> None:
    with (
        DemoServer([recorded_calls.GREETING]) as server,
        anthropic.Anthropic(api_key=KEY, base_url=server.url) as client,
        talk.recording(),
    ):
        client.messages.create(
            model="claude-sonnet-5", max_tokens=9, messages=[{"role": "user", "content": "Hello"}]
        )
    assert types(talk) == ANSWERED


def test_scopes_nest_and_the_innermost_holds(
    talk: hansard.Talk, other: hansard.Talk, client: openai.OpenAI
) -> None:
    with talk.recording():
        with other.recording():
            ask(client)
        assert (calls(talk), calls(other)) == (0, 1)
        ask(client)
    assert (calls(talk), calls(other)) == (1, 1)


def test_a_scope_ends_with_an_error(talk: hansard.Talk, client: openai.OpenAI) -> None:
    with pytest.raises(LookupError), talk.recording():
        raise LookupError
    ask(client)
    assert talk.since(0) == []


def test_a_scope_is_entered_once(talk: hansard.Talk) -> None:
    scope = talk.recording()
    with scope, pytest.raises(RuntimeError, match="ask for another"):
        scope.__enter__()


def test_a_recorded_client_is_not_recorded_twice(
    talk: hansard.Talk, store: hansard.Store, client: openai.OpenAI
) -> None:
    with talk.recording():
        ask(talk.record(client))
        ask(store.record(client))
    assert calls(talk) == 2


def test_other_requests_are_left_alone(talk: hansard.Talk, server: OpenAIServer) -> None:
    with talk.recording(), httpx2.Client() as http:
        http.get(f"{server.origin}/elsewhere")
        http.post(f"{server.origin}/v1/embeddings", json={"input": "x"})
    assert len(server.received) == 2
    assert talk.since(0) == []


def test_any_http_client_that_speaks_a_providers_wire_is_recorded(
    talk: hansard.Talk, server: OpenAIServer
) -> None:
    with talk.recording(), httpx2.Client() as http:
        http.post(f"{server.url}/chat/completions", json={"model": MODEL, "messages": HELLO})
    assert types(talk) == ANSWERED


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_a_call_that_cannot_be_recorded_in_its_scope_is_refused(
    talk: hansard.Talk, server: OpenAIServer, kind: type[Any]
) -> None:
    talk.user("Hello")
    talk.close()

    async def refused() -> BaseException:
        async with openai.AsyncOpenAI(api_key=KEY, base_url=server.url) as client:
            with pytest.raises(hansard.NotRecorded) as caught, talk.recording():
                await ask_later(client)
        return caught.value

    if kind is openai.AsyncOpenAI:
        error = asyncio.run(refused())
    else:
        with openai.OpenAI(api_key=KEY, base_url=server.url) as client:
            with pytest.raises(hansard.NotRecorded) as caught, talk.recording():
                ask(client)
            error = caught.value
    assert isinstance(error, openai.OpenAIError)
    assert server.received == []


def test_retries_in_a_scope_are_attempts_of_one_request(talk: hansard.Talk) -> None:
    with (
        OpenAIServer([Fails(500), GREETING]) as server,
        openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=1) as client,
        talk.recording(),
    ):
        ask(client)
    assert types(talk) == [*ANSWERED[:2], "attempt.failed", *ANSWERED[2:]]


def test_a_stream_belongs_to_the_scope_that_it_was_begun_in(
    talk: hansard.Talk, other: hansard.Talk, client: openai.OpenAI
) -> None:
    with talk.recording():
        stream = client.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
    with other.recording():
        for _ in stream:
            pass
    assert types(talk) == ANSWERED
    assert other.since(0) == []


def test_a_proxy_is_recorded_in_a_scope(talk: hansard.Talk, server: OpenAIServer) -> None:
    through = httpx2.Client(proxy=server.origin)
    with (
        openai.OpenAI(api_key=KEY, base_url="http://api.example/v1", http_client=through) as client,
        talk.recording(),
    ):
        ask(client)
    assert server.received[0].headers["host"] == "api.example"
    assert types(talk) == ANSWERED


# -- threads and executors -------------------------------------------------------------------


def test_a_thread_takes_a_scope_along_in_a_copied_context_only(
    talk: hansard.Talk, client: openai.OpenAI
) -> None:
    with talk.recording():
        for run in (partial(ask, client), partial(copy_context().run, ask, client)):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
    assert calls(talk) == 1


def test_an_executor_takes_a_scope_along_in_a_copied_context_only(
    store: hansard.Store, client: openai.OpenAI
) -> None:
    talks = [store.conversation(f"talk/{number}") for number in range(6)]

    def submitted(pool: ThreadPoolExecutor, talk: hansard.Talk) -> None:
        with talk.recording():
            pool.submit(copy_context().run, ask, client).result()
            pool.submit(ask, client).result()

    with ThreadPoolExecutor(3) as pool, ThreadPoolExecutor(6) as callers:
        list(callers.map(partial(submitted, pool), talks))
    assert [calls(talk) for talk in talks] == [1] * 6


def test_threads_have_scopes_of_their_own(
    store: hansard.Store, client: openai.OpenAI, talk: hansard.Talk
) -> None:
    everyone = threading.Barrier(5)

    def work(number: int) -> None:
        with store.conversation(f"talk/{number}").recording():
            everyone.wait(WAITING)
            ask(client)

    with talk.recording(), ThreadPoolExecutor(4) as pool:
        work_done = [pool.submit(work, number) for number in range(4)]
        everyone.wait(WAITING)
        ask(client)
        for done in work_done:
            done.result()
    found = [talk, *(store.conversation(f"talk/{number}") for number in range(4))]
    assert [calls(each) for each in found] == [1] * 5


# -- tasks -----------------------------------------------------------------------------------


async def test_tasks_take_their_scopes_along(
    store: hansard.Store, later: openai.AsyncOpenAI
) -> None:
    async def work(talk: hansard.Talk) -> None:
        with talk.recording():
            await ask_later(later)
            await asyncio.gather(ask_later(later), ask_later(later))

    talks = [store.conversation(f"talk/{number}") for number in range(4)]
    await asyncio.gather(*(work(talk) for talk in talks))
    assert [calls(talk) for talk in talks] == [3] * 4


async def test_a_task_keeps_the_scope_that_it_was_begun_in(
    talk: hansard.Talk, later: openai.AsyncOpenAI
) -> None:
    with talk.recording():
        task = asyncio.create_task(ask_later(later))
    await task
    await ask_later(later)
    assert calls(talk) == 1


async def test_a_call_that_goes_on_in_another_thread_is_recorded(
    talk: hansard.Talk, client: openai.OpenAI
) -> None:
    with talk.recording():
        await asyncio.to_thread(ask, client)
        await asyncio.get_running_loop().run_in_executor(None, ask, client)
    assert calls(talk) == 1


# -- generators ------------------------------------------------------------------------------


async def test_an_async_generator_that_is_left_unfinished_does_not_leak_its_scope(
    talk: hansard.Talk, later: openai.AsyncOpenAI
) -> None:
    async def agent() -> AsyncGenerator[int]:
        with talk.recording():
            for number in range(3):
                await ask_later(later)
                yield number

    left = agent()
    async for number in left:
        await ask_later(later)
        if number == 1:
            break
    await ask_later(later)
    assert calls(talk) == 2
    await left.aclose()
    await ask_later(later)
    assert calls(talk) == 2


def test_a_generator_that_is_left_unfinished_does_not_leak_its_scope(
    talk: hansard.Talk, client: openai.OpenAI
) -> None:
    def agent() -> Generator[int]:
        with talk.recording():
            for number in range(3):
                ask(client)
                yield number

    left = agent()
    assert (next(left), next(left)) == (0, 1)
    ask(client)
    assert calls(talk) == 2
    del left
    ask(client)
    assert calls(talk) == 2


async def test_generators_that_take_turns_keep_their_scopes_apart(
    talk: hansard.Talk, other: hansard.Talk, later: openai.AsyncOpenAI
) -> None:
    async def agent(talk: hansard.Talk, times: int) -> AsyncGenerator[int]:
        with talk.recording():
            for number in range(times):
                await ask_later(later)
                yield number

    one, two = agent(talk, 3), agent(other, 5)
    async for _ in one:
        await anext(two)
    await anext(two)
    await anext(two)
    await two.aclose()
    assert (calls(talk), calls(other)) == (3, 5)


async def test_an_async_generator_may_be_closed_in_another_context(
    talk: hansard.Talk, other: hansard.Talk, later: openai.AsyncOpenAI
) -> None:
    async def agent() -> AsyncGenerator[int]:
        with talk.recording():
            await ask_later(later)
            yield 1

    with other.recording():
        left = agent()
        await anext(left)
        await asyncio.get_running_loop().create_task(left.aclose(), context=Context())
        await ask_later(later)
    await ask_later(later)
    assert (calls(talk), calls(other)) == (1, 1)


async def test_a_dropped_generator_is_closed_as_it_would_be_without_a_scope(
    talk: hansard.Talk, later: openai.AsyncOpenAI
) -> None:
    closed = asyncio.Event()

    async def agent() -> AsyncGenerator[int]:
        try:
            with talk.recording():
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
    assert talk.since(0) == []


async def test_work_that_a_generator_began_goes_on_in_its_scope_while_it_waits(
    talk: hansard.Talk, later: openai.AsyncOpenAI
) -> None:
    """As a framework does that streams the events of a run which goes on beside."""
    go = asyncio.Event()

    async def run() -> None:
        await go.wait()
        await ask_later(later)

    async def agent() -> AsyncGenerator[None]:
        with talk.recording():
            task = asyncio.create_task(run())
            yield
            await task

    async for _ in agent():
        go.set()
        await ask_later(later)
        async with asyncio.timeout(WAITING):
            while calls(talk) == 0:
                await asyncio.sleep(0.01)
    assert calls(talk) == 1


async def test_a_context_manager_that_is_a_generator_opens_its_scope_for_its_users(
    talk: hansard.Talk, client: openai.OpenAI, later: openai.AsyncOpenAI
) -> None:
    @contextmanager
    def sync() -> Generator[None]:
        with talk.recording():
            yield

    @asynccontextmanager
    async def concurrent() -> AsyncGenerator[None]:
        with ExitStack() as stack:
            stack.enter_context(talk.recording())
            yield

    with sync():
        ask(client)
    async with concurrent():
        await ask_later(later)
    assert calls(talk) == 2
    ask(client)
    await ask_later(later)
    assert calls(talk) == 2


async def test_a_context_manager_within_a_generator_does_not_leak_its_scope(
    talk: hansard.Talk, later: openai.AsyncOpenAI
) -> None:
    @contextmanager
    def scoped() -> Generator[None]:
        with talk.recording():
            yield

    async def agent() -> AsyncGenerator[None]:
        with scoped():
            await ask_later(later)
            yield

    left = agent()
    await anext(left)
    await ask_later(later)
    await left.aclose()
    assert calls(talk) == 1


# -- what it costs ---------------------------------------------------------------------------


def test_nothing_is_wrapped_outside_of_scopes(talk: hansard.Talk, client: openai.OpenAI) -> None:
    http: Any = vars(client)["_client"]
    url = httpx2.URL("http://x/v1/chat/completions")
    with talk.recording():
        within = http._transport_for_url(url)
    assert within is not http._transport
    assert within.inner is http._transport
    assert http._transport_for_url(url) is http._transport


def test_the_hook_is_installed_once(talk: hansard.Talk, client: openai.OpenAI) -> None:
    for _ in range(3):
        with talk.recording():
            ask(client)
    assert calls(talk) == 3
