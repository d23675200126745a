"""`onrecord show`: what stands beside the history, and why, for those who never read of branches."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.adapters.terminal.side_branch_instructions import side_branch_instructions
from onrecord.domain.log import Backend, RecordedEvent
from tests.adapters.cli.command import Command, in_process, url_of
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Anthropic, Chat, Program, Responses, Spelling
from tests.adapters.recording.own_history_others import Bedrock, Gemini
from tests.factories import TENANT

KEY = "support/4711"
CLERK = "You are a clerk."


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ONRECORD_TENANT", str(TENANT))
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    return url_of(tmp_path)


def played(folder: Path, url: str, spelling: Spelling, titles: int = 1) -> None:
    """An edit that the conversation went on from, a sample, and sub-agents that give titles."""
    with onrecord.connect(url) as store:
        program = Program(Recorded(folder, backend_of(store)), spelling)
        history = program.ask(program.user("u1"), "a1", system=CLERK)
        program.ask([*history, *program.user("u2")], "a2", system=CLERK)
        edited = program.ask([*history, *program.user("u2b")], "b2", system=CLERK)
        for number in range(titles):
            told = "You give titles. " * 40
            program.ask(program.user(f"x{number}"), "y", system=told)
        program.ask([*edited, *program.user("u3")], "a3", system=CLERK)
        program.ask([*history, *program.user("u2c")], "c2", system=CLERK)


def test_it_says_how_much_is_not_shown_and_why(tmp_path: Path, url: str, command: Command) -> None:
    played(tmp_path, url, Anthropic(), titles=2)
    shown = command("show", KEY)
    assert shown.err == (
        "16 events are not history and not shown: "
        "4 events given up when the conversation went on elsewhere; "
        "8 events on 2 side branches, each "
        "a request of its own, such as a sub-agent's or one for a title; "
        "4 events on a side branch: an edit, another answer or a repeated request. "
        f"`onrecord show {KEY} --lines` shows them.\n"
    )
    everything = command("show", KEY, "--lines")
    assert everything.err == ""
    beside = {row[0] for row in everything.columns if row[4] and row[3] != "line"}
    assert len(beside) == 16
    assert beside.isdisjoint(row[0] for row in shown.columns)


def test_it_reads_the_events_once(
    tmp_path: Path, url: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    played(tmp_path, url, Anthropic())
    with onrecord.connect(url) as store:
        kind, head = type(backend_of(store)), store.conversation(KEY).head().version
    read, passes = kind.read, list[int]()

    def counting(backend: Backend, conversation_id: UUID, **places: int) -> Iterator[RecordedEvent]:
        passes.append(places.get("until", 0) - places.get("after", 0))
        return read(backend, conversation_id, **places)

    monkeypatch.setattr(kind, "read", counting)
    command("show", KEY)
    assert passes.count(head) == 1


def test_where_all_is_history_it_says_nothing(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        store.conversation("another").user("Hello")
    assert command("show", "another").err == ""


def test_of_an_answer_that_was_given_up_it_says_so(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation("another")
        asked = chat.user("Hello")
        chat.edit_message(asked.last, "Good day")
    assert command("show", "another").err.startswith(
        "1 event is not history and not shown: 1 event given up when the conversation went on elsewhere."
    )


@pytest.mark.parametrize(
    "spelling", [Anthropic(), Chat(), Responses(), Gemini(), Bedrock()], ids=lambda it: it.api
)
def test_the_instructions_of_a_sub_agent_are_shown(
    tmp_path: Path, url: str, command: Command, spelling: Spelling
) -> None:
    played(tmp_path, url, spelling, titles=2)
    rows = command("show", KEY, "--lines").columns
    told = [row for row in rows if row[2:4] == ["system", "instructions"]]
    assert [row[4] for row in told] == ["", "aside", "aside"]
    assert [row[6] for row in told] == [CLERK, *["You give titles. " * 40] * 2]
    assert all([row[0], "request"] in [[it[0], it[3]] for it in rows] for row in told[1:])


def test_a_branch_of_several_requests_says_where_it_began(
    tmp_path: Path, url: str, command: Command
) -> None:
    with onrecord.connect(url) as store:
        program = Program(Recorded(tmp_path, backend_of(store)), Anthropic())
        program.ask(program.user("u1"), "a1", system=CLERK)
        history = program.ask(program.user("x1"), "y1", system="You look things up.")
        program.ask([*history, *program.user("x2")], "y2", system="You look things up.")
    (branch,) = (row for row in command("show", KEY, "--lines").columns if row[3] == "line")
    assert branch[6].startswith("unrelated (a request of its own")


def test_no_body_is_held_longer_than_later_requests_refer_to_it(tmp_path: Path, url: str) -> None:
    played(tmp_path, url, Anthropic(), titles=20)
    held, most = 0, 0

    class Body(bytes):
        def __del__(self) -> None:
            nonlocal held
            held -= 1

    with onrecord.connect(url) as store:
        chat, backend = store.conversation(KEY), backend_of(store)

        def read() -> Iterator[RecordedEvent]:
            nonlocal held, most
            for event in backend.read(chat.conversation_id):
                held, most = held + 1, max(most, held + 1)
                yield event._replace(body=Body(event.body or b""))

        instructions = side_branch_instructions(read, chat.blob)
        assert list(instructions.values()) == ["You give titles. " * 40] * 20
        assert chat.head().version > 100
    assert most < 10
