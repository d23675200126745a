"""Responses and requests of usage tests, and what the view of usage then shows."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from pydantic_core import from_json, to_json

from onrecord.adapters.storage.postgres.connections import fetched
from onrecord.domain import events
from onrecord.domain.request_template import Template
from onrecord.projections.views.usage import USAGE, ModelUsage, model_usage
from tests.adapters.views.row_stores import PostgresStore, RowStore, SqliteStore
from tests.factories import TENANT

TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)


def ended(
    model: str | None = "claude-sonnet-5",
    taken: int | None = 100,
    given: int | None = 10,
    *,
    api: str = "anthropic-messages",
    **told: Any,
) -> events.ResponseCompleted:
    return events.ResponseCompleted(
        response=uuid4(),
        api=api,
        model=model,
        envelope=told.pop("envelope", {}),
        input_tokens=taken,
        output_tokens=given,
        **told,
    )


def asked(model: str | None, api: str = "bedrock-converse") -> events.RequestSent:
    return events.RequestSent(api=api, endpoint="/", model=model, template=TEMPLATE)


def shown(rows: RowStore, **filters: Any) -> list[tuple[str, str, str, int, int]]:
    return [
        (row["day"], row["api"], row["model"], row["responses"], row["input_tokens"])
        for row in rows.page(USAGE, TENANT, **filters)
    ]


def totals(rows: RowStore, **filters: Any) -> list[ModelUsage]:
    """What the query of totals shows."""
    asked = to_json(filters).decode()
    match rows:
        case SqliteStore():
            with rows.connections.borrowed() as session:
                found = session.all("usage_total", 1, str(TENANT), asked)
            return [model_usage(from_json(text)) for (text,) in found]
        case PostgresStore():
            found = fetched(rows.connection, "usage_total", (1, TENANT, asked))
            return [model_usage(row) for (row,) in found]
        case _:
            raise AssertionError("a store of rows that has no totals")
