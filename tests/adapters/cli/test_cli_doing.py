"""`onrecord forget`, `export`, `import`, `migrate`, `tail`, and how every command fails."""

import json
import select
import subprocess
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.cli.commands import GROUPS
from onrecord.adapters.store import backend_of
from onrecord.domain.content import Text
from onrecord.domain.events import MessageRecorded
from tests.adapters.cli.command import (
    PROGRAM,
    Command,
    Done,
    ended,
    in_process,
    run,
    started,
    url_of,
)
from tests.sqlite_by_hand import ByHand

KEY = "support/4711"
COMMANDS = (
    "check-request",
    "compact",
    "conversations",
    "demo",
    "diff",
    "edit-message",
    "export",
    "forget",
    "fork",
    "import",
    "migrate",
    "redact",
    "retract-answer",
    "replay",
    "request",
    "show",
    "sweep",
    "tail",
    "verify",
)


class Terminal(StringIO):
    """Standard input at which somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    place = url_of(tmp_path)
    monkeypatch.setenv("ONRECORD_URL", place)
    with onrecord.connect(place) as store:
        store.conversation(KEY).user("What is this?", documents=[b"some bytes"])
    return place


class TestForget:
    def test_nobody_to_ask_means_no(self, url: str, command: Command) -> None:
        for asked, missing in (((), "--reason"), (("--reason", "asked to"), "--yes")):
            done = command("forget", KEY, *asked)
            assert done.code == 1
            assert missing in done.err
        assert len(command("show", KEY).columns) == 3

    def test_what_is_kept_for_good_is_shown_before_the_answer(
        self, url: str, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", Terminal("n\n"))
        monkeypatch.setenv("ONRECORD_ACTOR", "ana")
        done = command("forget", KEY, "--reason", "asked to")
        assert done.code == 1
        assert "The record keeps for good: actor ana, reason 'asked to'. " in done.err
        assert f"Erase 2 events of {KEY}, for good? [y/N]" in done.err
        assert len(command("show", KEY).columns) == 3

    def test_yes_erases_and_says_how_much(self, url: str, command: Command) -> None:
        done = command("forget", KEY, "--yes", "--reason", "asked to")
        assert done.code == 0
        assert done.out.startswith("2 events erased; ")
        assert command("show", KEY).code == 1

    def test_audit_shows_who_erased_it_why_how_much_and_what_stays(
        self, url: str, command: Command
    ) -> None:
        with onrecord.connect(url) as store:
            chat = store.conversation(KEY)
            erased, fork = chat.conversation_id, chat.fork("fork").conversation_id
        command("forget", KEY, "--yes", "--reason", "asked to", "--actor", "ana")
        rows = command("audit", "--conversation", str(erased)).columns
        completed, intended = (row for row in rows if row[4].startswith("erasure."))
        assert (intended[2], intended[7]) == (str(erased), "ana: asked to")
        assert completed[7] == f"2 events erased; forks that stay: {fork}"
        entries = command("audit", "--type", "erasure.completed", "--json").document["entries"]
        assert entries[0]["erasure"]["forks"] == [str(fork)]
        assert len(command("audit", "--actor", "ana").columns) == 2
        assert [row[0] for row in command("overview").columns] == ["fork"]

    def test_what_was_said_is_in_no_file(self, url: str, command: Command, tmp_path: Path) -> None:
        command("forget", KEY, "--yes", "--reason", "asked to")
        with onrecord.connect(url) as store:
            (found,) = store.conversations()
            assert [event.body for event in backend_of(store).read(found.conversation_id)] == [
                None
            ] * 2

    def test_forks_that_stay_are_named(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            chat = store.conversation(KEY)
            store.conversation("of another one").user("Hello")
            chat.fork("fork\x1b[1m").fork("fork of the fork")
        done = command("forget", KEY, "--yes", "--reason", "asked to")
        assert done.out.startswith("2 events erased; ")
        assert done.err.startswith("onrecord: 2 forks of it stayed, ")
        assert ": fork of the fork, fork\\x1b[1m\n" in done.err
        document = command(
            "forget", "fork of the fork", "--yes", "--reason", "asked to", "--json"
        ).document
        assert (document["erased"], document["forks"]) == (2, [])
        document = command(
            "forget", "fork\x1b[1m", "--yes", "--reason", "asked to", "--json"
        ).document
        assert document["forks"] == []

    def test_a_fork_is_told_by_key_and_id(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            fork = store.conversation(KEY).fork("fork").conversation_id
        document = command("forget", KEY, "--yes", "--reason", "asked to", "--json").document
        assert document["forks"] == [{"key": "fork", "conversation": str(fork)}]

    def test_of_many_forks_some_are_named(self, url: str, command: Command) -> None:
        with onrecord.connect(url) as store:
            for number in range(12):
                store.conversation(KEY).fork(f"fork {number:02}")
        told = command("forget", KEY, "--yes", "--reason", "asked to").err
        assert "12 forks" in told
        assert "fork 02, and 2 more (--json names all)\n" in told

    def test_damage_elsewhere_keeps_nothing_from_being_erased(
        self, url: str, command: Command, tmp_path: Path
    ) -> None:
        with onrecord.connect(url) as store:
            damaged = store.conversation("damaged")
            damaged.user("Hello")
        with closing(ByHand.open(tmp_path / "talks.db")) as file:
            file.run("DROP TRIGGER event_is_only_erased")
            whose = damaged.conversation_id.bytes
            file.run("UPDATE event SET body = x'00' WHERE conversation_id = ?", whose)
        done = command("forget", KEY, "--yes", "--reason", "asked to")
        assert (done.code, done.out.startswith("2 events erased")) == (0, True)
        assert done.err.startswith("onrecord: whether there are forks of it cannot be told: ")


class TestExportAndImport:
    def test_a_store_is_copied_conversation_by_conversation(
        self, url: str, command: Command, tmp_path: Path
    ) -> None:
        file = tmp_path / "chat.jsonl"
        written = command("export", KEY, "-o", str(file))
        assert written.out.startswith(f"2 events of {KEY} in {file}, ")
        other = f"sqlite:///{tmp_path / 'other.db'}"
        assert command("import", str(file), "--url", other).out == f"2 events of {KEY} recorded.\n"
        assert command("show", KEY, "--json", "--url", other).columns[1] != []
        again = command("import", str(file), "--url", other)
        assert again.out == "Nothing new: all 2 events were there already.\n"

    def test_standard_output_is_what_a_file_would_be(
        self, url: str, command: Command, tmp_path: Path
    ) -> None:
        file = tmp_path / "chat.jsonl"
        command("export", KEY, "--output", str(file))
        assert command("export", KEY).out == file.read_text(encoding="utf-8")

    def test_json_says_what_was_done(self, url: str, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "chat.jsonl"
        written = command("export", KEY, "-o", str(file), "--json").document
        assert written == {"file": str(file), "events": 2, "bytes": file.stat().st_size}
        done = command("import", str(file), "--json").document
        assert (done["key"], done["events"], done["recorded"]) == (KEY, 2, 0)
        checked = command("import", "--check", str(file), "--json").document
        assert (checked["events"], checked["erased"]) == (2, 0)

    def test_it_comes_through_a_pipe(self, url: str, command: Command, tmp_path: Path) -> None:
        other = f"sqlite:///{tmp_path / 'other.db'}"
        lines = command("export", KEY).out
        done = run("import", "-", "--url", other, given=lines)
        assert (done.code, done.out) == (0, f"2 events of {KEY} recorded.\n")

    def test_a_cut_file_is_refused_and_leaves_nothing(
        self, url: str, command: Command, tmp_path: Path
    ) -> None:
        file = tmp_path / "chat.jsonl"
        lines = command("export", KEY).out.splitlines(keepends=True)
        file.write_text("".join(lines[:-1]), encoding="utf-8")
        other = f"sqlite:///{tmp_path / 'other.db'}"
        done = command("import", str(file), "--url", other)
        assert done.code == 1
        assert done.err == (
            "onrecord: the file ends before its last line: it was cut, export it again\n"
        )
        assert command("conversations", "--url", other).out == ""

    def test_a_taken_key_is_refused_with_the_way_out(
        self, url: str, command: Command, tmp_path: Path
    ) -> None:
        file = tmp_path / "chat.jsonl"
        command("export", KEY, "-o", str(file))
        other = f"sqlite:///{tmp_path / 'other.db'}"
        with onrecord.connect(other) as store:
            store.conversation(KEY).user("Something else")
        assert "--as" in command("import", str(file), "--url", other).err
        done = command("import", str(file), "--url", other, "--as", "support/old")
        assert done.out == "2 events of support/old recorded.\n"
        assert [row[0] for row in command("conversations", "--url", other).columns] == [
            "support/old",
            KEY,
        ]

    def test_a_place_that_takes_no_file_is_said(
        self, url: str, command: Command, tmp_path: Path
    ) -> None:
        done = command("export", KEY, "-o", str(tmp_path / "no" / "such" / "folder.jsonl"))
        assert done.code == 1
        assert "cannot be written" in done.err


class TestTail:
    def test_events_are_told_as_they_come_until_control_c(self, url: str) -> None:
        process = started("tail", "--from-start", "--json")
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline()) for _ in range(2)]
        with onrecord.connect(url) as store:
            store.conversation(KEY).user("And now?")
        third = json.loads(process.stdout.readline())
        assert [event["version"] for event in (*first, third)] == [1, 2, 3]
        assert ended(process) == Done(0, "", "")

    def test_it_begins_with_what_is_new(self, url: str) -> None:
        process = started("tail")
        assert process.stdout is not None
        with onrecord.connect(url) as store:
            chat = store.conversation("another")
            number = 0
            # The tail has begun somewhere between two of these.
            while process.poll() is None and not ready(process.stdout.fileno()):
                number += 1
                chat.user(f"prompt {number}")
        line = process.stdout.readline().split("\t")
        assert line[0] == "another"
        done = ended(process)
        assert (done.code, done.err) == (0, "")
        assert KEY not in done.out


class TestMigrate:
    def test_a_store_of_this_release_needs_nothing(self, url: str, command: Command) -> None:
        assert command("migrate").out == "The store is there, and its schema is this release's.\n"
        assert command("migrate", "--json").document == {"steps": 0}


class TestFailing:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("show", "nobody"),
            ("request", "nobody"),
            ("replay", "nobody", "--verify"),
            ("forget", "nobody", "--yes", "--reason", "asked to"),
            ("export", "nobody"),
        ],
    )
    def test_an_unknown_key_is_one_line_and_exit_code_1(
        self, url: str, command: Command, arguments: tuple[str, ...]
    ) -> None:
        done = command(*arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("onrecord: no conversation has the key 'nobody'")
        assert done.err.count("\n") == 1

    @pytest.mark.parametrize(
        "arguments",
        [("shw", KEY), ("show",), ("show", KEY, "--at", "x"), ("import", "no-such-file")],
    )
    def test_wrong_usage_is_exit_code_2(
        self, url: str, command: Command, arguments: tuple[str, ...]
    ) -> None:
        done = command(*arguments)
        assert (done.code, done.out) == (2, "")

    def test_a_file_that_is_no_store_is_said_and_left_alone(
        self, command: Command, tmp_path: Path
    ) -> None:
        file = tmp_path / "notes.txt"
        file.write_text("my notes", encoding="utf-8")
        done = command("conversations", "--url", f"sqlite:///{file}")
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert file.read_text(encoding="utf-8") == "my notes"

    def test_an_url_of_no_kind_is_said(self, command: Command) -> None:
        done = command("conversations", "--url", "mysql://somewhere")
        assert done.code == 1
        assert "postgresql://" in done.err

    def test_a_reader_that_stops_is_no_error(self, url: str) -> None:
        with onrecord.connect(url) as store:
            chat = store.conversation(KEY)
            said = (Text(text="word " * 200),)
            chat.log.append(*[MessageRecorded(role="user", content=said) for _ in range(300)])
        shell = subprocess.run(
            ["bash", "-c", '"$@" | head -n 1', "bash", *PROGRAM, "show", KEY],
            capture_output=True,
            check=True,
            text=True,
        )
        assert shell.stdout.startswith("1\t")
        assert shell.stderr == ""


class TestHelp:
    def test_every_command_is_listed_and_explained(self, command: Command) -> None:
        overview = command("--help").out
        for name in COMMANDS:
            assert f" {name} " in overview
            explained = command(name, "--help")
            assert explained.code == 0
            assert "--json" in explained.out

    def test_commands_stand_in_groups_by_what_somebody_wants_to_do(self, command: Command) -> None:
        overview = command("--help").out
        for group in GROUPS:
            assert f"─ {group} ─" in overview
        assert "─ Commands ─" not in overview

    def test_an_option_that_takes_no_value_names_no_type(self, command: Command) -> None:
        given = (command("--help"), *(command(name, "--help") for name in COMMANDS))
        assert all("bool" not in explained.out.lower() for explained in given)

    def test_the_version_is_said(self, command: Command) -> None:
        assert command("--version").out == f"onrecord {onrecord.__version__}\n"

    def test_help_loads_no_driver_and_no_sdk(self) -> None:
        program = (
            "import sys\n"
            "sys.argv = ['onrecord', '--help']\n"
            "from onrecord.adapters.cli import main\n"
            "try:\n    main()\n"
            "except SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
        )
        done = subprocess.run(
            [PROGRAM[0], "-c", program], capture_output=True, text=True, check=True
        )
        loaded = {name.split(".")[0] for name in done.stderr.split()}
        assert loaded & {"anthropic", "apsw", "httpx", "httpx2", "openai", "psycopg"} == set()


def ready(descriptor: int) -> bool:
    """Whether something can be read, waiting a moment for it."""
    return bool(select.select([descriptor], [], [], 0.02)[0])
