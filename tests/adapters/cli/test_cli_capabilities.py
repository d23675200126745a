"""`onrecord capabilities`: drawn, piped and as JSON."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from onrecord.projections.api import FOLDERS
from onrecord.projections.apis.capabilities import ANY_MODEL, rows_of
from tests.adapters.cli.command import Command, in_process, on_a_terminal


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.delenv("ONRECORD_CAPABILITIES", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models.toml"
    path.write_text("[ollama.models.house]\nuser = ['text']\ncontext_tokens = 9\n")
    return path


def test_the_entry_that_decides_for_a_model_is_one_line(run: Command) -> None:
    done = run("capabilities", "anthropic-messages", "anthropic/claude-haiku-4-5")
    kinds = "text,image,document"
    assert done.columns == [
        [
            *("anthropic-messages", "claude-haiku-4-*", kinds, kinds),
            "text=25165824,image=3932160,document=25165824",
            "reasoning,signatures,cache,parallel_calls",
            *("200000", "64000"),
        ]
    ]


def test_a_limit_of_what_is_not_taken_is_not_told(run: Command) -> None:
    done = run("capabilities", "anthropic-messages", "claude-3-5-haiku-latest")
    assert done.columns[0][2:5] == ["text", "text", "text=25165824"]


def test_what_is_not_known_is_null(run: Command) -> None:
    assert run("capabilities", "ollama", "qwen3", "--json").document == {
        "api": "ollama",
        "entry": "*",
        "key": "*",
        "user": ["text", "image"],
        "tool_result": ["text"],
        "document_bytes": {},
        "reasoning": False,
        "signatures": False,
        "cache": False,
        "parallel_calls": True,
        "context_tokens": None,
        "output_tokens": None,
    }


def test_without_a_model_every_entry_of_the_api_is_told(run: Command) -> None:
    told = [(row[0], row[1]) for row in run("capabilities", "gemini").columns]
    assert told[0] == ("gemini", ANY_MODEL)
    assert [f"{api} {entry}" for api, entry in told] == [row.row for row in rows_of("gemini")]


def test_without_an_api_those_of_all_are_told(run: Command) -> None:
    told = list(dict.fromkeys(row[0] for row in run("capabilities").columns))
    assert told == list(FOLDERS)


def test_a_file_lies_over_them(run: Command, file: Path) -> None:
    done = run("capabilities", "ollama", "--file", str(file))
    assert [row[1] for row in done.columns] == [ANY_MODEL, "house", "*"]
    one = run("capabilities", "ollama", "house", "--file", str(file), "--json").document
    assert (one["user"], one["context_tokens"]) == (["text"], 9)


def test_the_environment_may_name_the_file(
    run: Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_CAPABILITIES", str(file))
    assert run("capabilities", "ollama", "house").columns[0][1] == "house"


def test_what_is_wrong_in_a_file_is_one_line_and_no_traceback(run: Command, file: Path) -> None:
    file.write_text("[ollama]\nuser = 5\n")
    done = run("capabilities", "--file", str(file))
    assert (done.code, done.out) == (1, "")
    assert done.err == f"onrecord: {file}: ollama.user: must be a list\n"


def test_an_api_that_there_is_not_is_wrong_usage(run: Command) -> None:
    done = run("capabilities", "openai")
    assert done.code == 2
    assert "openai-responses" in re.sub(r"[\s│]+", " ", done.err)


def test_a_file_that_is_not_there_is_wrong_usage(run: Command, tmp_path: Path) -> None:
    assert run("capabilities", "--file", str(tmp_path / "missing.toml")).code == 2


@pytest.mark.parametrize("name", ["-", "pipe"])
def test_only_a_regular_file_lies_over_them(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    done = run("capabilities", "--file", name)
    assert done.code == 2
    assert "standard input" not in re.sub(r"[\s│]+", " ", done.err)


def test_on_a_terminal_it_is_a_table() -> None:
    drawn = on_a_terminal("capabilities", "openai-chat", "gpt-5-mini", columns=140)
    for told in ("gpt-5*", "52.4 MB document", "400,000", "parallel calls"):
        assert told in drawn


def test_the_key_of_an_entry_of_many_names_is_shown() -> None:
    drawn = plain(on_a_terminal("capabilities", "openai-chat", "gpt-4o-audio-preview"))
    assert re.search(r"^key +that hear *$", drawn, re.MULTILINE)


def test_the_table_has_a_line_for_each_entry_at_80_columns() -> None:
    drawn = plain(on_a_terminal("capabilities")).splitlines()
    for api in FOLDERS:
        for row in rows_of(api):
            name = row.row.partition(" ")[2]
            assert any(line.startswith(f"{name} ") for line in drawn), name
    assert max(map(len, drawn)) <= 80


def plain(drawn: str) -> str:
    """Return what was drawn without its escape codes."""
    return re.sub(r"\x1b\[[0-9;]*m", "", drawn)
