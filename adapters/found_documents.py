"""What a tool gave, looked through: its plain JSON, and the documents that stand in it.

They are found depth-first, in the order of insertion, without recursion: a result may hold itself,
or be nested deeper than any stack. Values of SDKs are told by their own handlers
(tools/typed_results.py). Nothing is stored here, and nothing is changed in what was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from pydantic import AnyUrl, BaseModel, RootModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from hansard.adapters.arguments import kind_of
from hansard.adapters.given_documents import Unstored, described
from hansard.adapters.tools.typed_results import unfolded
from hansard.domain import jsontext
from hansard.domain.content import Document, Text
from hansard.domain.errors import InvalidContent
from hansard.domain.jsontext import JsonObject

_DOCUMENTS: Final = (Document, Unstored, Path, bytes, bytearray, memoryview)

_DEEPEST: Final = 200
_MOST: Final = 1_000_000
_SPELLED: Final = (
    *(date, time, timedelta, UUID, Decimal, AnyUrl, IPv4Address, IPv6Address),
    # Their JSON is asterisks.
    *(SecretStr, SecretBytes),
)
"""Scalars that have a usual spelling in JSON: pydantic's."""


@dataclass(frozen=True, slots=True)
class Found:
    """A document of a result: where it stood (a JSON pointer, RFC 6901), and the object there now.

    `place` is to be filled with what refers to the document.
    """

    document: Document | Unstored
    path: str
    place: JsonObject


class LookedThrough(NamedTuple):
    """What a tool gave as plain JSON, and the documents in it, in order."""

    plain: Any
    found: tuple[Found, ...]


class _Step(NamedTuple):
    """A value to be looked at, where its plain form goes, and by which way it was reached."""

    value: object
    into: Any
    slot: str | int
    token: str = ""
    depth: int = 0
    above: _Step | None = None

    def put(self, plain: Any) -> None:
        self.into[self.slot] = plain

    def under(self, value: object, into: Any, slot: str | int) -> _Step:
        token = str(slot).replace("~", "~0").replace("/", "~1")
        return _Step(value, into, slot, f"/{token}", self.depth + 1, self)

    def way(self) -> Iterator[_Step]:
        step: _Step | None = self
        while step is not None:
            yield step
            step = step.above

    def path(self) -> str:
        return "".join(reversed([step.token for step in self.way()]))


def is_document(value: object) -> bool:
    """Whether a value is a document, wherever it stands in a result."""
    return isinstance(value, _DOCUMENTS)


def looked_through(given: object) -> LookedThrough:
    """Return what a tool gave as plain JSON, and its documents.

    InvalidContent, saying where and of which type, for what has no JSON form; for what holds itself
    or is nested more than 200 deep; for more than a million values.
    """
    top: list[Any] = [None]
    found: list[Found] = []
    steps = [_Step(given, top, 0)]
    room = _MOST
    while steps:
        step = steps.pop()
        more = list(reversed(_taken(step, found, room)))
        room -= len(more)
        steps += more
    return LookedThrough(top[0], tuple(found))


def _taken(step: _Step, found: list[Found], room: int) -> list[_Step]:
    """Put the plain form of a value where it goes, and return what it holds, in order."""
    value = step.value
    if is_document(value):
        place: JsonObject = {}
        step.put(place)
        found.append(Found(described(value), step.path(), place))
        return []
    match value:
        case None | bool() | int() | float() | str():
            step.put(_scalar(step))
            return []
        case Text(text=text):
            step.put(text)
            return []
        case Mapping():
            return _members(step, cast("Mapping[object, object]", value), room)
        case Sequence():
            return _items(step, cast("Sequence[object]", value), room)
        case _:
            return _made_plain(step, room)


def _made_plain(step: _Step, room: int) -> list[_Step]:
    """Take in a value that is neither JSON nor a document by itself."""
    value = step.value
    if (typed := unfolded(value)) is not None:
        _deeper(step, room)
        return [step._replace(value=typed.value, token=typed.at, depth=step.depth + 1, above=step)]
    match value:
        case Enum():
            return [step._replace(value=value.value)]
        case RootModel():
            return [step._replace(value=cast("RootModel[object]", value).root)]
        case BaseModel() if _has_spelling(type(value)):
            return [step._replace(value=value.model_dump(mode="json"))]
        case BaseModel():
            return _members(step, _of_model(value), room)
        case _ if is_dataclass(value) and not isinstance(value, type):
            held = {field.name: getattr(value, field.name) for field in fields(value)}
            return _members(step, held, room)
        case _ if isinstance(value, _SPELLED):
            step.put(to_jsonable_python(value))
            return []
        case _:
            raise _no_json(step, f"a {kind_of(value)}")


def _has_spelling(kind: type[BaseModel]) -> bool:
    """Whether a model says by itself what its JSON is: that may hide what its members hold."""
    own = kind.__pydantic_decorators__
    return bool(own.field_serializers or own.model_serializers)


def _of_model(model: BaseModel) -> Mapping[str, object]:
    kind = type(model)
    told = {name: value for name, value in model if not _is_excluded(kind, name)}
    return {**told, **{name: getattr(model, name) for name in kind.model_computed_fields}}


def _is_excluded(kind: type[BaseModel], name: str) -> bool:
    field = kind.model_fields.get(name)
    return field is not None and bool(field.exclude)


def _members(
    step: _Step, held: Mapping[object, object] | Mapping[str, object], room: int
) -> list[_Step]:
    _deeper(step, room - len(held))
    told: JsonObject = {}
    steps: list[_Step] = []
    for given, value in held.items():
        key = _key(step, given)
        if key in told:
            raise _no_json(step, "a mapping with two keys that are the same")
        told[key] = None
        steps.append(step.under(value, told, key))
    step.put(told)
    return steps


def _items(step: _Step, held: Sequence[object], room: int) -> list[_Step]:
    _deeper(step, room - len(held))
    told: list[Any] = [None] * len(held)
    step.put(told)
    return [step.under(value, told, place) for place, value in enumerate(held)]


def _deeper(step: _Step, room: int) -> None:
    """Raise InvalidContent where nothing more may stand under a value."""
    if room < 0:
        raise InvalidContent(
            f"a tool's result holds more than {_MOST:,} values: give it as a document (bytes or a "
            "pathlib.Path)"
        )
    if step.depth < _DEEPEST:
        return
    way = reversed(list(step.way()))
    seen: set[int] = set()
    for above in way:
        if id(above.value) in seen:
            raise InvalidContent(f"a tool's result holds itself, at {above.path()}: flatten it")
        seen.add(id(above.value))
    raise InvalidContent(f"a tool's result is nested more than {_DEEPEST} deep: flatten it")


def _scalar(step: _Step) -> object:
    value = step.value
    if isinstance(value, float) and not isfinite(value):
        raise _no_json(step, "a number that is not finite")
    return value


def _key(step: _Step, given: object) -> str:
    """Return the key of a member as JSON has it."""
    key = given.value if isinstance(given, Enum) else given
    match key:
        case str():
            return str(key)
        case None | bool() | int():
            return jsontext.write(key).decode()
        case UUID() | date() | Decimal():
            return str(to_jsonable_python(key))
        case _:
            raise _no_json(step, f"a mapping with a key that is a {kind_of(key)}")


def _no_json(step: _Step, what: str) -> InvalidContent:
    place = f" at {path}" if (path := step.path()) else ""
    return InvalidContent(
        f"a tool's result holds{place} {what}, which has no JSON form: "
        "give it as text, a number, a list or a mapping, or as a document"
    )
