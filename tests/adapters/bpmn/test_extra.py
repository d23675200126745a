"""The libraries that read models are an extra: nothing else needs them, and who does says so."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.cli.command import PROGRAM

DESK = Path(__file__).parent / "parcel_desk.bpmn"


@pytest.mark.parametrize(
    ("library", "what"),
    [
        ("lark", "FEEL, the language of expressions in BPMN, needs lark"),
        ("defusedxml", "BPMN needs defusedxml"),
    ],
)
def test_what_is_missing_is_named_with_what_installs_it(library: str, what: str) -> None:
    _, _, program = PROGRAM
    without = f"import sys; sys.modules[{library!r}] = None; {program}"
    done = subprocess.run(
        [sys.executable, "-c", without, "bpmn", str(DESK)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"onrecord: {what}: pip install 'onrecord[bpmn]'\n"


def test_neither_onrecord_nor_its_help_loads_them() -> None:
    program = "import sys, onrecord, onrecord.adapters.cli.commands; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert {name.split(".")[0] for name in run.stdout.split()} & {"lark", "defusedxml"} == set()


def test_what_a_process_gives_is_taken_without_them() -> None:
    program = """
import sys
sys.modules["lark"] = sys.modules["defusedxml"] = None
import onrecord
print(onrecord.connect("memory://").conversation("k").ingest([{"id": None, "content": "Rain"}]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout == "ready\n"
