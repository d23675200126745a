"""What docs/tools.md shows is run, in its order, as one program; then its commands."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import ROOT, fences, lines, run

PAGE = ROOT / "docs" / "tools.md"


def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    for fence in fences(PAGE):
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, PAGE.name, "exec"), program)  # noqa: S102 - it is ours
            assert printed.getvalue() == (fence.output or "")
    program["store"].close()
    commands = [
        line for fence in fences(PAGE) if fence.language == "console" for line in lines(fence)
    ]
    assert len(commands) == 3
    for command in commands:
        run(command)
