"""The counts that tests over recorded traffic report, for the table at the end of the run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

RecordProperty: TypeAlias = Callable[[str, object], None]

COUNTED: Final = "wire corpus"
"""The property under which a test reports its counts; it crosses to another process: plain values only."""

ROWS: Final = {
    "captured": ("files", "answers", "blocks", "verbatim", "opaque", "interrupted", "errors"),
    "requests": ("files", "requests", "blocks", "verbatim"),
    "rendered": ("files", "answers", "blocks", "verbatim", "repaired", "opaque"),
    "continued": ("files", "requests", "blocks", "verbatim"),
    "returned": ("files", "blocks", "verbatim", "as it was said", "blank", "repaired"),
    "in turn": (
        *("files", "requests", "extends", "view", "branches", "reference", "unrelated"),
        *("new", "matched", "respelled", "blank", "rewritten"),
    ),
}


def report(record_property: RecordProperty, row: str, counts: Counter[str]) -> None:
    """Report the counts of one file."""
    record_property(COUNTED, (row, dict(counts)))


def lines(properties: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """The table, a row a line, from the properties that tests reported."""
    totals: dict[str, Counter[str]] = {}
    for name, value in properties:
        if name == COUNTED:
            row, counts = value
            totals.setdefault(row, Counter()).update(counts)
    for row, columns in ROWS.items():
        if row in totals:
            figures = ", ".join(f"{totals[row][column]:,} {column}" for column in columns)
            yield f"recorded traffic, {row}: {figures}"
