"""`onrecord fork`, `regenerate`, `edit`, `compact` and `redact`, and what `onrecord show` says of them."""

from pathlib import Path

import pytest

import onrecord
from onrecord.domain.content import Text
from onrecord.domain.events import MessageRecorded
from tests.adapters.cli.command import Command, in_process, url_of
from tests.factories import BECAUSE

KEY = "support/4711"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a prompt and an answer, and another prompt and its answer (versions 2 to 5)."""
    place = url_of(tmp_path)
    monkeypatch.setenv("ONRECORD_URL", place)
    with onrecord.connect(place) as store:
        chat = store.conversation(KEY)
        for number in (1, 2):
            chat.user(f"prompt {number}")
            content = (Text(text=f"answer {number}"),)
            chat.log.append(MessageRecorded(role="assistant", content=content))
    return place


def words(url: str, key: str = KEY) -> list[str]:
    with onrecord.connect(url) as store:
        messages = store.conversation(key).request("openai-chat")["messages"]
        return [message["content"].rpartition("\n")[2] for message in messages]


def test_an_answer_is_given_up(command: Command, url: str) -> None:
    done = command("retract-answer", KEY)
    assert done.out == "The last answer is given up: the next request asks again.\n"
    assert words(url) == ["prompt 1", "answer 1", "prompt 2"]
    rows = command("show", KEY, "--lines").columns
    assert [(row[0], row[4]) for row in rows if row[4]] == [("5", "given up")]


def test_a_prompt_is_edited_with_a_document(command: Command, url: str, tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    file.write_text("a note")
    assert command("edit-message", KEY, "4", "prompt 2b", "--document", str(file)).code == 0
    with onrecord.connect(url) as store:
        messages = store.conversation(KEY).request("anthropic-messages")["messages"]
    said = str(messages)
    assert "prompt 2b" in said
    assert "a note" in said
    assert "answer 2" not in said
    assert command("edit-message", KEY, "4", "x", "--document", "nowhere").code == 2


def test_a_text_may_come_from_standard_input(
    command: Command, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.read", lambda: "from elsewhere")
    assert command("edit-message", KEY, "4", "-").code == 0
    assert words(url)[-1] == "from elsewhere"


def test_a_summary_stands_for_what_was_said_until_it_is_redacted(
    command: Command, url: str
) -> None:
    done = command("compact", KEY, "In short.", "--until", "3")
    assert done.out == "The summary counts; redact version 6 to undo it.\n"
    assert words(url) == ["In short.", "prompt 2", "answer 2"]
    row = command("show", KEY).columns[-1]
    assert row[3:7] == ["compacted", "", "", "stands for what was said up to version 3: In short."]
    assert command("redact", KEY, "6", "--reason", "too short").code == 0
    assert words(url) == ["prompt 1", "answer 1", "prompt 2", "answer 2"]
    assert command("show", KEY).columns[-1][6].endswith("from here on: too short")


def test_what_holds_for_the_history_is_shown_though_it_stands_beside_it(
    command: Command, url: str
) -> None:
    command("compact", KEY, "In short.", "--until", "3")
    command("redact", KEY, "2")
    command("edit-message", KEY, "4", "prompt 2b")
    assert words(url) == ["In short.", "prompt 2b"]
    rows = command("show", KEY).columns
    assert [row[0] for row in rows] == ["1", "2", "3", "6", "7", "8", "9"]
    marks = {row[0]: row[4] for row in command("show", KEY, "--lines").columns if row[4]}
    assert marks == {"2": "redacted", "4": "given up", "5": "given up"}


def test_a_fork_goes_on_elsewhere(command: Command, url: str) -> None:
    done = command("fork", KEY, "fork", "--at", "3", "--reason", "to try")
    assert done.out == f"fork goes on from {KEY} at version 3.\n"
    assert words(url, "fork") == ["prompt 1", "answer 1"]
    again = command("fork", KEY, "fork")
    assert (again.code, again.out) == (1, "")
    assert (
        "only a new conversation can be a fork: give the fork a key that none has yet" in again.err
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("edit-message", KEY, "3", "x"), "version 3 is no prompt"),
        (("edit-message", KEY, "99", "x"), "no event at version 99"),
        (("compact", KEY, " "), "needs words"),
        (("redact", KEY, "99"), "no event at version 99"),
        (("fork", KEY, "x", "--at", "99"), "no version 99"),
        (("retract-answer", "nobody"), "no conversation has the key"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    command: Command, url: str, arguments: tuple[str, ...], why: str
) -> None:
    done = command(*arguments)
    assert (done.code, done.out) == (1, "")
    assert why in done.err


def test_what_was_forgotten_has_no_history(command: Command, url: str) -> None:
    with onrecord.connect(url) as store:
        conversation = store.conversation(KEY).conversation_id
        store.forget(conversation, **BECAUSE)
    done = command("retract-answer", str(conversation))
    assert done.code == 1
    assert "forgotten" in done.err
