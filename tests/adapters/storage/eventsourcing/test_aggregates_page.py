"""What docs/aggregates.md shows is run, in its order, as one program, on each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from eventsourcing.utils import clear_topic_cache

from tests.databases import url_of
from tests.shown_program import run_program
from tests.test_docs import ROOT

PAGE = ROOT / "docs" / "aggregates.md"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield from url_of(request.param, tmp_path)


def test_the_page_does_what_it_says(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_URL", url)
    monkeypatch.chdir(tmp_path)
    clear_topic_cache()  # The page defines its classes anew, under the same names.
    run_program(PAGE)
    clear_topic_cache()
