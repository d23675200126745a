"""A report of the audit as Parquet, a row an entry; heading and remarks are metadata of the file.

The column `section` says what a row is: an entry that the filters found, or upkeep, as in lines of JSON.
pyarrow writes it, a page of entries at a time (extra `reports`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import islice
from typing import Any, Final, TypeAlias

from onrecord.adapters.presentation.audit_entries import facts_document
from onrecord.adapters.reports.audit_report import PAGE, AuditReport, heading_document
from onrecord.domain import jsontext
from onrecord.domain.errors import NotInstalled
from onrecord.projections.views.audit import AuditEntry

_TEXTS: Final = (
    *("type", "outcome", "actor", "actor_name", "on_behalf_of", "on_behalf_of_name", "key"),
    *("api", "model", "tool", "policy", "deployment", "sha256"),
)
_FACTS: Final = ("erasure", "hold", "retention", "redaction")
"""Columns of what operators did and of what a redaction says: each is JSON."""


_Row: TypeAlias = Mapping[str, Any]


def must_be_installed() -> None:
    """NotInstalled where pyarrow is not there."""
    _pyarrow()


def parquet_pieces(report: AuditReport) -> Iterator[bytes]:
    """Yield the bytes of the file as they are written; memory holds a page of entries."""
    pyarrow, parquet = _pyarrow()
    sink = _Pieces()
    heading = heading_document(report.heading) | {"remarks": list(report.remarks)}
    schema = _schema(pyarrow).with_metadata({"onrecord.audit": jsontext.write(heading)})
    with parquet.ParquetWriter(sink, schema) as writer:
        for rows in _batches(_rows(report)):
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            yield sink.taken()
    yield sink.taken()


def _rows(report: AuditReport) -> Iterator[_Row]:
    for entry in report.entries():
        yield {"section": "entry", **_row(entry)}
    for entry in report.upkeep():
        yield {"section": "upkeep", **_row(entry)}


def _batches(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    while batch := list(islice(rows, PAGE)):
        yield batch


def _schema(pyarrow: Any) -> Any:
    time, text = pyarrow.timestamp("us", tz="UTC"), pyarrow.string()
    return pyarrow.schema(
        [
            ("section", text),
            *((name, time) for name in ("recorded_at", "occurred_at")),
            ("conversation", text),
            *((name, pyarrow.int64()) for name in ("version", "position")),
            *((name, text) for name in _TEXTS),
            ("documents", pyarrow.list_(text)),
            *((name, text) for name in _FACTS),
        ]
    )


def _row(entry: AuditEntry) -> _Row:
    facts = facts_document(entry)
    return {
        "recorded_at": entry.recorded_time,
        "occurred_at": entry.occurred_time,
        "conversation": str(entry.conversation_id),
        "version": entry.version,
        "position": entry.position,
        **{name: getattr(entry, name) for name in _TEXTS},
        "documents": list(entry.documents),
        **{name: _json(facts[name]) for name in _FACTS},
    }


def _json(fact: object) -> str | None:
    return None if fact is None else jsontext.write(fact).decode()


class _Pieces(io.RawIOBase):
    """A file that nobody reads but by taking what was written since."""

    def __init__(self) -> None:
        self._written = bytearray()
        self._before = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._written += data
        return len(data)

    def tell(self) -> int:
        return self._before + len(self._written)

    def taken(self) -> bytes:
        """Return what was written since the last time."""
        piece = bytes(self._written)
        self._before += len(piece)
        self._written.clear()
        return piece


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError as exc:
        raise NotInstalled("a report as Parquet", "pyarrow", "reports") from exc
