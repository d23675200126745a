"""An entry of a view: which conversation it is of, and itself as JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from pydantic_core import to_jsonable_python

from onrecord.domain.header import timestamp

_ID: Final = "conversation_id"


def conversation_name(entry: object) -> str:
    """Return the key, or else the id, of an entry's conversation; nothing where it is of none."""
    key: str | None = getattr(entry, "key", None)
    return key or str(getattr(entry, _ID, ""))


def entry_document(entry: Any) -> dict[str, Any]:
    """Return an entry as JSON: times as text, ids as text, and the key of its conversation."""
    document: dict[str, Any] = {}
    for member in fields(entry):
        value = getattr(entry, member.name)
        if member.name == _ID:
            document = {"key": entry.key, "conversation": str(value), **document}
        elif member.name.endswith("_at") and value is not None:
            document[member.name] = timestamp(value)
        elif member.name != "key":
            document[member.name] = to_jsonable_python(value)
    return document
