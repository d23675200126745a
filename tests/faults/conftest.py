"""What holds for every test of faults: what is drawn at random follows from one number."""

import os
from collections.abc import Generator
from typing import Final

import pytest

SEED: Final = int(os.environ.get("ONRECORD_TEST_SEED", "20261121"))
"""The same in each run, unless another one is given to search with."""


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
