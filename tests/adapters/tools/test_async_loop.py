"""The loop of an agent, awaited: tools of both kinds side by side, and what ran is never lost."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.asynchronous.conversation import conversation_of
from onrecord.domain.content import ToolCall
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.patience import PATIENCE
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

KEY = "support/4711"


@pytest.fixture(params=["memory", "sqlite", VERSIONS[-1]])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    kind = str(request.param)
    if kind in ("memory", "sqlite"):
        yield "memory://" if kind == "memory" else f"sqlite:///{tmp_path / 'talks.db'}"
        return
    place = fresh_log(kind)
    yield place
    server(kind).drop(place)


def model(
    chat: onrecord.AsyncConversation, *rounds: list[ToolCall]
) -> tuple[Callable[[], Awaitable[object]], list[int]]:
    """What asks a model that makes these calls, round by round, and then answers; how often it was."""
    left, times = list(rounds), list[int]()

    async def ask() -> None:
        times.append(len(times))
        await chat.assistant("So be it.", calls=left.pop(0) if left else [])

    return ask, times


def test_it_asks_and_runs_tools_of_both_kinds_side_by_side_until_the_model_answers(
    url: str,
) -> None:
    """Each of the two tools waits for the other: one after the other they would never end."""

    async def main() -> list[tuple[str, str, bool]]:
        came = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def listen() -> str:
            await asyncio.wait_for(came.wait(), PATIENCE)
            return "heard"

        def call_out() -> str:
            loop.call_soon_threadsafe(came.set)
            return "called"

        async with onrecord.connect_async(url) as store:
            chat = store.conversation(KEY)
            await chat.user("Anybody there?")
            runner = onrecord.ToolRunner(chat, [listen, call_out], parallel=True)
            calls = [ToolCall(id=name, name=name, arguments={}) for name in ("listen", "call_out")]
            ask, times = model(chat, calls)
            runs = await onrecord.run_until_answered_async(runner, ask)
            assert (len(runs), times, await chat.open_calls()) == (2, [0, 1], [])
            return recorded_results(conversation_of(chat))

    assert asyncio.run(main()) == [("listen", "heard", False), ("call_out", "called", False)]


def test_what_ran_is_recorded_though_the_loop_is_cancelled(url: str) -> None:
    async def main() -> None:
        async with onrecord.connect_async(url) as store:
            chat = store.conversation(KEY)
            call_tools(conversation_of(chat), ("forever", {}), ("quick", {}))
            is_quick_over = asyncio.Event()

            async def forever() -> None:
                await asyncio.Event().wait()

            async def quick() -> str:
                is_quick_over.set()
                return "done"

            runner = onrecord.ToolRunner(chat, [forever, quick], parallel=True)
            ask, times = model(chat)
            task = asyncio.ensure_future(onrecord.run_until_answered_async(runner, ask))
            await asyncio.wait_for(is_quick_over.wait(), PATIENCE)
            await asyncio.sleep(0)  # The call is over as soon as the loop comes back to it.
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert recorded_results(conversation_of(chat)) == [("call_2", "done", False)]
            assert [call.id for call in await chat.open_calls()] == ["call_1"]
            assert times == []

    asyncio.run(main())


@pytest.mark.parametrize("parallel", [False, True])
def test_what_ran_is_recorded_though_it_is_cancelled_while_that_waits_for_a_thread(
    url: str, parallel: bool
) -> None:
    async def main() -> None:
        async with onrecord.connect_async(url) as store:
            chat = store.conversation(KEY)
            call_tools(conversation_of(chat), ("pay", {}))
            is_free, is_paid = threading.Event(), asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.set_default_executor(ThreadPoolExecutor(1))

            async def pay() -> str:
                loop.run_in_executor(None, is_free.wait, PATIENCE)  # The only thread is busy.
                is_paid.set()
                return "paid"

            runner = onrecord.ToolRunner(chat, [pay], parallel=parallel)
            task = asyncio.ensure_future(runner.run_async())
            await asyncio.wait_for(is_paid.wait(), PATIENCE)
            for _ in range(5):
                await asyncio.sleep(0)  # The call is over, and what it gave is to be recorded.
            task.cancel()
            is_free.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert recorded_results(conversation_of(chat)) == [("call_1", "paid", False)]

    asyncio.run(main())


def test_it_asks_no_model_while_a_person_is_asked(url: str) -> None:
    async def main() -> None:
        async with onrecord.connect_async(url, actor="ana") as store:
            chat = store.conversation(KEY)
            call_tools(conversation_of(chat), ("pay", {}))
            tool = onrecord.tool(lambda: "paid", name="pay", needs_approval=True)
            runner = onrecord.ToolRunner(chat, [tool])
            ask, times = model(chat)
            assert await onrecord.run_until_answered_async(runner, ask) == ()
            (waiting,) = await chat.approvals()
            assert (waiting.call.id, times) == ("call_1", [])
            await chat.approve("call_1", reason="fine")
            (run,) = await onrecord.run_until_answered_async(runner, ask)
            assert (run.output, times) == ("paid", [0])

    asyncio.run(main())


def test_a_model_is_asked_as_often_as_it_may_be(url: str) -> None:
    async def main() -> None:
        async with onrecord.connect_async(url) as store:
            chat = store.conversation(KEY)
            await chat.user("Go on.")
            ask, times = model(chat)
            with pytest.raises(onrecord.TooManyModelCalls):
                await onrecord.run_until_answered_async(onrecord.ToolRunner(chat, []), ask, limit=0)
            assert times == []

    asyncio.run(main())
