"""What the parts of an API must be that a package adds.

For its author types are hints, so the values are looked at: once, when a part is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeAlias, cast

from onrecord.projections.api import Api, Reader, UsagePlaces

Check: TypeAlias = Callable[[Any], bool]
"""Tells whether a value can be a member of a part."""


def fault_in_api(api: Api) -> str:
    """Return what is wrong with an API; empty if nothing is."""
    return wrong_member(api, _API)


def wrong_member(part: Any, checks: Mapping[str, Check]) -> str:
    """Return which member of a part is wrong, and what it must be; empty if none is."""
    for member in fields(part):
        value = getattr(part, member.name)
        if not checks[member.name](value):
            return f"its {member.name} is a {type(value).__name__}, but must be {member.type}"
    return ""


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_bool(value: Any) -> bool:
    """Return whether a value is True or False."""
    return isinstance(value, bool)


def optional(check: Check) -> Check:
    """Return a check that takes None as well."""
    return lambda value: value is None or check(value)


def tuple_of(check: Check) -> Check:
    """Return a check for tuples whose items are right."""
    return lambda value: isinstance(value, tuple) and all(map(check, cast("Any", value)))


def mapping_of(check: Check) -> Check:
    """Return a check for mappings from texts to values that are right."""
    return lambda value: (
        isinstance(value, Mapping)
        and all(is_text(key) and check(item) for key, item in cast("Any", value).items())
    )


_READER: Final[Mapping[str, Check]] = {
    **dict.fromkeys(("block", "instructions", "tool"), callable),
    **dict.fromkeys(("outcome", "parts", "failed", "partial", "replay"), optional(callable)),
}
_are_paths: Final = tuple_of(tuple_of(tuple_of(is_text)))
_API: Final[Mapping[str, Check]] = {
    **dict.fromkeys(("name", "messages", "wire", "rules"), is_text),
    "reader": lambda value: isinstance(value, Reader) and not wrong_member(value, _READER),
    "render": callable,
    "usage": lambda value: isinstance(value, UsagePlaces) and _are_paths(value),
    "has_call_ids": is_bool,
    "capabilities": mapping_of(lambda _: True),
    "builtin_tools": mapping_of(callable),
}
