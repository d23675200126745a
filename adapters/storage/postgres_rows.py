"""Rows of PostgreSQL to values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres_batch import call_id
from onrecord.domain.head import Head


def open_calls(calls: Sequence[bytes], since: Sequence[int]) -> dict[str, int]:
    """Return the open calls, and since which version each is open, of their two columns."""
    return dict(zip(map(call_id, calls), since, strict=True))


def head_of(
    row: TupleRow, calls_of: Callable[[list[Any], list[Any]], dict[str, int]] = open_calls
) -> Head:
    """Return the head of a row of `head`, or of the first columns of `conversations`.

    `calls_of` reads the two columns of open calls.
    """
    version, exchange, calls, since, *pointers, closed, taken, given = row
    instructions, tools, request, adopted, amended = pointers
    return Head(
        version=version,
        exchange=exchange,
        open_calls=calls_of(calls, since),
        instructions=instructions,
        tools=tools,
        request=request,
        adopted=adopted,
        amended=amended,
        closed=closed,
        input_tokens=taken,
        output_tokens=given,
    )
