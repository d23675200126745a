"""A report of the audit as Parquet: a row an entry, in the types that other programs read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.reports import parquet
from onrecord.adapters.reports.audit_report import AuditReport
from onrecord.adapters.reports.formats import written_as
from onrecord.adapters.storage.atomic_files import write_atomically


@pytest.fixture
def store() -> Iterator[onrecord.Store]:
    with closing(onrecord.connect("memory://")) as store:
        chat = store.conversation("=1+1", actor="<ana>\x00")
        for number in range(5):
            chat.user(f"{number}", documents=[b"%PDF the waybill"])
        store.retention.place_hold("=1+1", reason="asked to", matter="a suit", actor="eve")
        yield store


def test_parquet_has_a_row_an_entry_and_the_heading_beside(
    store: onrecord.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "PAGE", 2)
    file = tmp_path / "audit.parquet"
    write_atomically(file, written_as(file)(AuditReport(store, {}, "eve")), replace=False)
    read: Any = import_module("pyarrow.parquet")
    assert read.ParquetFile(file).metadata.num_row_groups == 4
    table = read.read_table(file)
    entries = list(store.views.audit())
    rows = [row for row in table.to_pylist() if row["section"] == "entry"]
    assert [(row["key"], row["version"], row["actor_name"]) for row in rows[1:]] == [
        (each.key, each.version, each.actor_name) for each in entries[1:]
    ]
    assert rows[0]["actor_name"] == "eve"
    assert rows[1]["recorded_at"] == entries[1].recorded_time
    assert rows[1]["recorded_at"].utcoffset() == UTC.utcoffset(None)
    assert rows[1]["documents"] == list(entries[1].documents)
    assert json.loads(rows[0]["hold"])["matter"] == "a suit"
    heading = json.loads(table.schema.metadata[b"onrecord.audit"])
    assert heading["made_by"] == "eve"


def test_parquet_says_what_may_be_missing_and_what_operators_did(
    store: onrecord.Store, tmp_path: Path
) -> None:
    report = AuditReport(store, {"actor": "nobody"}, "eve")
    report.remarks = ("The view stands still: a row is odd.",)
    file = tmp_path / "audit.parquet"
    write_atomically(file, written_as(file)(report), replace=False)
    read: Any = import_module("pyarrow.parquet")
    table = read.read_table(file)
    assert [(row["section"], row["type"]) for row in table.to_pylist()] == [
        ("upkeep", "hold.placed")
    ]
    heading = json.loads(table.schema.metadata[b"onrecord.audit"])
    assert heading["remarks"] == ["The view stands still: a row is odd."]
