"""The table that stands at the end of a run over recorded traffic."""

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from tests.corpus.wire import MISSING, is_there

RecordProperty: TypeAlias = Callable[[str, object], None]

COUNTED = "wire corpus"
"""The property under which a test reports its counts; it crosses to another process: plain values only."""

ROWS = {
    "captured": ("files", "answers", "blocks", "verbatim", "opaque", "interrupted", "errors"),
    "requests": ("files", "requests", "blocks", "verbatim"),
    "rendered": ("files", "answers", "blocks", "verbatim", "repaired", "opaque"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "corpus":
            item.add_marker("corpus")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not is_there():
        terminalreporter.write_line(MISSING)
        return
    totals: dict[str, Counter[str]] = {}
    for report in terminalreporter.stats.get("passed", []):
        for name, (row, counts) in report.user_properties:
            if name == COUNTED:
                totals.setdefault(row, Counter()).update(counts)
    for row, counts in totals.items():
        columns = ", ".join(f"{counts[column]:,} {column}" for column in ROWS[row])
        terminalreporter.write_line(f"recorded traffic, {row}: {columns}")
