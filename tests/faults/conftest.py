"""What holds for every test of faults: what is drawn at random follows from one number."""

from collections.abc import Generator

import pytest

from tests.search import SEED


@pytest.fixture
def seed() -> int:
    """The number that all draws of the test follow from; how threads interleave does not."""
    return SEED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say in the report of a failure how to draw the same again."""
    report = yield
    if report.failed and "seed" in getattr(item, "fixturenames", ()):
        marks = "soak" if item.get_closest_marker("soak") else "not soak"
        command = f".venv/bin/python -m pytest -m '{marks}' '{item.nodeid}'"
        report.sections.append(("Repeat it", f"ONRECORD_TEST_SEED={SEED} {command}"))
    return report
