"""The command line as its users run it, for tests: in this process, or on a terminal of its own."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from onrecord.adapters.cli import main
from tests.patience import PATIENCE

PROGRAM = (sys.executable, "-c", "from onrecord.adapters.cli import main; main()")

_read_once = cache(typer.main.get_command)
"""It reads the signatures of all commands, which takes longer than most of them."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def columns(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


Command = Callable[..., Done]


def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A function that runs `onrecord` here."""

    monkeypatch.setattr(typer.main, "get_command", _read_once)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["onrecord", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Done(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run


def run(*arguments: str, given: str | None = None, **environment: str) -> Done:
    """Run `onrecord` as a process of its own, its output piped."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return Done(done.returncode, done.stdout, done.stderr)


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> Done:
    """What a process writes from here on, once Ctrl-C was typed."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    return Done(process.returncode, out, err)


def on_a_terminal(*arguments: str, columns: int = 80, code: int = 0, **environment: str) -> str:
    """Return what `onrecord` writes on a terminal of some width, escape codes and all."""
    ours, theirs = pty.openpty()
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=variables
    )
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 65536):
            written += piece
    except OSError:
        pass  # How Linux says that the other side has closed the terminal.
    finally:
        os.close(ours)
    assert process.wait(PATIENCE) == code, written.decode()
    return written.decode().replace("\r\n", "\n")


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder / 'talks.db'}"
