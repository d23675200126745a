"""Rows as the JSON text that the queries of views take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pydantic_core import to_json

from onrecord.projections.views.view import storable


def rows_json(rows: Sequence[object]) -> str:
    """Return rows as a JSON array; texts that no database stores are made storable."""
    try:
        text = to_json(rows)
    except ValueError:  # A lone surrogate has no UTF-8.
        text = to_json(_cleaned(rows))
    if rb"\u0000" in text:
        text = to_json(_cleaned(rows))
    return text.decode()


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return storable(value)
        case dict():
            members = cast("dict[str, Any]", value)
            return {storable(key): _cleaned(held) for key, held in members.items()}
        case list() | tuple():
            return [_cleaned(held) for held in cast("list[Any]", value)]
        case _:
            return value
