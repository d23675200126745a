"""Members of an API's JSON, taken with care: what is of another shape than it should be is left."""

from __future__ import annotations

from typing import Any, cast

from onrecord.domain.content import Text
from onrecord.domain.jsontext import JsonObject


def members(held: JsonObject, *names: str) -> JsonObject:
    """Return those of the named members that say something: null says nothing."""
    return {name: held[name] for name in names if held.get(name) is not None}


def objects(found: Any) -> list[JsonObject]:
    """Return the objects of a list; none of anything else."""
    listed = cast("list[Any]", found) if isinstance(found, list) else []
    return [cast("JsonObject", held) for held in listed if isinstance(held, dict)]


def texts(*said: Any) -> tuple[Text, ...]:
    """Return a text for each string that says something."""
    return tuple(Text(text=text) for text in said if isinstance(text, str) and text)


def text_or_none(said: Any) -> str | None:
    """Return a string; None for anything else, and for an empty one."""
    return said if isinstance(said, str) and said else None
