"""What comes back from a process: the collection of what its tools gave and of what else happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from onrecord.adapters.inputs.arguments import kind_of, several, text_if_given
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject

_OWN: Final = frozenset({"id", "name", "content", "properties"})


@dataclass(frozen=True, slots=True)
class EngineInput:
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


def inputs_of(inputs: object) -> tuple[EngineInput, ...]:
    """Return the entries `{id, name, content}` of a collection, in order; InvalidContent for others.

    An entry is a mapping, or any object that has these members. What else a mapping has are its
    properties; those in a member `properties` win.
    """
    entries = enumerate(several("inputs", inputs))
    return tuple(_given(entry, f"entry {at} of the inputs") for at, entry in entries)


def _given(entry: object, where: str) -> EngineInput:
    members = _members(entry, where)
    others = {name: value for name, value in members.items() if name not in _OWN}
    return EngineInput(
        id=text_if_given(f"the id of {where}", members.get("id")),
        name=text_if_given(f"the name of {where}", members.get("name")),
        content=members.get("content"),
        properties=others | _properties(members.get("properties"), where),
    )


def _members(entry: object, where: str) -> Mapping[str, Any]:
    if isinstance(entry, Mapping):
        return cast("Mapping[str, Any]", entry)
    if hasattr(entry, "id") and hasattr(entry, "content"):
        return {name: getattr(entry, name, None) for name in _OWN}
    raise InvalidContent(
        f'{where} is a mapping such as {{"id": ..., "name": ..., "content": ...}}, '
        f"not {kind_of(entry)}"
    )


def _properties(given: object, where: str) -> JsonObject:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(cast("Mapping[str, Any]", given))
    raise InvalidContent(f"the properties of {where} are a mapping, not {kind_of(given)}")
