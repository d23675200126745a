"""What rows of the logs of `llm` hold: JSON, counts, tools, attachments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from onrecord.adapters.histories.database import Database
from onrecord.adapters.wire.nesting import read
from onrecord.domain.errors import InvalidInput, MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition

_ENVELOPE: Final = (
    *("id", "model", "resolved_model", "options_json", "schema_id", "token_details"),
    *("duration_ms", "datetime_utc", "prompt_json", "response_json"),
)
_JSON: Final = ("_json", "_details")


def json_of(text: object) -> Any:
    """Return the value of a column of JSON, None where it is empty."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return read(text)
    except MalformedJson as exc:
        raise InvalidInput(f"a column of JSON cannot be read: {exc}") from exc


def envelope_of(row: JsonObject) -> JsonObject:
    """Return what a row says of a call of a model, without what was said in it."""
    return {
        member.removesuffix("_json"): json_of(row[member])
        if member.endswith(_JSON)
        else row[member]
        for member in _ENVELOPE
        if row.get(member) not in (None, "")
    }


def text_of(row: JsonObject, member: str) -> str | None:
    """Return a column that is a text."""
    value = row.get(member)
    return value if isinstance(value, str) and value else None


def count_of(row: JsonObject, member: str) -> int | None:
    """Return a column that counts tokens."""
    value = row.get(member)
    return value if isinstance(value, int) and value >= 0 else None


def tools_of(rows: Iterable[JsonObject]) -> tuple[ToolDefinition, ...]:
    """Return the tools that a model was told of."""
    return tuple(
        ToolDefinition(
            name=str(row["name"]),
            description=text_of(row, "description"),
            input_schema=json_of(row.get("input_schema")) or {},
        )
        for row in rows
    )


def attachment(database: Database, held: str) -> JsonObject:
    """Return an attachment by its id; its `content` is bytes."""
    found = next(iter(database.rows("attachment", held)), None)
    if found is None:
        raise InvalidInput("an attachment is missing")
    return {member: value for member, value in found.items() if value}
