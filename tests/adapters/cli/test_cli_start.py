"""What happens before a command runs: a bad setting is one line, and Ctrl-C ends it in silence."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import onrecord
from tests.adapters.cli.command import Command, Done, in_process
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
# An environment into which the tree was installed before has no such module: it is in src.
START = (
    f"import sys; sys.path.append({str(ROOT / 'src')!r})\nfrom onrecord_command import main; main()"
)
INTERRUPTED = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            print("interrupted", flush=True)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
"""


def started(program: str, *arguments: str, **environment: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, **environment},
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_installed_program_starts_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    scripts = {"onrecord": "onrecord_command:main", "onrecord-verify": "onrecord_verify:main"}
    assert project["project"]["scripts"] == scripts
    assert project["tool"]["setuptools"]["py-modules"] == ["onrecord_command", "onrecord_verify"]


def test_a_bad_word_for_required_recording_is_one_line() -> None:
    done = started(START, "conversations", ONRECORD_REQUIRE_RECORDING="yes")
    assert (done.code, done.out) == (1, "")
    said = "ONRECORD_REQUIRE_RECORDING must be `raise` or `warn`, not 'yes'"
    assert done.err == f"onrecord: {said}\n"


def test_a_bad_word_for_required_recording_is_a_typed_error_in_python() -> None:
    done = started("import onrecord", ONRECORD_REQUIRE_RECORDING="yes")
    said = "ONRECORD_REQUIRE_RECORDING must be `raise` or `warn`, not 'yes'"
    assert done.err.endswith(f"onrecord.domain.errors.InvalidInput: {said}\n")


@pytest.mark.parametrize(
    "at", ["onrecord", "onrecord.domain.errors", "onrecord.adapters.store", "typer"]
)
def test_control_c_amid_the_imports_ends_in_silence(at: str) -> None:
    done = started(f"{INTERRUPTED}{START}", at)
    assert (done.code, done.out, done.err) == (130, "interrupted\n", "")


def test_control_c_that_is_ignored_stays_ignored() -> None:
    ignoring = "signal.signal(signal.SIGINT, signal.SIG_IGN); sys.argv[1:] = ['--version']\n"
    program = INTERRUPTED.replace("sys.argv[1]", "'typer'")
    done = started(f"{program}{ignoring}{START}")
    assert done.code == 0
    assert done.out.startswith("interrupted\nonrecord ")


@pytest.mark.parametrize("closed", ["0", "1", "2"])
def test_a_command_whose_standard_stream_is_closed_does_its_work(
    tmp_path: Path, closed: str
) -> None:
    closing = f"import os; os.close({closed}); os.execv(sys.executable, [sys.executable, '-c', "
    url = f"sqlite:///{tmp_path}/talks.db"
    with onrecord.connect(url) as store:
        store.conversation("support/4711").user("Hello")
    arguments = ["fork", "support/4711", "support/4712", "--url", url]
    done = started(f"import sys; {closing}{START!r}, *{arguments}])")
    assert (done.code, done.err) == (0, "")
    with onrecord.connect(url) as store:
        assert store.get("support/4712").head().version > 0


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        ("conversations", "--url", ""),
        ("--url", "", "conversations"),
        ("migrate", "--url", ""),
        ("--url", "", "migrate"),
        ("import", "kept.json", "--api", "openai-chat", "--url", ""),
        ("worker", "--url", ""),
    ],
)
def test_an_empty_url_is_refused(
    command: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "kept.json").write_text("[]", encoding="utf-8")
    done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "is empty" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]


def test_an_empty_url_in_the_environment_is_the_default_store(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ONRECORD_URL", "")
    assert f"no store at sqlite:///{tmp_path / 'onrecord.db'}" in command("conversations").err
