"""Asynchronous tools: awaited in the caller's loop, or in one of their own."""

import asyncio
import threading
from typing import Any

import pytest

import onrecord
from onrecord.domain.errors import InvalidInput
from tests.adapters.tools.conversations import call_tools, recorded_results

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


WAYS: dict[str, dict[str, Any]] = {
    "in order": {},
    "in parallel": {"parallel": True},
    "with a time-out": {"timeout": 60},
    "in parallel with one": {"parallel": True, "timeout": 60.5},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    return WAYS[str(request.param)]


async def track(parcel: str, context: onrecord.ToolCallContext) -> str:
    await asyncio.sleep(0)
    return f"{parcel} {context.get('tenant_id')}"


def look(parcel: str) -> str:
    return f"{parcel} looked up"


async def fail() -> None:
    await asyncio.sleep(0)
    raise LookupError("lost")


EXPECTED = [
    ("call_1", "NW-1 acme", False),
    ("call_2", "NW-2 looked up", False),
    ("call_3", "Error: lost", True),
]
CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("track", {"parcel": "NW-1"}),
    ("look", {"parcel": "NW-2"}),
    ("fail", {}),
)
CONTEXT = {"tenant_id": "acme"}


async def test_both_kinds_are_run_in_a_loop(
    chat: onrecord.Conversation, way: dict[str, Any]
) -> None:
    call_tools(chat, *CALLS)
    await onrecord.ToolRunner(chat, [track, look, fail], context=CONTEXT, **way).run_async()
    assert recorded_results(chat) == EXPECTED


def test_both_kinds_are_run_without_one(chat: onrecord.Conversation, way: dict[str, Any]) -> None:
    call_tools(chat, *CALLS)
    onrecord.ToolRunner(chat, [track, look, fail], context=CONTEXT, **way).run()
    assert recorded_results(chat) == EXPECTED


async def test_a_loop_is_not_blocked_by_a_tool_that_is_not_asynchronous(
    chat: onrecord.Conversation,
) -> None:
    goes_on = threading.Event()

    def wait() -> str:
        assert goes_on.wait(30)
        return "waited"

    call_tools(chat, ("wait", {}))
    running = asyncio.ensure_future(onrecord.ToolRunner(chat, [wait]).run_async())
    await asyncio.sleep(0)
    goes_on.set()
    await running
    assert recorded_results(chat) == [("call_1", "waited", False)]


async def test_in_parallel_all_are_begun_before_any_is_awaited(chat: onrecord.Conversation) -> None:
    met = asyncio.Barrier(3)

    async def meet(number: int) -> int:
        await met.wait()
        return number

    call_tools(chat, *(("meet", {"number": number}) for number in (1, 2, 3)))
    await onrecord.ToolRunner(chat, [meet], parallel=True).run_async()
    assert [text for _, text, _ in recorded_results(chat)] == ["1", "2", "3"]


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_call_that_takes_too_long_has_failed(
    chat: onrecord.Conversation, parallel: bool
) -> None:
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    call_tools(chat, ("hang", {}), ("look", {"parcel": "NW-2"}))
    await onrecord.ToolRunner(chat, [hang, look], timeout=3, parallel=parallel).run_async()
    assert recorded_results(chat) == [
        ("call_1", "Error: Tool execution timed out", True),
        ("call_2", "NW-2 looked up", False),
    ]
    assert ended == ["cancelled"]


async def test_a_thread_that_takes_too_long_has_failed_too(chat: onrecord.Conversation) -> None:
    end = threading.Event()

    def hang() -> None:
        end.wait(60)

    call_tools(chat, ("hang", {}))
    await onrecord.ToolRunner(chat, [hang], timeout=0.2).run_async()
    end.set()
    assert recorded_results(chat) == [("call_1", "Error: Tool execution timed out", True)]


async def test_a_tool_s_own_time_out_is_its_own_error(chat: onrecord.Conversation) -> None:
    async def ask() -> None:
        raise TimeoutError("the depot does not answer")

    call_tools(chat, ("ask", {}))
    await onrecord.ToolRunner(chat, [ask], timeout=60).run_async()
    assert recorded_results(chat) == [("call_1", "Error: the depot does not answer", True)]


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_cancellation_that_nobody_asked_for_is_a_result(
    chat: onrecord.Conversation, parallel: bool
) -> None:
    """As when what the tool relies on is gone."""

    async def gone() -> None:
        raise asyncio.CancelledError

    call_tools(chat, ("gone", {}), ("look", {"parcel": "NW-2"}))
    await onrecord.ToolRunner(chat, [gone, look], parallel=parallel).run_async()
    assert recorded_results(chat) == [
        ("call_1", "Error: CancelledError", True),
        ("call_2", "NW-2 looked up", False),
    ]


@pytest.mark.parametrize("parallel", [False, True])
async def test_cancelling_the_run_records_nothing_of_what_was_under_way(
    chat: onrecord.Conversation, parallel: bool
) -> None:
    begun = asyncio.Event()
    ended: list[str] = []

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    call_tools(chat, ("look", {"parcel": "NW-1"}), ("hang", {}))
    running = asyncio.ensure_future(
        onrecord.ToolRunner(chat, [look, hang], parallel=parallel).run_async()
    )
    await begun.wait()
    while not recorded_results(chat):
        await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert recorded_results(chat) == [("call_1", "NW-1 looked up", False)]
    assert [call.id for call in chat.open_calls()] == ["call_2"]
    assert ended == ["cancelled"]


async def test_calls_that_a_signal_cancels_amid_the_round_are_not_made(
    chat: onrecord.Conversation,
) -> None:
    made: list[int] = []

    async def ring(number: int) -> str:
        made.append(number)
        await asyncio.to_thread(chat.signal, "The parcel is here.", interrupts=True)
        return f"rang {number}"

    call_tools(chat, ("ring", {"number": 1}), ("ring", {"number": 2}))
    (run,) = await onrecord.ToolRunner(chat, [ring]).run_async()
    assert made == [1]
    assert isinstance(run.done, onrecord.Rejected)


async def test_an_asynchronous_tool_in_a_loop_that_runs_is_told_how(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("look", {"parcel": "NW-1"}), ("fail", {}))
    runner = onrecord.ToolRunner(chat, [look, fail])
    with pytest.raises(InvalidInput, match=r"await runner\.run_async\(\)"):
        runner.run()
    assert [call.id for call in chat.open_calls()] == ["call_1", "call_2"]
    await runner.run_async()
    assert chat.open_calls() == []


async def test_so_is_one_that_does_not_say_that_it_is_asynchronous(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("look", {"parcel": "NW-1"}), ("hidden", {}))
    hidden = onrecord.tool(lambda: fail(), name="hidden", repeatable=True)
    runner = onrecord.ToolRunner(chat, [look, hidden])
    with pytest.raises(InvalidInput, match=r"await runner\.run_async\(\)"):
        runner.run()
    assert [call.id for call in chat.open_calls()] == ["call_2"]
    await runner.run_async()
    assert chat.open_calls() == []


async def test_a_thread_sees_the_caller_s_context_variables(chat: onrecord.Conversation) -> None:
    import contextvars

    variable = contextvars.ContextVar[str]("variable")
    variable.set("seen")

    def see() -> str:
        return variable.get()

    call_tools(chat, ("see", {}))
    await onrecord.ToolRunner(chat, [see]).run_async()
    assert recorded_results(chat) == [("call_1", "seen", False)]
