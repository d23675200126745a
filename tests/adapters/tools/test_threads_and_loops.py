"""Where calls are made: what becomes of them where a thread or a loop is not to be had."""

import asyncio
import errno
import threading
from collections.abc import Iterator
from typing import Any

import mcp
import pytest

import onrecord
from onrecord.domain.errors import InvalidInput
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.adapters.tools.mcp_server import Sent


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


async def look(parcel: str) -> str:
    return f"{parcel} looked up"


def track(parcel: str) -> str:
    return f"{parcel} found"


CALLS = (("track", {"parcel": "NW-1"}), ("look", {"parcel": "NW-2"}))


@pytest.mark.anyio
@pytest.mark.parametrize("way", [{}, {"parallel": True}, {"timeout": 60}])
async def test_nothing_is_called_that_would_wait_for_the_loop_which_it_blocks(
    chat: onrecord.Conversation, way: dict[str, Any]
) -> None:
    sent = Sent()
    call_tools(chat, ("track", {"parcel": "NW-1"}), ("echo", {"text": "a"}))
    async with mcp.Client(sent.server()) as client:
        runner = onrecord.ToolRunner(chat, [track, await onrecord.mcp_tools(client)], **way)
        with pytest.raises(InvalidInput, match="write `await runner"):
            runner.run()
        assert (recorded_results(chat), sent.calls) == ([], [])
        await runner.run_async()
    assert [text for _, text, _ in recorded_results(chat)] == ["NW-1 found", "{'text': 'a'}"]


def _few_threads() -> Iterator[bool]:
    yield True
    while True:
        yield False


def test_a_call_that_gets_no_thread_has_failed_and_the_others_are_recorded(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, there_is_one = threading.Thread.start, _few_threads()

    def few(thread: threading.Thread) -> None:
        if not next(there_is_one):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", few)
    call_tools(chat, *CALLS)
    onrecord.ToolRunner(chat, [track, look], parallel=True, lease=None).run()
    assert recorded_results(chat) == [
        ("call_1", "NW-1 found", False),
        ("call_2", "Error: can't start new thread", True),
    ]


def test_a_lease_that_gets_no_thread_runs_out_and_the_call_is_made(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    call_tools(chat, ("track", {"parcel": "NW-1"}))
    onrecord.ToolRunner(chat, [track]).run()
    assert recorded_results(chat) == [("call_1", "NW-1 found", False)]
    assert "there is no thread to be had" in caplog.text


@pytest.mark.parametrize("parallel", [False, True])
def test_a_call_that_gets_no_loop_has_failed_and_the_others_are_recorded(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch, parallel: bool
) -> None:
    def none(*_: object, **__: object) -> asyncio.AbstractEventLoop:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("asyncio.runners.events.new_event_loop", none)
    call_tools(chat, *CALLS)
    onrecord.ToolRunner(chat, [track, look], parallel=parallel).run()
    assert recorded_results(chat) == [
        ("call_1", "NW-1 found", False),
        ("call_2", "Error: [Errno 24] Too many open files", True),
    ]


@pytest.mark.anyio
async def test_a_coroutine_that_there_is_no_time_to_begin_has_failed_without_a_warning(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("track", {"parcel": "NW-1"}))
    await onrecord.ToolRunner(chat, [track], timeout=1e-9).run_async()
    assert recorded_results(chat) == [("call_1", "Error: Tool execution timed out", True)]


@pytest.mark.parametrize("timeout", [float("inf"), 1e10, 10**400])
@pytest.mark.parametrize("parallel", [False, True])
def test_any_time_above_zero_may_be_given(
    chat: onrecord.Conversation, timeout: float, parallel: bool
) -> None:
    begun = threading.Event()

    def wait() -> str:
        begun.wait(0.05)  # Long enough that the result is waited for.
        return "waited"

    call_tools(chat, ("wait", {}))
    onrecord.ToolRunner(chat, [wait], timeout=timeout, parallel=parallel).run()
    assert recorded_results(chat) == [("call_1", "waited", False)]
