"""What docs/conversations.md shows is run, in its order, as one program."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

import hansard
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "conversations.md"


def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    for fence in fences(PAGE):
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, PAGE.name, "exec"), program)  # noqa: S102 - it is ours
            assert printed.getvalue() == fence.output
    program["store"].close()


def test_every_verb_of_a_conversation_stands_on_a_page() -> None:
    """But for those that only its own parts use."""
    within = {"append", "append_drafted", "backend", "blob", "conversation_id", "draft", "lineage"}
    within |= {"lineages", "read_through", "render"}
    verbs = {name for name in vars(hansard.Talk) if not name.startswith("_")} - within
    pages = "".join(
        (ROOT / "docs" / f"{name}.md").read_text() for name in ("conversations", "recording")
    )
    assert {verb for verb in verbs if f"talk.{verb}" not in pages} == set()
