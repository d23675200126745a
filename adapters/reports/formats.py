"""In which formats a report of the audit is written: the one that the name of the file ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from onrecord.adapters.presentation.audit_entries import facts_document
from onrecord.adapters.presentation.view_entries import entry_document
from onrecord.adapters.reports.audit_report import AuditReport, heading_document
from onrecord.adapters.reports.html_page import page_pieces
from onrecord.adapters.reports.parquet import must_be_installed, parquet_pieces
from onrecord.adapters.transfer.export import closed
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.audit import AuditEntry

Pieces = Callable[[AuditReport], Iterator[bytes]]
"""How a report becomes a file, piece by piece."""


def written_as(file: Path) -> Pieces:
    """Return how a report is written into a file of that name; InvalidInput for an unknown ending.

    NotInstalled where Parquet is wanted and pyarrow is not there.
    """
    pieces_of = _FORMATS.get(file.suffix.lower())
    if pieces_of is None:
        raise InvalidInput(f"a report ends in {', '.join(_FORMATS)}: {file.name} does not")
    if pieces_of is parquet_pieces:
        must_be_installed()
    return pieces_of


def line_pieces(report: AuditReport) -> Iterator[bytes]:
    """Yield lines of JSON: the heading, the entries, the upkeep, and a count and digest of all."""
    return closed(_lines(report))


def _lines(report: AuditReport) -> Iterator[Mapping[str, object]]:
    remarks = list(report.remarks)
    yield {"onrecord": "audit report", **heading_document(report.heading), "remarks": remarks}
    for entry in report.entries():
        yield {"onrecord": "entry", **_document(entry)}
    for entry in report.upkeep():
        yield {"onrecord": "upkeep", **_document(entry)}


def _document(entry: AuditEntry) -> dict[str, Any]:
    return entry_document(entry) | facts_document(entry)


_FORMATS: Final[Mapping[str, Pieces]] = {
    ".html": page_pieces,
    ".jsonl": line_pieces,
    ".parquet": parquet_pieces,
}
