"""`onrecord request` through windows by exchanges and by messages."""

from __future__ import annotations

from pathlib import Path

import pytest

import onrecord
from onrecord.domain.content import Text
from onrecord.domain.events import MessageRecorded
from tests.adapters.cli.command import Command, in_process

KEY = "support/4711"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    monkeypatch.setenv("ONRECORD_URL", url)
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        chat.instruct("Be kind.")
        for number in range(1, 6):
            chat.user(f"prompt {number}")
            if number == 3:
                chat.log.append(MessageRecorded(role="system", content=(Text(text="A note."),)))
    return url


def said(request: dict[str, list[dict[str, str]]]) -> list[str]:
    return [message["content"] for message in request["messages"]]


@pytest.mark.usefixtures("url")
class TestMessages:
    def test_the_last_messages_are_kept_and_the_instructions_count(self, command: Command) -> None:
        done = command("request", KEY, "--api", "openai-chat", "--messages", "3")
        assert said(done.document) == ["Be kind.", "prompt 4", "prompt 5"]
        assert "window" in done.err

    @pytest.mark.parametrize(
        ("strategy", "wanted"),
        [
            ("message-window", ["Be kind.", "prompt 4", "prompt 5"]),
            ("sliding-window", ["Be kind.", "A note.", "prompt 5"]),
        ],
    )
    def test_the_way_is_named(self, command: Command, strategy: str, wanted: list[str]) -> None:
        options = ("--messages", "3", "--strategy", strategy)
        done = command("request", KEY, "--api", "openai-chat", *options)
        assert said(done.document) == wanted

    def test_a_way_that_is_none_is_wrong_usage(self, command: Command) -> None:
        assert command("request", KEY, "--messages", "2", "--strategy", "last").code == 2

    def test_a_negative_number_is_an_error_that_says_so(self, command: Command) -> None:
        done = command("request", KEY, "--messages", "-1")
        assert done.code == 1
        assert "maxMessages must not be negative (was -1)" in done.err

    def test_a_window_that_leaves_nothing_says_so(self, command: Command) -> None:
        done = command("request", KEY, "--messages", "0")
        assert done.code == 1
        assert "let it keep more" in done.err

    def test_a_window_counts_exchanges_or_messages(self, command: Command) -> None:
        done = command("request", KEY, "--window", "2", "--messages", "2")
        assert done.code == 2
        assert "give one of" in done.err
