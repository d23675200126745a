"""Members of an API's JSON, taken with care: what is of another shape than it should be is left."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from onrecord.domain.content import Text
from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject

_COUNT: Final = re.compile(r"[0-9]{1,16}")


def members(value: JsonObject, *names: str) -> JsonObject:
    """Return those of the named members that say something: null says nothing."""
    return {name: value[name] for name in names if value.get(name) is not None}


def members_of(value: object) -> JsonObject:
    """Return the members of an object; none of what is no object."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def objects(value: object) -> list[JsonObject]:
    """Return the objects of a list; none of anything else."""
    return [cast("JsonObject", item) for item in list_of(value) if isinstance(item, dict)]


def texts(*values: Any) -> tuple[Text, ...]:
    """Return a text for each string that says something."""
    return tuple(Text(text=text) for text in values if isinstance(text, str) and text)


def nonempty_text(value: Any) -> str | None:
    """Return a string; None for anything else, and for an empty one."""
    return value if isinstance(value, str) and value else None


def standard_base64(data: str) -> str:
    """Return base64 in the standard alphabet of RFC 4648, if it is written in the one for URLs."""
    return data.replace("-", "+").replace("_", "/")


def token_count(value: object) -> int | None:
    """Return a count of tokens from the wire; None for what can be none, such as a fraction.

    Servers exist that write it as `12.0` or `"12"`.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and _COUNT.fullmatch(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
        return value
    return None


def says(content: Any, member: str) -> bool:
    """Whether a text, or a member of one of the parts of a list, is not blank."""
    if isinstance(content, list):
        return any(says(part.get(member), "") for part in objects(cast("list[Any]", content)))
    return isinstance(content, str) and bool(content.strip())


# The members of a request, read without trust: what is not of the expected kind is not there.
#
# That something has the wrong type is for the check of types to say.


def placed_objects(value: Any) -> list[tuple[int, JsonObject]]:
    """Return the objects of a list, each with its place in it."""
    if not isinstance(value, list):
        return []
    places = enumerate(cast("list[Any]", value))
    return [(place, cast("JsonObject", one)) for place, one in places if isinstance(one, dict)]


def member(value: Any, name: str) -> Any:
    """Return a member of an object; None where there is no object, or no such member."""
    return cast("JsonObject", value).get(name) if isinstance(value, dict) else None


def text(value: Any) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""
