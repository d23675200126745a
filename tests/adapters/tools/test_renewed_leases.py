"""A lease lasts as long as its call: in threads, in loops, when the store is away, and no longer."""

import asyncio
import gc
import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.open_calls import OpenCall, open_calls
from onrecord.adapters.tools.runner import leases
from onrecord.adapters.tools.runner.leases import CallLease, LeaseRenewals
from onrecord.domain.errors import CallTakenOver, InvalidContent, StorageUnavailable
from onrecord.domain.tools import ToolCallBegun
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.patience import PATIENCE

KEY = "support/4711"
SHORT = 1.0


@pytest.fixture(params=["memory", "sqlite"])
def chat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[onrecord.Conversation]:
    memory = request.param == "memory"
    with onrecord.connect("memory://" if memory else f"sqlite:///{tmp_path / 'o.db'}") as store:
        yield store.conversation(KEY, actor="runtime")


def begun(chat: onrecord.Conversation) -> list[ToolCallBegun]:
    events = (each.event() for each in chat.events())
    return [event for event in events if isinstance(event, ToolCallBegun)]


def becomes(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def until_renewed(chat: onrecord.Conversation) -> None:
    """The first lease would be over, if nobody had renewed it."""
    first = begun(chat)[0].until
    becomes(lambda: stream_of(chat).backend.clock() > first)


def is_left_alone(chat: onrecord.Conversation, call: str) -> bool:
    """Whether another runner leaves the call to the one that makes it."""
    tool = onrecord.tool(lambda: "again", name=call, repeatable=True)
    runner = onrecord.ToolRunner(chat, [tool])
    return (runner.run(), len(runner.waiting)) == ((), 1)


def test_a_runner_has_a_lease_unless_it_is_told_otherwise(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {}))
    onrecord.ToolRunner(chat, [onrecord.tool(lambda: "paid", name="pay")]).run()
    (event,) = begun(chat)
    assert event.until - event.at == leases.LEASE * 1_000_000
    call_tools(chat, ("pay", {}))
    onrecord.ToolRunner(chat, [onrecord.tool(lambda: "paid", name="pay")], lease=None).run()
    assert len(begun(chat)) == 1


def test_a_tool_that_there_is_not_is_not_begun(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {}))
    onrecord.ToolRunner(chat, []).run()
    assert begun(chat) == []


@pytest.mark.parametrize("lease", [0, 0.5, -1, True, "60", float("nan")])
def test_what_is_no_lease_is_refused(chat: onrecord.Conversation, lease: float) -> None:
    with pytest.raises(InvalidContent, match="a lease is a number of seconds"):
        onrecord.ToolRunner(chat, [], lease=lease)


@pytest.mark.parametrize("way", ["here", "timeout", "parallel", "awaited", "awaited in a thread"])
def test_a_lease_lasts_as_long_as_its_call(chat: onrecord.Conversation, way: str) -> None:
    call_tools(chat, ("long", {}))
    left: list[bool] = []

    def long() -> str:
        until_renewed(chat)
        left.append(is_left_alone(chat, "long"))
        return "done"

    async def long_awaited() -> str:
        return await asyncio.to_thread(long)

    awaited = onrecord.tool(long_awaited, name="long")
    runner = onrecord.ToolRunner(
        chat,
        [awaited if way == "awaited" else long],
        lease=SHORT,
        parallel=way == "parallel",
        timeout=PATIENCE if way == "timeout" else None,
    )
    runs = asyncio.run(runner.run_async()) if way.startswith("awaited") else runner.run()
    assert ([run.output for run in runs], left) == (["done"], [True])


def test_no_lease_limits_how_long_a_call_takes_but_a_time_out_does(
    chat: onrecord.Conversation,
) -> None:
    """The thread goes on, but the call has its result: its lease is renewed no more."""
    call_tools(chat, ("long", {}))
    ends = threading.Event()
    tool = onrecord.tool(lambda: ends.wait(PATIENCE), name="long", timeout=SHORT * 1.5)
    (run,) = onrecord.ToolRunner(chat, [tool], lease=SHORT).run()
    assert (run.output, run.is_error) == ("Error: Tool execution timed out", True)
    version = chat.head().version
    until = begun(chat)[-1].until
    becomes(lambda: stream_of(chat).backend.clock() > until)
    ends.set()
    assert chat.head().version == version


def test_a_result_that_waits_for_those_before_it_keeps_its_lease(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("long", {}), ("quick", {}))
    left: list[bool] = []

    def long() -> None:
        until_renewed(chat)
        runner = onrecord.ToolRunner(chat, [onrecord.tool(quick, repeatable=True)])
        left.append((runner.run(), len(runner.waiting)) == ((), 2))

    def quick() -> str:
        return "done"

    onrecord.ToolRunner(chat, [long, quick], lease=SHORT, parallel=True).run()
    assert left == [True]
    assert [call for call, _, _ in recorded_results(chat)] == ["call_1", "call_2"]


def test_a_call_that_is_interrupted_is_given_up_at_once(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {}))

    def interrupted() -> None:
        raise KeyboardInterrupt

    tool = onrecord.tool(interrupted, name="pay")
    with pytest.raises(KeyboardInterrupt):
        onrecord.ToolRunner(chat, [tool]).run()
    onrecord.ToolRunner(chat, [tool]).run()
    (waiting,) = chat.approvals()
    assert waiting.unsure
    chat.approve("call_1", actor="ana")
    (run,) = onrecord.ToolRunner(chat, [onrecord.tool(lambda: "paid", name="pay")]).run()
    assert run.output == "paid"


def test_a_repeatable_one_is_made_again(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("look", {}))
    times: list[int] = []

    def look() -> str:
        times.append(1)
        if len(times) == 1:
            raise KeyboardInterrupt
        return "seen"

    runner = onrecord.ToolRunner(chat, [onrecord.tool(look, repeatable=True)])
    with pytest.raises(KeyboardInterrupt):
        runner.run()
    assert [run.output for run in runner.run()] == ["seen"]


def test_a_thread_that_goes_on_after_its_task_was_cancelled_keeps_the_lease_until_it_ends(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("long", {}))
    is_running, ends = threading.Event(), threading.Event()

    def long() -> None:
        is_running.set()
        ends.wait(PATIENCE)

    async def main() -> None:
        runner = onrecord.ToolRunner(chat, [long], lease=SHORT)
        task = asyncio.ensure_future(runner.run_async())
        await asyncio.to_thread(is_running.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    until_renewed(chat)
    assert is_left_alone(chat, "long")
    ends.set()
    becomes(lambda: not is_left_alone(chat, "long"))
    assert [text for _, text, _ in recorded_results(chat)] == ["again"]


def test_a_coroutine_that_is_cancelled_gives_the_call_up(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("long", {}))

    async def main() -> None:
        is_running = asyncio.Event()

        async def long() -> None:
            is_running.set()
            await asyncio.Event().wait()

        task = asyncio.ensure_future(onrecord.ToolRunner(chat, [long]).run_async())
        await asyncio.wait_for(is_running.wait(), PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert not is_left_alone(chat, "long")


def test_whoever_was_overtaken_is_told(
    chat: onrecord.Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    call_tools(chat, ("pay", {}))

    def pay() -> str:
        (opened,) = open_calls(stream_of(chat))
        assert CallLease(stream_of(chat), opened, SHORT, LeaseRenewals()).begin()
        becomes(lambda: "another runner began" in caplog.text)
        return "paid"

    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(CallTakenOver, match="'call_1'") as overtaken,
    ):
        onrecord.ToolRunner(chat, [pay], lease=SHORT).run()
    assert overtaken.value.call_ids == ("call_1",)
    assert recorded_results(chat) == [("call_1", "paid", False)]


def test_who_goes_on_late_takes_back_no_decision(chat: onrecord.Conversation) -> None:
    """A person was asked, for nobody renewed the lease in time, and said that it be made again."""
    call_tools(chat, ("pay", {}))
    tool = onrecord.tool(lambda: "paid", name="pay")
    lease = lease_of_first(chat)
    assert lease.begin()
    until_renewed(chat)
    onrecord.ToolRunner(chat, [tool]).run()
    chat.approve("call_1", actor="ana")
    assert lease.renew() is not None
    runner = onrecord.ToolRunner(chat, [tool])
    assert (runner.run(), len(runner.waiting)) == ((), 1)
    lease.drop()
    assert [run.output for run in runner.run()] == ["paid"]


# One lease, renewed by hand.


class ByHand(LeaseRenewals):
    """Renews nothing by itself."""

    def _set_timer(self, due: float) -> None:
        del due


def lease_of_first(chat: onrecord.Conversation, renewals: LeaseRenewals | None = None) -> CallLease:
    first: OpenCall = open_calls(stream_of(chat))[0]
    return CallLease(stream_of(chat), first, SHORT, renewals or ByHand())


@contextmanager
def failing(
    chat: onrecord.Conversation, patch: pytest.MonkeyPatch, *, after: bool
) -> Generator[None]:
    """The store is away: it fails before it takes what is appended, or after it took it."""
    backend = stream_of(chat).backend
    append = backend.append

    def fail(requests: object) -> object:
        if after:
            append(requests)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        raise StorageUnavailable("gone")

    with patch.context() as patched:
        patched.setattr(backend, "append", fail)
        yield


@pytest.mark.parametrize("after", [False, True])
def test_a_renewal_that_failed_is_made_again_and_counts_once(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    call_tools(chat, ("pay", {}))
    lease = lease_of_first(chat)
    assert lease.begin()
    with failing(chat, monkeypatch, after=after):
        assert lease.renew() is not None
    assert lease.renew() is not None
    assert not lease.is_lost
    assert [event.number for event in begun(chat)] == [0, 1, 2]


def test_a_call_that_was_cancelled_meanwhile_is_renewed_no_more(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("pay", {}))
    lease = lease_of_first(chat)
    assert lease.begin()
    chat.cancel("call_1")
    assert lease.renew() is None
    assert not lease.is_lost
    assert len(begun(chat)) == 1


def test_nobody_begins_a_call_for_a_task_that_is_gone(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {}))
    lease = lease_of_first(chat)
    lease.drop()
    assert not lease.begin()
    assert begun(chat) == []


def test_a_lease_that_nobody_refers_to_is_renewed_no_more(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {}))
    renewals = LeaseRenewals()
    assert lease_of_first(chat, renewals).begin()
    gc.collect()
    until = begun(chat)[0].until
    becomes(lambda: stream_of(chat).backend.clock() > until)
    assert len(begun(chat)) == 1


def test_a_thread_renews_all_leases_of_a_store_and_goes_when_none_is_left(
    chat: onrecord.Conversation,
) -> None:
    before = set(threading.enumerate())
    tools = [onrecord.tool(lambda: "paid", name="pay")]
    for lease in (leases.LEASE, leases.LEASE, SHORT * 2, SHORT):
        call_tools(chat, ("pay", {}))
        onrecord.ToolRunner(chat, tools, lease=lease).run()
        # One that was cancelled, for it would have rung too late, may just be about to end.
        becomes(lambda: len(set(threading.enumerate()) - before) == 1)
    becomes(lambda: not set(threading.enumerate()) - before)


def test_a_short_lease_does_not_wait_for_a_long_one(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("quick", {}), ("long", {}))
    onrecord.ToolRunner(chat, [onrecord.tool(lambda: "done", name="quick")]).run()

    def long() -> None:
        first = next(each for each in begun(chat) if each.call_id == "call_3")
        becomes(lambda: stream_of(chat).backend.clock() > first.until)

    call_tools(chat, ("long", {}))
    onrecord.ToolRunner(chat, [long], lease=SHORT).run()
    assert len([each for each in begun(chat) if each.call_id == "call_3"]) > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
def test_a_forked_child_neither_renews_the_lease_of_its_parent_nor_ends_it(
    tmp_path: Path,
) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'o.db'}") as store:
        chat = store.conversation(KEY)
        call_tools(chat, ("pay", {}))
        lease = lease_of_first(chat, LeaseRenewals())
        assert lease.begin()
        if not (child := os.fork()):
            try:
                lease.drop()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert begun(chat)[-1].until > stream_of(chat).backend.clock()
        until_renewed(chat)
        assert is_left_alone(chat, "pay")
        lease.drop()
