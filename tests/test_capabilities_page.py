"""What docs/capabilities.md shows is run, in its order, as one program, then its commands."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import ROOT, fences, lines, run

PAGE = ROOT / "docs" / "capabilities.md"


def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HANSARD_CAPABILITIES", raising=False)
    program: dict[str, Any] = {}
    for fence in fences(PAGE):
        if fence.language == "toml":
            Path("models.toml").write_text(fence.text, encoding="utf-8")
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


def test_the_page_lists_all_that_an_entry_tells() -> None:
    from hansard.projections.capability_entries import Told

    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in Told.model_fields if f"`{name}`" not in page] == []
