"""docs/onrecord.service is a unit that systemd understands, and that gives the server little to reach."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from onrecord.adapters.cli.commands import app

UNIT = Path(__file__).parents[1] / "docs" / "onrecord.service"
PROGRAM = "/opt/onrecord/bin/onrecord"
MOST_EXPOSED = "20"
"""Of 100, as systemd counts what a unit could reach; a unit without any of it has 96."""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit, with a program that is there."""
    here = tmp_path / UNIT.name
    program = str(Path(sys.executable).parent / "onrecord")
    here.write_text(UNIT.read_text("utf-8").replace(PROGRAM, program), "utf-8")
    return here


def analysed(*arguments: str | Path) -> str:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    done = subprocess.run(
        ["systemd-analyze", *arguments], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def test_systemd_understands_the_unit(installed: Path) -> None:
    assert UNIT.name not in analysed("verify", installed)


def test_the_unit_gives_the_server_little_to_reach(installed: Path) -> None:
    analysed("security", "--offline=true", f"--threshold={MOST_EXPOSED}", installed)


def test_the_unit_runs_a_command_of_the_program_on_its_own_folder() -> None:
    unit = ConfigParser(strict=False, interpolation=None, delimiters="=")
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    unit.read_string(UNIT.read_text("utf-8"))
    service = unit["Service"]
    program, command, *options = service["ExecStart"].split()
    help_of_it = CliRunner().invoke(app, [command, "--help"])
    assert (program, command, help_of_it.exit_code) == (PROGRAM, "serve", 0)
    assert all(it in help_of_it.output for it in options if it.startswith("--"))
    assert service["Environment"] == "ONRECORD_URL=sqlite:///%S/onrecord/onrecord.db"
    assert (service["StateDirectory"], service["DynamicUser"]) == ("onrecord", "yes")
    assert re.fullmatch(r"\d+", service["TimeoutStopSec"])
