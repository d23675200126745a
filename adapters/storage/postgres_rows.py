"""Rows of PostgreSQL to values."""

from __future__ import annotations

from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres_batch import call_id
from onrecord.domain.head import Head


def head_of(row: TupleRow) -> Head:
    """Return the head of a row of `head`, or of the first columns of `conversations`."""
    version, exchange, calls, since, *pointers, closed, taken, given = row
    instructions, tools, request, adopted, amended = pointers
    return Head(
        version=version,
        exchange=exchange,
        open_calls=dict(zip(map(call_id, calls), since, strict=True)),
        instructions=instructions,
        tools=tools,
        request=request,
        adopted=adopted,
        amended=amended,
        closed=closed,
        input_tokens=taken,
        output_tokens=given,
    )
