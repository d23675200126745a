"""Values that items of one thread of LangGraph have in common: said once, and referred to by later items.

A message that a task wrote stands in the list that the next checkpoint changed. There, `{"$same": [version, number]}`
is in its place: the value of that number, from 0, among those that the item at that version says itself. What is
shared are extension values of msgpack, as typed values are spelled: `{"$ext": code, "of": ...}`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.domain import jsontext
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.jsontext import JsonObject

SAME: Final = "$same"
EXT: Final = "$ext"

REDACTED: Final[JsonObject] = {EXT: None}
"""Stands for a value whose item was redacted."""

_SHORTEST: Final = 128
"""Bytes of a value's JSON from which on a reference is worth it."""

_LOST: Final = "a value of LangGraph is not where it was said first: verify the log and restore it"

ItemAt: TypeAlias = Callable[[int], JsonObject | None]
"""Returns the item at a version as it was recorded, whatever became of it."""


class Place(NamedTuple):
    """Where a value is said: the version of the item, and the value's number there."""

    version: int
    number: int


def shared(item: JsonObject, places: Mapping[bytes, Place]) -> JsonObject:
    """Return an item with references for the values that were said elsewhere; `places` go by their JSON."""

    def reference(value: JsonObject) -> JsonObject:
        place = places.get(jsontext.write(value))
        return value if place is None else {SAME: list(place)}

    return cast("JsonObject", _replaced(item, reference))


def places_in(item: JsonObject, version: int) -> Iterator[tuple[bytes, Place]]:
    """Yield the JSON of each value that an item says itself and that is worth a reference, and its place."""
    for number, value in enumerate(_own_values(item)):
        text = jsontext.write(value)
        if len(text) >= _SHORTEST:
            yield text, Place(version, number)


def restored(item: JsonObject, item_at: ItemAt) -> JsonObject:
    """Return an item with the values that it refers to; CorruptRecord where one is not there."""
    values: dict[int, list[JsonObject]] = {}

    def value_at(place: Place) -> JsonObject:
        if place.version not in values:
            values[place.version] = list(_own_values(item_at(place.version) or {}))
        return values[place.version][place.number]

    return _with_references(item, value_at)


def without(item: JsonObject, redacted: Container[int]) -> JsonObject:
    """Return an item with REDACTED in the place of what it refers to at these versions."""

    def value_of(value: JsonObject) -> JsonObject:
        match value.get(SAME):
            case [int(version), _] if version in redacted:
                return REDACTED
            case _:
                return value

    return cast("JsonObject", _replaced(item, value_of))


def moved(item: JsonObject, versions: Mapping[int, int]) -> JsonObject:
    """Return an item where those that it refers to lie at other versions; CorruptRecord where one is not there."""
    return _with_references(item, lambda place: {SAME: [versions[place.version], place.number]})


def _with_references(item: JsonObject, value_at: Callable[[Place], JsonObject]) -> JsonObject:
    """Return an item with something in the place of each reference; CorruptRecord where that is not there."""

    def value_of(value: JsonObject) -> JsonObject:
        if SAME not in value:
            return value
        try:
            return value_at(Place(*value[SAME]))
        except (LookupError, TypeError, ValueError):
            raise CorruptRecord(_LOST) from None

    return cast("JsonObject", _replaced(item, value_of))


def _own_values(value: Any) -> Iterator[JsonObject]:
    """Yield the extension values of an item in their order, those within others apart."""
    if isinstance(value, dict):
        members = cast("JsonObject", value)
        if EXT in members:
            yield members
        else:
            for member in members.values():
                yield from _own_values(member)
    elif isinstance(value, list):
        for member in cast("list[Any]", value):
            yield from _own_values(member)


def _replaced(value: Any, replace: Callable[[JsonObject], JsonObject]) -> Any:
    """Return JSON with something in the place of each extension value, and of each reference to one."""
    if isinstance(value, dict):
        members = cast("JsonObject", value)
        if EXT in members or SAME in members:
            return replace(members)
        return {name: _replaced(member, replace) for name, member in members.items()}
    if isinstance(value, list):
        return [_replaced(member, replace) for member in cast("list[Any]", value)]
    return value
