"""Tools that are called once in an exchange: told from the log, whoever runs them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import onrecord
from onrecord.domain.content import Text, ToolCall, ToolResult
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded
from tests.adapters.tools.conversations import call_tools, recorded_results

AGAIN = (
    "ALREADY LOADED. The body of 'manual' was returned earlier in this turn \u2014 read it from your "
    "conversation history above. Do not call this tool again.\n"
)


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


def manual() -> str:
    """Read the manual."""
    return "Press the button."


def broken() -> str:
    """Read what cannot be read."""
    raise OSError("no disk")


def flaky() -> Callable[[], str]:
    """A manual that cannot be read the first time."""
    failures = iter([OSError("not yet")])

    def manual() -> str:
        for failure in failures:
            raise failure
        return "Press the button."

    return manual


def texts(chat: onrecord.Conversation) -> list[str]:
    return [text for _, text, _ in recorded_results(chat)]


def called(chat: onrecord.Conversation, call_id: str, name: str = "manual") -> None:
    """The model calls a tool again, in the same exchange."""
    call = ToolCall(id=call_id, name=name, arguments={})
    chat.log.append(ToolCallRecorded(call_id=call_id, name=name, content=call))


@pytest.mark.parametrize("parallel", [False, True])
def test_the_second_call_of_a_round_is_told_where_the_result_stands(
    chat: onrecord.Conversation, parallel: bool
) -> None:
    thirty_two: list[tuple[str, dict[str, str]]] = [("manual", {})] * 32
    call_tools(chat, *thirty_two)
    once = onrecord.tool(manual).once("Go on.")
    onrecord.ToolRunner(chat, [once], parallel=parallel).run()
    assert texts(chat) == ["Press the button.", *[f"{AGAIN}Go on."] * 31]
    assert not any(is_error for _, _, is_error in recorded_results(chat))


@pytest.mark.parametrize("parallel", [False, True])
def test_a_call_of_a_round_is_made_where_the_one_before_it_failed(
    chat: onrecord.Conversation, parallel: bool
) -> None:
    call_tools(chat, ("manual", {}), ("manual", {}), ("manual", {}))
    runner = onrecord.ToolRunner(chat, [onrecord.tool(flaky()).once()], parallel=parallel)
    runner.run()
    called(chat, "later")
    runner.run()
    assert recorded_results(chat) == [
        ("call_1", "Error: not yet", True),
        ("call_2", "Press the button.", False),
        ("call_3", AGAIN, False),
        ("later", AGAIN, False),
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("parallel", [False, True])
async def test_so_it_is_in_a_loop(chat: onrecord.Conversation, parallel: bool) -> None:
    call_tools(chat, ("manual", {}), ("manual", {}), ("manual", {}))
    tools = [onrecord.tool(flaky()).once()]
    await onrecord.ToolRunner(chat, tools, parallel=parallel).run_async()
    assert texts(chat) == ["Error: not yet", "Press the button.", AGAIN]


def test_so_is_one_of_a_later_round_by_another_runner(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("manual", {}))
    onrecord.ToolRunner(chat, [onrecord.tool(manual).once()]).run()
    called(chat, "later")
    onrecord.ToolRunner(chat, [onrecord.tool(manual).once()]).run()
    assert texts(chat) == ["Press the button.", AGAIN]


def test_in_another_process_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    for number in (1, 2):
        with onrecord.connect(url) as store:
            chat = store.conversation("support/4711")
            if number == 1:
                chat.user("Help")
            called(chat, f"call_{number}")
            onrecord.ToolRunner(chat, [onrecord.tool(manual).once()]).run()
    with onrecord.connect(url) as store:
        assert texts(store.conversation("support/4711")) == ["Press the button.", AGAIN]


def test_a_new_prompt_begins_anew(chat: onrecord.Conversation) -> None:
    runner = onrecord.ToolRunner(chat, [onrecord.tool(manual).once()])
    for _ in range(2):
        call_tools(chat, ("manual", {}))
        runner.run()
    assert texts(chat) == ["Press the button."] * 2


def test_an_error_is_no_result_that_could_be_read(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("broken", {}))
    runner = onrecord.ToolRunner(chat, [onrecord.tool(broken).once()])
    runner.run()
    called(chat, "later", "broken")
    runner.run()
    assert texts(chat) == ["Error: no disk"] * 2


def test_a_conversation_without_a_prompt_keeps_no_count(chat: onrecord.Conversation) -> None:
    runner = onrecord.ToolRunner(chat, [onrecord.tool(manual).once()])
    for number in range(2):
        called(chat, f"call_{number}")
        runner.run()
    assert texts(chat) == ["Press the button."] * 2


def test_an_answer_that_was_given_up_does_not_count(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("manual", {}))
    runner = onrecord.ToolRunner(chat, [onrecord.tool(manual).once()])
    runner.run()
    chat.edit_message(2, "Where is the other one?")
    called(chat, "later")
    runner.run()
    assert texts(chat) == ["Press the button."] * 2


def test_a_result_that_was_redacted_is_not_there_to_be_read(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("manual", {}))
    runner = onrecord.ToolRunner(chat, [onrecord.tool(manual).once()])
    (run,) = runner.run()
    chat.redact(run.done.last)
    called(chat, "later")
    runner.run()
    called(chat, "last")
    runner.run()
    assert texts(chat) == ["Press the button.", "Press the button.", AGAIN]


def test_so_it_is_where_a_summary_stands_for_it(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("manual", {}))
    runner = onrecord.ToolRunner(chat, [onrecord.tool(manual).once()])
    runner.run()
    chat.compact("They read the manual.", until=chat.head().version)
    called(chat, "later")
    runner.run()
    assert texts(chat) == ["Press the button."] * 2


def test_a_result_on_a_line_of_its_own_does_not_count(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("manual", {}))
    line = uuid4()
    result = ToolResult(call_id="aside", content=(Text(text="Press the button."),))
    call = ToolCall(id="aside", name="manual", arguments={})
    chat.log.append(ToolCallRecorded(line=line, call_id="aside", name="manual", content=call))
    chat.log.append(ToolResultRecorded(line=line, call_id="aside", content=result))
    onrecord.ToolRunner(chat, [onrecord.tool(manual).once()]).run()
    assert texts(chat)[-1] == "Press the button."


def test_it_goes_by_the_name_that_the_caller_gave(chat: onrecord.Conversation) -> None:
    runner = onrecord.ToolRunner(chat, [onrecord.tool(manual, name="the/manual").once()])
    runner.declare()
    chat.user("Help")
    request: Any = chat.request("openai-chat")
    spelled = request["tools"][0]["function"]["name"]
    for number in range(2):
        called(chat, f"call_{number}", spelled)
        runner.run()
    assert texts(chat) == ["Press the button.", AGAIN.replace("manual", "the/manual")]


def test_other_tools_are_called_as_often_as_they_are(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("manual", {}), ("manual", {}))
    onrecord.ToolRunner(chat, [manual]).run()
    assert texts(chat) == ["Press the button."] * 2
