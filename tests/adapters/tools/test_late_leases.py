"""Who begins a call so late that its time is over by then looks again before it makes the call."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.log import Append, Verdict
from onrecord.domain.tools import ToolCallBegun
from tests.adapters.tools.conversations import call_tools, recorded_results

SHORT = 1.0


@pytest.fixture(params=["memory", "sqlite"])
def chat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[onrecord.Conversation]:
    memory = request.param == "memory"
    with onrecord.connect("memory://" if memory else f"sqlite:///{tmp_path / 'o.db'}") as store:
        yield store.conversation("support/4711", actor="runtime")


def begun(chat: onrecord.Conversation) -> list[ToolCallBegun]:
    events = (each.event() for each in chat.events())
    return [event for event in events if isinstance(event, ToolCallBegun)]


def test_who_began_too_late_makes_no_call_that_another_has_begun_since(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append waited for its turn to write until the time of the call was over."""
    call_tools(chat, ("pay", {}))
    backend = stream_of(chat).backend
    by_clock, append, late = backend.clock, backend.append, [0]
    made: list[str] = []

    def pay() -> str:
        made.append("paid")
        return "paid"

    tool = onrecord.tool(pay, repeatable=True)

    def append_late(appends: Sequence[Append]) -> list[Verdict]:
        verdicts = append(appends)
        if any(event.type == "tool_call.begun" for each in appends for event in each.events):
            monkeypatch.setattr(backend, "append", append)
            late[0] += 2_000_000
            onrecord.ToolRunner(chat, [tool], lease=SHORT).run()
        return verdicts

    monkeypatch.setattr(backend, "clock", lambda: by_clock() + late[0])
    monkeypatch.setattr(backend, "append", append_late)
    onrecord.ToolRunner(chat, [tool], lease=SHORT).run()
    assert made == ["paid"]
    assert recorded_results(chat) == [("call_1", "paid", False)]


def test_who_began_too_late_begins_again_where_nobody_else_has(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_tools(chat, ("pay", {}))
    backend = stream_of(chat).backend
    now = backend.clock()
    # What is over once it is recorded: the clock is asked before and after.
    times = iter([now, now + 2_000_000])
    monkeypatch.setattr(backend, "clock", lambda: next(times, now + 2_000_001))
    onrecord.ToolRunner(chat, [onrecord.tool(lambda: "paid", name="pay")], lease=SHORT).run()
    assert [step.renews for step in begun(chat)] == [False, True]
    assert recorded_results(chat) == [("call_1", "paid", False)]
