"""What docs/signals.md and docs/windows.md show is run, in its order, as one program a page."""

import contextlib
import io
from typing import Any

import pytest

from tests.test_docs import ROOT, fences


@pytest.mark.parametrize("name", ["signals", "windows"])
def test_the_page_does_what_it_says(name: str) -> None:
    program: dict[str, Any] = {}
    page = ROOT / "docs" / f"{name}.md"
    for fence in fences(page):
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, page.name, "exec"), program)  # noqa: S102 - it is ours
            assert printed.getvalue() == fence.output
    program["store"].close()
