"""Documents of a log that was moved: the check reads each of them in the new log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from onrecord.domain.errors import CorruptRecord
from tests.adapters.transfer.moving_logs import Logs, logs
from tests.tampering import forging
from tests.tampering.rows import Row, Rows

__all__ = ["logs"]


def _delete(rows: Rows, table: str, row: Row) -> None:
    rows.delete(table, row)


def _spoil(rows: Rows, table: str, row: Row) -> None:
    rows.change(table, row, "data", row["data"][:-1] + bytes([row["data"][-1] ^ 1]))


@pytest.mark.parametrize("attack", [_delete, _spoil])
def test_a_document_that_the_new_log_has_no_more_is_no_match(
    logs: Logs, attack: Callable[[Rows, str, Row], None]
) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        both.check()
        id_ = both.source.get(forging.FIRST).conversation_id
    rows = logs.rows(logs.new)
    (table,) = {"blob_piece", "blob_chunk"} & set(rows.tables())
    attack(rows, table, rows.rows(table)[0])
    rows.close()
    named = f"a document of version 2 of the conversation {id_} .* cannot be read in the new log"
    with logs.opened() as both, pytest.raises(CorruptRecord, match=named):
        both.check()
