"""The counts that tests over recorded traffic report, for the table at the end of the run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from tests.corpus.matrix import matrix

RecordProperty: TypeAlias = Callable[[str, object], None]

COUNTED: Final = "wire corpus"
"""The property under which a test reports its counts; it crosses to another process: plain values only."""

ROWS: Final = {
    "captured": ("files", "answers", "blocks", "verbatim", "opaque", "interrupted", "errors"),
    "requests": ("files", "requests", "blocks", "verbatim"),
    "rendered": ("files", "answers", "blocks", "verbatim", "repaired", "lost", "opaque"),
    "continued": ("files", "requests", "blocks", "verbatim"),
    "returned": ("files", "blocks", "verbatim", "as it was said", "blank", "repaired"),
    "in turn": (
        *("files", "requests", "extends", "view", "branches", "reference", "unrelated"),
        *("new", "matched", "respelled", "blank", "rewritten"),
    ),
}


def report(record_property: RecordProperty, row: str, counts: Counter[str], part: str = "") -> None:
    """Report the counts of one file, as a part of a row if it has parts."""
    record_property(COUNTED, (row, part, dict(counts)))


def folder(name: str) -> str:
    """The folder that a recording lies in: who served it."""
    return name.partition("/")[0]


def lines(properties: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """The table, a row a line, from the properties that tests reported."""
    totals: dict[tuple[str, str], Counter[str]] = {}
    for name, value in properties:
        if name == COUNTED:
            row, part, counts = value
            totals.setdefault((row, part), Counter()).update(counts)
    for row, columns in ROWS.items():
        for part in sorted(part for found, part in totals if found == row):
            of_part = totals[row, part]
            if row == "rendered":
                of_part["lost"] = of_part["blocks"] - of_part["verbatim"] - of_part["repaired"]
            figures = ", ".join(f"{of_part[column]:,} {column}" for column in columns)
            yield f"recorded traffic, {' of '.join(filter(None, (row, part)))}: {figures}"
    yield from matrix(totals)
