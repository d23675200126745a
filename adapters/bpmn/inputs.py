"""What comes back from a process: the collection of what its tools gave and of what else happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from hansard.domain.errors import InvalidContent
from hansard.domain.jsontext import JsonObject

_OWN: Final = frozenset({"id", "name", "content", "properties"})


@dataclass(frozen=True, slots=True)
class Given:
    """The result of a call by its id; without one, a signal: something that happened meanwhile.

    `properties` is what else was said: `interrupted`, `completedAt`, `elementId`...
    """

    id: str | None
    name: str | None = None
    content: Any = None
    properties: JsonObject = field(default_factory=dict[str, Any])

    @property
    def is_signal(self) -> bool:
        """Whether it answers no call."""
        return self.id is None

    @property
    def is_interrupted(self) -> bool:
        """Whether its call was cancelled; only `true` itself says so."""
        return self.properties.get("interrupted") is True


def inputs_of(collection: object) -> tuple[Given, ...]:
    """Return the entries `{id, name, content}` of a collection, in order; InvalidContent for others.

    Members that an entry does not have are its properties; those in a member `properties` win.
    """
    if not isinstance(collection, list | tuple):
        raise InvalidContent(
            f"results are a list of objects with id, name and content, not {_kind(collection)}"
        )
    entries = enumerate(cast("list[object]", collection))
    return tuple(_given(entry, f"entry {at} of the results") for at, entry in entries)


def _given(entry: object, where: str) -> Given:
    if not isinstance(entry, Mapping):
        raise InvalidContent(f"{where} is {_kind(entry)}: it must be an object")
    members = cast("Mapping[str, Any]", entry)
    others = {name: value for name, value in members.items() if name not in _OWN}
    return Given(
        id=_text(members, "id", where),
        name=_text(members, "name", where),
        content=members.get("content"),
        properties=others | _properties(members, where),
    )


def _properties(members: Mapping[str, Any], where: str) -> JsonObject:
    found: object = members.get("properties")
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise InvalidContent(f"properties of {where} are {_kind(found)}: they must be an object")
    return dict(cast("Mapping[str, Any]", found))


def _text(members: Mapping[str, Any], name: str, where: str) -> str | None:
    value = members.get(name)
    if value is None or isinstance(value, str):
        return value
    raise InvalidContent(f"{name} of {where} is {_kind(value)}: it must be a text, or null")


def _kind(value: object) -> str:
    return type(value).__name__
