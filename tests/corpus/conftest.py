"""The table that stands at the end of a run over recorded traffic."""

from typing import Any

import pytest

from tests.corpus.table import lines
from tests.corpus.wire import MISSING, is_there


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "corpus":
            item.add_marker("corpus")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not is_there():
        terminalreporter.write_line(MISSING)
        return
    passed = terminalreporter.stats.get("passed", [])
    for line in lines(one for test in passed for one in test.user_properties):
        terminalreporter.write_line(line)
