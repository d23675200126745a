"""`onrecord import --api`, as its users run it."""

import json
from pathlib import Path

import pytest

from tests.adapters.cli.command import Command, in_process, on_a_terminal, run, url_of
from tests.adapters.histories import llm_log
from tests.adapters.histories.kept_histories import CHAT, lines_written, written

COLUMNS = ["key", "outcome", "events", "recorded", "doubts", "why"]


@pytest.fixture
def onrecord(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def test_a_file_of_messages_becomes_a_conversation(onrecord: Command, tmp_path: Path) -> None:
    path, url = written(tmp_path / "chat.json", CHAT), url_of(tmp_path)
    first = onrecord("import", str(path), "--api", "openai-chat", "--url", url)
    again = onrecord("import", str(path), "--api", "openai-chat", "--url", url)
    assert (first.code, first.columns, first.err) == (
        0,
        [["chat", "recorded", "8", "8", "0", ""]],
        "",
    )
    assert (again.code, again.columns) == (0, [["chat", "unchanged", "8", "0", "0", ""]])
    shown = onrecord("request", "chat", "--api", "openai-chat", "--url", url)
    assert shown.document["messages"] == CHAT


def test_the_key_is_given_or_the_files_name(onrecord: Command, tmp_path: Path) -> None:
    path, url = lines_written(tmp_path / "tuning.jsonl", [{"messages": CHAT}]), url_of(tmp_path)
    arguments = ("import", str(path), "--api", "openai-chat", "--url", url)
    assert onrecord(*arguments).columns[0][0] == "tuning/1"
    assert onrecord(*arguments, "--key", "support").columns[0][0] == "support/1"


def test_standard_input_needs_a_key(tmp_path: Path) -> None:
    arguments = ("import", "-", "--api", "openai-chat", "--url", url_of(tmp_path))
    nameless = run(*arguments, given=json.dumps(CHAT))
    assert nameless.code == 1
    assert "--key KEY" in nameless.err
    named = run(*arguments, "--key", "support/4711", given=json.dumps(CHAT))
    assert named.columns == [["support/4711", "recorded", "8", "8", "0", ""]]


def test_what_is_dubious_is_said_on_standard_error_or_in_json(
    onrecord: Command, tmp_path: Path
) -> None:
    url = url_of(tmp_path)
    path = written(tmp_path / "chat.json", [*CHAT, {"role": "user", "content": " "}])
    arguments = ("import", str(path), "--api", "openai-chat", "--url", url)
    told = onrecord(*arguments)
    assert told.err.splitlines() == [
        "chat, message 7: alternation: the user speaks twice in a row",
        "chat, message 7: blank: a text is blank",
    ]
    document = onrecord(*arguments, "--json").document
    assert set(document) == {*COLUMNS, "conversation", "dry_run"}
    assert [set(doubt) for doubt in document["doubts"]] == [{"kind", "place", "why"}] * 2


def test_many_doubts_are_counted(onrecord: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "chat.json", [{"role": "user", "content": " "}] * 20)
    done = onrecord("import", str(path), "--api", "openai-chat", "--url", url_of(tmp_path))
    *lines, last = done.err.splitlines()
    assert (len(lines), last) == (20, "and 19 more: --json lists all")


def test_one_that_is_refused_makes_exit_code_1_and_keeps_nothing_out(
    onrecord: Command, tmp_path: Path
) -> None:
    path = lines_written(tmp_path / "l.jsonl", [{"messages": CHAT}, {"a": 1}, {"messages": CHAT}])
    done = onrecord("import", str(path), "--api", "openai-chat", "--url", url_of(tmp_path))
    assert done.code == 1
    assert [line[:2] for line in done.columns] == [
        ["l/1", "recorded"],
        ["l/2", "refused"],
        ["l/3", "recorded"],
    ]
    assert done.err.startswith("l/2: refused: line 2: neither a list of messages")


def test_a_dry_run_makes_no_store(onrecord: Command, tmp_path: Path) -> None:
    log, url = llm_log.threads(tmp_path / "logs.db"), url_of(tmp_path)
    arguments = ("import", str(log), "--api", "simonw-llm", "--url", url)
    told = onrecord(*arguments, "--dry-run")
    assert not (tmp_path / "talks.db").exists()
    outcomes = {line[1] for line in told.columns}
    assert outcomes == {"would be recorded"}
    (said, *_) = onrecord(*arguments, "--dry-run", "--json").documents
    assert (said["outcome"], said["dry_run"]) == ("recorded", True)
    done = onrecord(*arguments).columns
    assert [[it[0], *it[2:]] for it in told.columns] == [[it[0], *it[2:]] for it in done]
    assert {it[1] for it in done} == {"recorded"}
    assert onrecord(*arguments, "--dry-run").columns[0][1] == "unchanged"


def test_a_file_that_is_none_of_the_kind_is_an_error_that_names_it(
    onrecord: Command, tmp_path: Path
) -> None:
    path = tmp_path / "chat.json"
    path.write_text("nothing", encoding="utf-8")
    for api in ("openai-chat", "simonw-llm"):
        done = onrecord("import", str(path), "--api", api, "--url", url_of(tmp_path))
        assert done.code == 1
        assert done.err.startswith(f"onrecord: {path}: the file is ")
    session = onrecord("import", str(path), "--api", "openai-agents-session")
    assert "the file is no openai-agents-session database" in session.err


@pytest.mark.parametrize("value", [CHAT, {"model": "m", "messages": CHAT}])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("option", [(), ("--check",)])
def test_messages_that_are_taken_for_an_export_are_said_to_need_an_option(
    onrecord: Command, tmp_path: Path, value: object, indent: int | None, option: tuple[str, ...]
) -> None:
    path = tmp_path / "resp.json"
    path.write_text(json.dumps(value, indent=indent) + "\n", encoding="utf-8")
    done = onrecord("import", str(path), *option, "--url", url_of(tmp_path))
    assert done.code == 1
    assert "--api" in done.err


def test_a_line_that_is_no_json_is_refused_and_keeps_no_other_out(
    onrecord: Command, tmp_path: Path
) -> None:
    whole = json.dumps({"messages": CHAT})
    for number, lines in ((2, [whole, '{"mess', whole]), (1, ['{"mess', whole, whole])):
        path = tmp_path / f"l{number}.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        done = onrecord(
            *("import", str(path), "--api", "openai-chat", "--json", "--url", url_of(tmp_path))
        )
        assert done.code == 1
        assert [it["outcome"] for it in done.documents].count("recorded") == 2
        refused = done.documents[number - 1]
        assert refused["outcome"] == "refused"
        assert refused["why"].startswith(f"line {number}: not JSON")


@pytest.mark.parametrize(
    "options",
    [
        ("--api", "openai-chat", "--as", "x"),
        ("--api", "openai-chat", "--check"),
        ("--key", "x"),
        ("--dry-run",),
        ("--api", "unheard-of"),
    ],
)
def test_options_of_exports_and_of_histories_do_not_mix(
    onrecord: Command, tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = written(tmp_path / "chat.json", CHAT)
    assert onrecord("import", str(path), *options, "--url", url_of(tmp_path)).code == 2


def test_a_terminal_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = lines_written(tmp_path / "l.jsonl", [{"messages": CHAT}] * 2)
    arguments = ("import", str(path), "--api", "openai-chat", "--url", url_of(tmp_path))
    assert "2 conversations: 2 would be recorded; 16 events would be new." in on_a_terminal(
        *arguments, "--dry-run"
    )
    assert "2 conversations: 2 recorded; 16 events new." in on_a_terminal(*arguments)
    assert "2 conversations: 2 unchanged; 0 events new." in on_a_terminal(*arguments)
