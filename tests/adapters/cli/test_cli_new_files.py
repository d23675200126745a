"""Which files the commands make, and which they must not."""

import json
from pathlib import Path

import pytest

import onrecord
from onrecord.domain.marks.marked_ids import erasure_id
from tests.adapters.cli.command import Command, in_process, run, url_of
from tests.adapters.histories.kept_histories import CHAT, written
from tests.factories import TENANT

KEY = "support/4711"
LOOKING = (
    ["conversations"],
    ["show", KEY],
    ["request", KEY, "--api", "openai-chat"],
    ["replay", KEY],
    ["verify"],
    ["export", KEY],
    ["overview"],
    ["search", "word"],
    ["audit"],
    ["usage"],
    ["views"],
    ["forget", KEY, "--yes", "--reason", "asked to"],
)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def exported(tmp_path: Path, command: Command) -> Path:
    """The export of a conversation, in a folder of its own."""
    folder = tmp_path / "origin"
    folder.mkdir()
    with onrecord.connect(url_of(folder)) as store:
        chat = store.conversation(KEY)
        chat.user("Hello", documents=[b"some bytes"])
        chat.fork("fork").user("And then?")
    for key, name in ((KEY, "chat.jsonl"), ("fork", "fork.jsonl")):
        assert command("export", key, "-o", str(folder / name), "--url", url_of(folder)).code == 0
    return folder / "chat.jsonl"


@pytest.mark.parametrize("arguments", LOOKING, ids=lambda asked: asked[0])
@pytest.mark.parametrize("is_empty", [False, True])
def test_looking_makes_no_store_even_of_an_empty_file(
    command: Command, tmp_path: Path, arguments: list[str], is_empty: bool
) -> None:
    file = tmp_path / "talks.db"
    if is_empty:
        file.touch()
    done = command(*arguments, "--url", url_of(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("onrecord: there is no store at sqlite:///")
    assert done.err.count("\n") == 1
    assert [(left.name, left.stat().st_size) for left in tmp_path.iterdir()] == (
        [("talks.db", 0)] if is_empty else []
    )


def test_a_failed_import_makes_no_store(
    command: Command, tmp_path: Path, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    url, cut, other = url_of(folder), tmp_path / "cut.jsonl", tmp_path / "other.jsonl"
    cut.write_bytes(exported.read_bytes()[:-10])
    other.write_text('{"some": "thing"}\n')
    fork = exported.with_name("fork.jsonl")
    for file, why in ((cut, "the file ends"), (other, "no file of"), (fork, "is a fork of")):
        done = command("import", str(file), "--url", url)
        assert (done.code, done.out) == (1, "")
        assert why in done.err
        assert list(folder.iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setenv("ONRECORD_TENANT", str(TENANT))
        assert "another tenant" in command("import", str(exported), "--url", url).err
    assert list(folder.iterdir()) == []
    assert command("import", str(exported), "--url", url).code == 0
    assert command("import", str(fork), "--url", url).code == 0
    assert command("verify", "--url", url).code == 0


def test_a_history_that_is_refused_makes_no_store(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    asked = ("--api", "openai-chat", "--url", url_of(folder))
    refused: tuple[object, ...] = ({"a": 1}, [])
    for said in refused:
        done = command("import", str(written(tmp_path / "bad.json", said)), *asked)
        assert done.code == 1
        assert list(folder.iterdir()) == []
    some = tmp_path / "some.jsonl"
    some.write_text(json.dumps({"a": 1}) + "\n" + json.dumps({"messages": CHAT}) + "\n")
    done = command("import", str(some), *asked)
    assert [row[1] for row in done.columns] == ["refused", "recorded"]
    assert command("conversations", "--url", url_of(folder)).columns[0][0] == "some/2"


def test_an_export_is_no_history_of_another_program(
    command: Command, tmp_path: Path, exported: Path
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    for api in ("openai-chat", "anthropic-messages", "camunda-agent", "openai-agents-session"):
        done = command("import", str(exported), "--api", api, "--url", url_of(folder))
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            f"onrecord: {exported} is an export of Onrecord: import it without --api\n"
        )
    assert list(folder.iterdir()) == []


def test_a_dash_is_standard_output(
    command: Command, tmp_path: Path, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("export", KEY, "-o", "-", "--url", url_of(exported.parent))
    assert (done.code, done.err) == (0, "")
    assert done.out.encode() == exported.read_bytes()
    assert not (tmp_path / "-").exists()


def test_an_export_under_an_id_of_the_operators_is_refused_in_one_line(
    command: Command, tmp_path: Path, exported: Path
) -> None:
    forged = erasure_id(TENANT, TENANT, 0)
    first, _, rest = exported.read_text().partition("\n")
    members = json.loads(first)
    members["conversation"] = str(forged)
    file = tmp_path / "forged.jsonl"
    file.write_text(json.dumps(members, separators=(",", ":")) + "\n" + rest)
    done = command("import", str(file), "--url", url_of(exported.parent))
    assert done.code == 1
    assert done.err.startswith("onrecord: line 1: its id is kept for what operators do")
