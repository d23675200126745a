"""The members of a request, read without trust: what is not of the expected kind is not there.

That something has the wrong type is for the check of types to say.
"""

from __future__ import annotations

from typing import Any, cast

from onrecord.domain.jsontext import JsonObject


def objects(value: Any) -> list[tuple[int, JsonObject]]:
    """Return the objects of a list, each with its place in it."""
    if not isinstance(value, list):
        return []
    held = enumerate(cast("list[Any]", value))
    return [(place, cast("JsonObject", one)) for place, one in held if isinstance(one, dict)]


def member(value: Any, name: str) -> Any:
    """Return a member of an object; None where there is no object, or no such member."""
    return cast("JsonObject", value).get(name) if isinstance(value, dict) else None


def text(value: Any) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""
