"""JSON from the wire that is not nested deeper than every later reader can follow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject

DEEPEST: Final = 200
"""How many levels of objects and lists may stand in one another.

What walks a value later (moving long strings out, comparing, rendering) recurses, and the
interpreter stops recursion at about 1,000 frames, those of the caller included.
"""


def read(text: bytes | str) -> Any:
    """Return the value of a JSON text; MalformedJson where it is not one, or is too deep."""
    value = jsontext.read(text)
    if _may_be_deep(text) and _is_deep(value):
        raise MalformedJson(f"nested more than {DEEPEST} levels deep: flatten it")
    return value


def read_object(text: bytes | str) -> JsonObject:
    """Return the object of a JSON text; MalformedJson where it is none, or is too deep."""
    value = read(text)
    if isinstance(value, dict):
        return cast("JsonObject", value)
    raise MalformedJson(f"expected a JSON object, found {type(value).__name__}")


def _may_be_deep(text: bytes | str) -> bool:
    """Count brackets, which is quick, before walking the value, which is not."""
    if isinstance(text, bytes):
        return text.count(b"[") + text.count(b"{") > DEEPEST
    return text.count("[") + text.count("{") > DEEPEST


def _is_deep(value: Any) -> bool:
    level = _nested([value])
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _nested(outer)]
        if not level:
            return False
    return True


def _nested(value: Any) -> list[Any]:
    """Return the objects and lists that stand directly in a value."""
    items: Iterable[Any] = (
        cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
    )
    return [item for item in items if isinstance(item, dict | list)]
