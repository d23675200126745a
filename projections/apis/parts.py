"""What the parts of an API must be that a package adds.

For its author types are hints, so the values are looked at: once, when a part is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from onrecord.domain.errors import InvalidInput
from onrecord.projections.api import Api, Reader, UsagePlaces
from onrecord.projections.apis.capabilities import check_tables

Check: TypeAlias = Callable[[Any], str]
"""Returns what is wrong with a value, as it is said after its name; empty if nothing is."""


def fault_in_api(api: Api) -> str:
    """Return what is wrong with an API; empty if nothing is."""
    return fault_in_part(api, _API) or _fault_in_capabilities(api)


def fault_in_part(part: Any, check: Check) -> str:
    """Return which member of a part is wrong, and what it must be; empty if none is."""
    fault = check(part)
    return f"its {fault.removeprefix('.')}" if fault else ""


def must_be(kind: str, is_right: Callable[[Any], bool]) -> Check:
    """Return a check for values of a kind."""
    return lambda value: (
        "" if is_right(value) else f" is a {type(value).__name__}, but must be {kind}"
    )


TEXT: Final = must_be("str", lambda value: isinstance(value, str))
BOOL: Final = must_be("bool", lambda value: isinstance(value, bool))
CALLABLE: Final = must_be("callable", callable)


def optional(check: Check) -> Check:
    """Return a check that takes None as well."""
    return lambda value: "" if value is None else check(value)


def tuple_of(check: Check) -> Check:
    """Return a check for tuples whose items are right."""

    def fault_in(value: Any) -> str:
        if not isinstance(value, tuple):
            return f" is a {type(value).__name__}, but must be tuple"
        return _first_fault(enumerate(cast("tuple[Any, ...]", value)), check)

    return fault_in


def mapping_of(check: Check) -> Check:
    """Return a check for mappings from texts to values that are right."""

    def fault_in(value: Any) -> str:
        if not isinstance(value, Mapping):
            return f" is a {type(value).__name__}, but must be Mapping"
        mapping = cast("Mapping[Any, Any]", value)
        for key in mapping:
            if not isinstance(key, str):
                return f" has the key {key!r}, which must be str"
        return _first_fault(mapping.items(), check)

    return fault_in


def _first_fault(items: Iterable[tuple[int | str, Any]], check: Check) -> str:
    faults = (f"[{place!r}]{fault}" for place, item in items if (fault := check(item)))
    return next(faults, "")


def part_of(kind: type[object], members: Mapping[str, Check]) -> Check:
    """Return a check for parts of a type whose members are right."""

    def fault_in(value: Any) -> str:
        if not isinstance(value, kind):
            return f" is a {type(value).__name__}, but must be {kind.__name__}"
        for member, check in members.items():
            if fault := check(getattr(value, member)):
                return f".{member}{fault}"
        return ""

    return fault_in


_PATHS: Final = tuple_of(tuple_of(TEXT))
_API: Final = part_of(
    Api,
    {
        **dict.fromkeys(("name", "messages", "wire", "rules"), TEXT),
        "reader": part_of(
            Reader,
            {
                **dict.fromkeys(("block", "instructions", "tool"), CALLABLE),
                **dict.fromkeys(
                    ("outcome", "parts", "failed", "partial", "replay"), optional(CALLABLE)
                ),
            },
        ),
        "render": CALLABLE,
        "usage": part_of(
            UsagePlaces, dict.fromkeys(("cached", "cache_writes", "reasoning"), _PATHS)
        ),
        "has_call_ids": BOOL,
        "capabilities": mapping_of(lambda _: ""),
        "builtin_tools": mapping_of(CALLABLE),
    },
)


def _fault_in_capabilities(api: Api) -> str:
    try:
        check_tables({api.name: dict(api.capabilities)}, (api.name,))
    except InvalidInput as exc:
        return f"its capabilities are not as they must be: {exc}"
    return ""
