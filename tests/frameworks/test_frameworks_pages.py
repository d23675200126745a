"""The page of each framework does what it says, where the framework is installed."""

from pathlib import Path

import pytest

from tests.shown_program import run_program
from tests.test_docs import ROOT

PAGES = ["adk", "ag2", "agent-framework", "claude", "langgraph", "openai-agents", "pydantic-ai"]


@pytest.mark.parametrize("name", ["frameworks", *(f"frameworks-{page}" for page in PAGES)])
def test_a_page_of_a_framework_does_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONRECORD_URL", raising=False)
    run_program(ROOT / "docs" / f"{name}.md")


def test_the_table_of_suites_has_each_page() -> None:
    table = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs").glob("frameworks-*.md"))
    assert pages != []
    assert [page.name for page in pages if f"({page.name})" not in table] == []
