"""What docs/own-projections.md shows is run, in its order, as one program, on each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import url_of
from tests.shown_program import run_program
from tests.test_docs import ROOT

PAGE = ROOT / "docs" / "own-projections.md"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield from url_of(request.param, tmp_path)


def test_the_page_does_what_it_says(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_URL", url)
    monkeypatch.chdir(tmp_path)
    run_program(PAGE)
