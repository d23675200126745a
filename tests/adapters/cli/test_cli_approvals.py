"""`onrecord approvals`, `approve`, `deny`: a person decides about calls of tools."""

from json import loads
from pathlib import Path

import pytest

import onrecord
from tests.adapters.cli.command import Command, in_process, url_of
from tests.adapters.tools.conversations import call_tools, recorded_results

KEY = "support/4711"


def pay(amount: int) -> str:
    """Pay it."""
    return f"paid {amount}"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store in which two calls wait for a person."""
    with onrecord.connect(url_of(tmp_path)) as store:
        chat = call_tools(store.conversation(KEY), ("pay", {"amount": 7}), ("pay", {"amount": 8}))
        onrecord.ToolRunner(chat, [onrecord.tool(pay, needs_approval=True)]).run()
    return url_of(tmp_path)


def test_it_lists_what_waits_in_one_conversation_and_in_all(run: Command, url: str) -> None:
    rows = [[*row[:4], *row[5:]] for row in run("approvals", "--url", url).columns]
    assert rows == [
        [KEY, "call_1", "pay", '{"amount":7}', "", "3:0"],
        [KEY, "call_2", "pay", '{"amount":8}', "", "4:0"],
    ]
    assert run("approvals", KEY, "--url", url).out == run("approvals", "--url", url).out


def test_a_granted_call_is_made_by_the_next_run_and_a_denied_one_never(
    run: Command, url: str
) -> None:
    assert run("approve", KEY, "call_1", "--actor", "ben", "--url", url).code == 0
    assert run("deny", KEY, "call_2", "--reason", "too much", "--url", url).code == 0
    assert run("approvals", "--url", url).out == ""
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        onrecord.ToolRunner(chat, [onrecord.tool(pay, needs_approval=True)]).run()
        assert sorted(recorded_results(chat)) == [
            ("call_1", "paid 7", False),
            ("call_2", "Error: A person denied this call: too much", True),
        ]


def test_it_says_which_call_of_which_tool_was_decided_and_by_whom(run: Command, url: str) -> None:
    done = run("deny", KEY, "call_1", "--reason", "no", "--actor", "ben", "--url", url, "--json")
    assert loads(done.out) == {
        "call": "call_1",
        "tool": "pay",
        "question": "3:0",
        "decision": "denied",
        "actor": "ben",
    }
    done = run("approve", KEY, "call_2", "--actor", "ben", "--url", url)
    assert "The call call_2 of pay is granted, by ben." in done.out + done.err


def test_what_was_decided_before_is_said_to_be(run: Command, url: str) -> None:
    run("approve", KEY, "call_1", "--url", url)
    done = run("deny", KEY, "call_1", "--reason", "never", "--url", url)
    assert (done.code, "granted before" in done.err) == (1, True)
    done = run("approve", KEY, "call_9", "--url", url)
    assert (done.code, "`approvals` lists the calls" in done.err) == (1, True)


def test_whoever_names_the_question_decides_no_later_call_of_the_same_id(
    run: Command, url: str
) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        chat.cancel("call_1")
        call = onrecord.ToolCall(id="call_1", name="pay", arguments={"amount": 9})
        chat.assistant(calls=[call])
        onrecord.ToolRunner(chat, [onrecord.tool(pay, needs_approval=True)]).run()
    for decide in (("approve",), ("deny", "--reason", "no")):
        done = run(decide[0], KEY, "call_1", *decide[1:], "--question", "3:0", "--url", url)
        assert (done.code, "which waits has question 8:0" in done.err) == (1, True)
        done = run(decide[0], KEY, "call_1", *decide[1:], "--question", "three", "--url", url)
        assert (done.code, "such as 3:0" in done.err) == (1, True)
    assert run("approve", KEY, "call_1", "--question", "8:0", "--url", url).code == 0
    assert [row[1] for row in run("approvals", "--url", url).columns] == ["call_2"]
    done = run("deny", KEY, "call_1", "--reason", "no", "--question", "8:0", "--url", url)
    assert (done.code, "granted before" in done.err) == (1, True)
