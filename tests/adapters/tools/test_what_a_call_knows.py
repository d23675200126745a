"""What a tool learns of its call, how long it may take, and what it reports while it runs."""

import asyncio
import threading
import time

import pytest

import onrecord
from onrecord.domain.errors import InvalidContent
from onrecord.domain.tool_context import EMPTY
from tests.adapters.tools.conversations import call_tools, kept, recorded_results
from tests.patience import PATIENCE


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


@pytest.mark.parametrize("parallel", [False, True])
def test_each_call_learns_its_own_id(chat: onrecord.Conversation, parallel: bool) -> None:
    def track(context: onrecord.ToolCallContext) -> str:
        return f"{context.call_id} for {context['tenant_id']}"

    call_tools(chat, ("track", {}), ("track", {}))
    onrecord.ToolRunner(chat, [track], context={"tenant_id": "acme"}, parallel=parallel).run()
    assert [text for _, text, _ in recorded_results(chat)] == ["call_1 for acme", "call_2 for acme"]


def test_an_asynchronous_tool_learns_its_id_too(chat: onrecord.Conversation) -> None:
    async def track(context: onrecord.ToolCallContext) -> str | None:
        return context.call_id

    call_tools(chat, ("track", {}))
    asyncio.run(onrecord.ToolRunner(chat, [track]).run_async())
    assert recorded_results(chat) == [("call_1", "call_1", False)]


def test_the_id_of_a_call_is_no_entry_of_its_context(chat: onrecord.Conversation) -> None:
    seen: list[onrecord.ToolCallContext] = []

    def track(context: onrecord.ToolCallContext) -> None:
        seen.append(context)

    call_tools(chat, ("track", {}))
    onrecord.ToolRunner(chat, [track], context={"run": "7"}, persist=["run"]).run()
    (context,) = seen
    assert (dict(context), repr(context)) == ({"run": "7"}, "ToolCallContext(run=…)")
    assert kept(chat) == [{"run": "7"}]


def test_a_context_keeps_its_call_where_others_are_merged_into_it() -> None:
    context = EMPTY.of_call("call_1")
    assert context.merge({"a": 1}).call_id == "call_1"
    assert context.merge({}) is context
    assert context != EMPTY.of_call("call_2")
    assert (EMPTY.call_id, onrecord.ToolCallContext(a=1).call_id) == (None, None)


def test_the_time_out_of_a_tool_wins_over_that_of_the_runner(chat: onrecord.Conversation) -> None:
    never = threading.Event()

    def slow() -> bool:
        return never.wait(PATIENCE)

    def patient() -> str:
        time.sleep(0.01)
        return "done"

    tools = [onrecord.tool(slow, timeout=0.01), onrecord.tool(patient).with_options(timeout=60)]
    call_tools(chat, ("slow", {}), ("patient", {}))
    onrecord.ToolRunner(chat, tools, timeout=0.001).run()
    never.set()
    assert recorded_results(chat) == [
        ("call_1", "Error: Tool execution timed out", True),
        ("call_2", "done", False),
    ]


def test_an_asynchronous_tool_has_its_own_time_out(chat: onrecord.Conversation) -> None:
    @onrecord.tool(timeout=0.01)
    async def slow() -> None:
        await asyncio.Event().wait()

    call_tools(chat, ("slow", {}))
    asyncio.run(onrecord.ToolRunner(chat, [slow]).run_async())
    assert recorded_results(chat) == [("call_1", "Error: Tool execution timed out", True)]


@pytest.mark.parametrize("seconds", [0, -1, True, "5"])
def test_a_time_out_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidContent, match="time-out"):
        onrecord.tool(lambda: None, name="f", timeout=seconds)


def test_progress_goes_to_the_runner_and_is_not_recorded(chat: onrecord.Conversation) -> None:
    heard: list[tuple[str, object]] = []

    def count(context: onrecord.ToolCallContext) -> str:
        for part in range(3):
            context.progress({"part": part})
        return "counted"

    call_tools(chat, ("count", {}), ("count", {}))
    runner = onrecord.ToolRunner(
        chat, [count], progress=lambda call, value: heard.append((call.id, value))
    )
    runner.run()
    parts = [{"part": part} for part in range(3)]
    assert heard == [(call, part) for call in ("call_1", "call_2") for part in parts]
    kinds = [each.type for each in chat.events() if each.type != "message.recorded"]
    assert kinds[-4:] == ["tool_call.begun", "tool_result.recorded"] * 2


def test_a_listener_that_fails_changes_nothing_for_the_tool(
    chat: onrecord.Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    def count(context: onrecord.ToolCallContext) -> str:
        context.progress(1)
        return "counted"

    def listen(_call: object, _value: object) -> None:
        raise LookupError("a secret")

    call_tools(chat, ("count", {}))
    onrecord.ToolRunner(chat, [count], progress=listen).run()
    assert recorded_results(chat) == [("call_1", "counted", False)]
    assert "a listener to progress of 'count' failed: LookupError" in caplog.text
    assert "a secret" not in caplog.text


def test_progress_that_nobody_listens_to_goes_nowhere(chat: onrecord.Conversation) -> None:
    def count(context: onrecord.ToolCallContext) -> str:
        context.progress(object())
        return "counted"

    call_tools(chat, ("count", {}))
    onrecord.ToolRunner(chat, [count]).run()
    assert recorded_results(chat) == [("call_1", "counted", False)]
    EMPTY.progress("of no call")
