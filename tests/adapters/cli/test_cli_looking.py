"""`onrecord conversations`, `show`, `request`: what is there, as people and programs read it."""

import json
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.domain.content import Native, Text
from onrecord.domain.events import (
    MessageRecorded,
    OpaqueRecorded,
    ServerToolCallRecorded,
    ToolCallRecorded,
)
from tests.adapters.cli.command import Command, in_process, on_a_terminal, url_of

KEY = "support/4711"
API = "anthropic-messages"
NASTY = "red \x1b[31mtext\x07 and \u202e a\nline\tmore \ud83d"
NASTY_MESSAGE = MessageRecorded(role="user", content=(Text(text=NASTY),))
DRAWN = ServerToolCallRecorded(
    response=UUID(int=1),
    index=0,
    call_id="ig_1",
    name="image_generation",
    content=Native(
        api="openai-responses",
        value={
            "type": "image_generation_call",
            "id": "ig_1",
            "revised_prompt": "a cat",
            "result": "AAAA",
        },
    ),
)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with two conversations, named by ONRECORD_URL."""
    place = url_of(tmp_path)
    monkeypatch.setenv("ONRECORD_URL", place)
    with onrecord.connect(place) as store:
        store.conversation("ann@example.com").user("Hello")
        chat = store.conversation(KEY)
        chat.instruct("Be kind.")
        chat.user("What is this?", documents=[b"%PDF-1.7 a report"])
        response = chat.conversation_id
        call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}}
        chat.log.append(
            ToolCallRecorded(
                response=response,
                index=0,
                call_id="toolu_1",
                name="look",
                content=Native(api=API, value=call),
            ),
            OpaqueRecorded(
                response=response,
                index=1,
                type="dream",
                content=Native(api=API, value={"type": "dream", "of": "sheep"}),
            ),
        )
        chat.tool_result("toolu_1", "it is red")
        chat.user("And \x1b[2Jthis?")
        chat.annotate({"rating": "5"}, 3)
    return place


class TestConversations:
    def test_piped_each_is_a_line_of_columns_the_last_moved_first(
        self, url: str, command: Command
    ) -> None:
        listed = command("conversations").columns
        assert [row[:4] for row in listed] == [
            [KEY, "8", "2", "0"],
            ["ann@example.com", "2", "1", "0"],
        ]

    def test_json_says_all_of_each(self, url: str, command: Command) -> None:
        first, _ = command("conversations", "--json").documents
        assert list(first) == [
            "key",
            "conversation",
            "version",
            "exchanges",
            "open_calls",
            "closed",
            "input_tokens",
            "output_tokens",
            "started_at",
            "recorded_at",
            "origin",
        ]
        assert (first["key"], first["version"]) == (KEY, 8)

    def test_a_fork_says_what_it_goes_on_from(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            origin = store.conversation(KEY)
            origin.fork("again", at=3).user("And?")
            fork, listed, _ = store.conversations()
            assert (fork.key, fork.origin) == ("again", origin.conversation_id)
            assert listed.origin is None
        assert [row[5] for row in command("conversations").columns] == [
            str(fork.origin),
            "",
            "",
        ]
        assert command("conversations", "--json").documents[0]["origin"] == str(fork.origin)
        assert f"fork of {KEY}" in on_a_terminal("conversations", columns=160)
        command("forget", KEY, "--yes", "--reason", "asked to")
        assert f"fork of {fork.origin}" in on_a_terminal("conversations", columns=160)

    def test_the_url_goes_before_or_after_the_command(
        self, url: str, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("ONRECORD_URL")
        before = command("--url", url, "conversations")
        after = command("conversations", "--url", url)
        assert before == after
        assert len(after.columns) == 2

    def test_looking_makes_no_store(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
        done = command("conversations")
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"onrecord: there is no store at {url_of(tmp_path)}: ")
        assert list(tmp_path.iterdir()) == []

    def test_a_terminal_gets_a_table(self, url: str) -> None:
        drawn = on_a_terminal("conversations")
        assert "conversation" in drawn.splitlines()[1]
        assert KEY in drawn
        assert "just now" in drawn or "s ago" in drawn


class TestShow:
    def test_piped_each_block_is_one_line_of_columns(self, url: str, command: Command) -> None:
        rows = command("show", KEY).columns
        assert [(r[0], r[2], r[3], r[4], r[5]) for r in rows] == [
            ("1", "record", "started", "", ""),
            ("2", "system", "instructions", "", ""),
            ("3", "user", "text", "", ""),
            ("3", "user", "document", "", ""),
            ("4", "assistant", "tool call", "", ""),
            ("5", "assistant", "dream", "opaque", ""),
            ("6", "tool", "result", "", "4"),
            ("7", "user", "text", "", ""),
            ("8", "record", "annotation", "", ""),
        ]
        assert rows[4][6] == 'look {"at":1}'
        assert rows[6][6] == "look: it is red"

    def test_control_characters_never_reach_the_terminal(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            store.conversation("nasty").log.append(NASTY_MESSAGE)
        piped = command("show", "nasty").columns[1][6]
        assert piped == r"red \x1b[31mtext\x07 and \u202e a\nline\tmore \ud83d"
        drawn = on_a_terminal("show", "nasty")
        assert "\x1b[31mtext" not in drawn
        assert "\x07" not in drawn
        assert r"\x1b[31mtext\x07" in drawn

    def test_a_version_shows_what_was_known_then(self, url: str, command: Command) -> None:
        assert [row[0] for row in command("show", KEY, "--at", "2").columns] == ["1", "2"]

    def test_a_version_that_is_not_there_is_said(self, url: str, command: Command) -> None:
        done = command("show", KEY, "--at", "9")
        assert done.code == 1
        assert done.err == "onrecord: there is no version 9: the conversation is at 8\n"

    def test_json_gives_every_event_with_its_body(self, url: str, command: Command) -> None:
        events = command("show", KEY, "--json").documents
        assert [event["version"] for event in events] == list(range(1, 9))
        assert events[1]["body"] == {"content": "Be kind."}
        assert len(bytes.fromhex(events[1]["leaf"])) == 32

    def test_json_says_what_a_providers_tool_did(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            store.conversation("drawn").log.append(DRAWN)
        (_, event) = command("show", "drawn", "--json").documents
        assert event["tool"]["asked"] == {
            "tool": "image_generation",
            "arguments": {"prompt": "a cat"},
        }
        assert event["tool"]["gave"] == {
            "tool": "image_generation",
            "parts": [{"kind": "document", "media_type": "image/png"}],
            "metadata": {"revised_prompt": "a cat"},
            "is_error": False,
        }

    def test_json_keeps_what_is_no_character(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            store.conversation("nasty").log.append(NASTY_MESSAGE)
        (_, event) = command("show", "nasty", "--json").documents
        assert event["body"]["content"][0]["text"] == NASTY

    def test_an_unknown_key_brings_those_that_come_near(self, url: str, command: Command) -> None:
        done = command("show", "support/471")
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            "onrecord: no conversation has the key 'support/471': did you mean 'support/4711'?\n"
        )

    def test_a_terminal_gets_versions_labels_and_folded_text(self, url: str) -> None:
        with onrecord.connect(url) as store:
            store.conversation(KEY).user("word " * 400)
        drawn = on_a_terminal("show", KEY, columns=60)
        assert "\x1b[" in drawn
        assert "characters more" in drawn
        assert "└ result of 4" in drawn
        assert "exchange 2" in drawn
        assert max(len(line) for line in without_colour(drawn).splitlines()) <= 60

    def test_what_is_redacted_is_marked(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            store.conversation(KEY).redact(3, "a secret")
        rows = command("show", KEY).columns
        assert [row[:1] + row[3:5] for row in rows if row[4] == "redacted"] == [
            ["3", "text", "redacted"],
            ["3", "document", "redacted"],
        ]
        assert not any("redacted" in row[4] for row in command("show", KEY, "--at", "8").columns)
        assert "[redacted] What is this?" in without_colour(on_a_terminal("show", KEY))

    def test_a_terminal_shows_what_a_summary_stands_for(self, url: str) -> None:
        with onrecord.connect(url) as store:
            chat = store.conversation(KEY)
            chat.user("Go on")
            chat.compact("We spoke.", until=6)
        lines = without_colour(on_a_terminal("show", KEY)).splitlines()
        (at,) = (at for at, line in enumerate(lines) if "stands for what was said above" in line)
        assert lines[at].startswith("── the summary of version 10 stands")
        assert lines[at - 1].split()[0] == "6"
        assert "exchange 2" in lines[at + 1]
        before = without_colour(on_a_terminal("show", KEY, "--at", "9"))
        assert "stands for" not in before

    def test_no_color_makes_a_terminal_plain(self, url: str, command: Command) -> None:
        assert on_a_terminal("show", KEY, NO_COLOR="1") == command("show", KEY).out

    def test_a_forgotten_conversation_is_shown_by_its_id(self, url: str, command: Command) -> None:
        forgotten = command("forget", KEY, "--yes", "--reason", "asked to", "--json").document
        rows = command("show", forgotten["conversation"]).columns
        assert [row[4] for row in rows] == ["erased"] * 8
        assert command("show", KEY).code == 1
        listed = command("conversations").columns
        assert f"{forgotten['conversation']} (forgotten)" in [row[0] for row in listed]


class TestRequest:
    def test_piped_it_is_the_request_alone(self, url: str, command: Command) -> None:
        done = command("request", KEY, "--api", API)
        request = done.document
        assert request["system"] == "Be kind."
        assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]

    def test_it_is_what_the_library_makes(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            made = store.conversation(KEY).request(API)
        assert command("request", KEY).document == dict(made)

    @pytest.mark.parametrize(("model", "role"), [("gpt-4o", "system"), ("o1-mini", "user")])
    def test_a_request_is_for_the_model_that_is_named(
        self, url: str, command: Command, model: str, role: str
    ) -> None:
        request = command("request", KEY, "--api", "openai-chat", "--model", model).document
        with onrecord.connect(url) as store:
            made = store.conversation(KEY).request("openai-chat", model=model)
        assert request == dict(made)
        assert request["messages"][0]["role"] == role

    def test_json_has_the_report_too(self, url: str, command: Command) -> None:
        document = command("request", KEY, "--json").document
        assert list(document) == ["api", "request", "report", "routes"]
        assert all(list(note) == ["deed", "rule", "version", "why"] for note in document["report"])

    def test_a_version_gives_what_would_have_been_sent_then(
        self, url: str, command: Command
    ) -> None:
        request = command("request", KEY, "--at", "3").document
        assert len(request["messages"]) == 1

    def test_a_window_keeps_the_last_exchanges(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            chat = store.conversation(KEY)
            for number in range(5):
                chat.user(f"prompt {number}")
        whole = command("request", KEY).out
        windowed = command("request", KEY, "--window", "2")
        assert "What is this?" in whole
        assert "What is this?" not in windowed.out
        assert "prompt 4" in windowed.out
        assert "window" in windowed.err

    def test_cache_marks_are_placed_if_asked_for(self, url: str, command: Command) -> None:
        assert "cache_control" not in command("request", KEY).out
        assert "cache_control" in command("request", KEY, "--cache").out

    def test_an_api_that_is_none_is_wrong_usage(self, url: str, command: Command) -> None:
        done = command("request", KEY, "--api", "smoke-signals")
        assert done.code == 2
        assert "smoke-signals" in done.err

    def test_a_terminal_gets_it_drawn_with_the_report(self, url: str) -> None:
        drawn = without_colour(on_a_terminal("request", KEY))
        assert '"role": "user"' in drawn
        assert "3 messages" in drawn


def without_colour(text: str) -> str:
    from rich.text import Text

    return Text.from_ansi(text).plain


def test_json_is_json_whatever_the_text(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        store.conversation(KEY).log.append(NASTY_MESSAGE)
        last = store.conversation(KEY).head().version
    lines = command("show", KEY, "--json").out.splitlines()
    assert [json.loads(line)["version"] for line in lines] == list(range(1, last + 1))
