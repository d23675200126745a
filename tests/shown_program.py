"""What a page shows, run: its Python as one program, in its order, and its commands."""

import contextlib
import io
from pathlib import Path
from typing import Any

from tests.test_docs import fences, lines, run

Program = dict[str, Any]


def run_program(page: Path) -> Program:
    """Run what a page shows in Python; what each piece prints is what stands behind it."""
    program: Program = {}
    for fence in fences(page):
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, page.name, "exec"), program)  # noqa: S102 - it is ours
            assert printed.getvalue() == (fence.output or "")
    return program


def run_commands(page: Path) -> int:
    """Run the commands that a page shows, and return how many there are."""
    commands = [
        line for fence in fences(page) if fence.language == "console" for line in lines(fence)
    ]
    for command in commands:
        run(command)
    return len(commands)
