"""Rows of pages as entries: a column that a query leaves out is an error, never a guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any
from uuid import UUID

import pytest

from onrecord.projections.views.audit import AuditEntry, InForce, deed, in_force
from onrecord.projections.views.conversations import Overview, overview
from onrecord.projections.views.search import Hit, hit_of
from onrecord.projections.views.tool_ledger import ToolCallEntry, ledger_call_of
from onrecord.projections.views.view import Row
from onrecord.projections.views.window import Exchange, exchange_of

_ODD: Row = {
    "conversation_id": str(UUID(int=1)),
    **dict.fromkeys(("origin", "line", "response", "erasure")),
    **dict.fromkeys(("participants", "participant_names", "providers", "models", "documents"), ()),
}
"""Columns that are no numbers; for the others any value does."""

_NO_COLUMNS = frozenset(
    ("key", "actor_name", "on_behalf_of_name", "participant_names", "hold", "retention")
)
"""What the log adds to the rows of a page, or another column tells, where the entry says what it is without."""

KINDS: dict[type[Any], Callable[[Row], object]] = {
    AuditEntry: deed,
    Overview: overview,
    Hit: hit_of,
    ToolCallEntry: ledger_call_of,
    Exchange: exchange_of,
    InForce: in_force,
}


@pytest.mark.parametrize("entry", KINDS)
def test_a_row_without_a_column_is_an_error(entry: type[Any]) -> None:
    read, columns = KINDS[entry], fields(entry)
    row: Row = {column.name: _ODD.get(column.name, 1) for column in columns}
    assert isinstance(read(row), entry)
    for column in columns:
        without = {name: value for name, value in row.items() if name != column.name}
        if column.name in _NO_COLUMNS and column.default is not MISSING:
            assert getattr(read(without), column.name) == column.default
            continue
        with pytest.raises(KeyError, match=f"^'{column.name}'$"):
            read(without)
