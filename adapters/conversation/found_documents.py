"""What a tool gave, looked through: its plain JSON, and the documents that stand in it.

They are found depth-first, in the order of insertion, without recursion: a result may hold itself,
or be nested deeper than any stack. Values of SDKs are told by their own handlers
(`unfolded`). Nothing is stored here, and nothing is changed in what was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast
from uuid import UUID

from pydantic import AnyUrl, BaseModel, RootModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from onrecord.adapters.inputs.arguments import kind_of
from onrecord.adapters.inputs.document_inputs import Unstored, described
from onrecord.adapters.tools import a2a, mcp
from onrecord.adapters.tools.tool import Failed, Unfolded
from onrecord.domain import jsontext
from onrecord.domain.content import Document, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject

# Results of tools that are values of a protocol's SDK: a handler for each, asked before all else.
#
# A value is told by its type, whose SDK is not imported for it. JSON that only looks like one of
# these is data: nothing is guessed.

Handler = tuple[Callable[[object], bool], Callable[[Any], Unfolded]]
"""Whether a value is one that it tells, and what the value says."""

HANDLERS: Final[tuple[Handler, ...]] = (
    (mcp.is_from_sdk, mcp.unfold),
    (a2a.is_from_sdk, a2a.unfold),
)


_OWN: Final[dict[type, Callable[[Any], object]]] = {}
"""How a program reads its own types; a type's own reader goes before those of what it extends."""

_OwnT = TypeVar("_OwnT")


def result_type(kind: type[_OwnT], read: Callable[[_OwnT], object]) -> None:
    """Record results of a type of your own, wherever they stand, as `read` returns them.

    That is anything that `tool_result` takes: texts, JSON, paths, bytes, documents, or a nesting of
    these, with other types of yours in it. It holds for the whole process, goes before what is known
    of the type otherwise, and a later reader takes the place of an earlier one.
    """
    if not isinstance(cast("object", kind), type) or kind.__module__ == "builtins":
        raise InvalidContent("a type of results is a class of your own")
    if not callable(read):
        raise InvalidContent(f"what reads a result is a function, not {kind_of(read)}")
    _OWN[kind] = read


def unfolded(value: object) -> Unfolded | None:
    """Return what a typed result says; None for a value that has no handler."""
    if isinstance(value, Failed):
        return Unfolded(value.content, is_error=True)
    if (read := _own_reader(value)) is not None:
        return Unfolded(_read(value, read))
    return next((tell(value) for is_told, tell in HANDLERS if is_told(value)), None)


def _own_reader(value: object) -> Callable[[Any], object] | None:
    if not _OWN:
        return None
    return next((_OWN[kind] for kind in type(value).__mro__ if kind in _OWN), None)


def _read(value: object, read: Callable[[Any], object]) -> object:
    """Return what a reader says; InvalidContent where it fails, or gives what it is to read."""
    try:
        result = read(value)
    except Exception as exc:  # noqa: BLE001 - named only: its text may quote the result
        raise InvalidContent(
            f"what reads results of type {kind_of(value)} failed: {type(exc).__name__}; call it with "
            "such a result to see where"
        ) from None
    if _own_reader(result) is read:
        raise InvalidContent(f"what reads results of type {kind_of(value)} gives another of them")
    return result


_DOCUMENTS: Final = (Document, Unstored, Path, bytes, bytearray, memoryview)

_DEEPEST: Final = 200
_MOST: Final = 1_000_000
_PLAIN: Final = frozenset({str, int, bool, type(None)})
_SPELLED: Final = (
    *(date, time, timedelta, UUID, Decimal, AnyUrl, IPv4Address, IPv6Address),
    # Their JSON is asterisks.
    *(SecretStr, SecretBytes),
)
"""Scalars that have a usual spelling in JSON: pydantic's."""


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document of a result: where it stood (a JSON pointer, RFC 6901), and the object there now.

    `place` is to be filled with what refers to the document.
    """

    document: Document | Unstored
    path: str
    place: JsonObject


class LookedThrough(NamedTuple):
    """What a tool gave as plain JSON, and the documents in it, in order."""

    plain: Any
    documents: tuple[FoundDocument, ...]


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
        return _Step(value, into, slot, jsontext.pointer_step(slot), self.depth + 1, self)

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


def looked_through(value: object) -> LookedThrough:
    """Return what a tool gave as plain JSON, and its documents.

    InvalidContent, saying where and of which type, for what has no JSON form; for what holds itself
    or is nested more than 200 deep; for more than a million values.
    """
    top: list[Any] = [None]
    walk = _Walk([_Step(value, top, 0)])
    while walk.steps:
        walk.take(walk.steps.pop())
    return LookedThrough(top[0], tuple(walk.documents))


class _Walk:
    """What is still to be looked at, the last one first, and the documents so far."""

    def __init__(self, steps: list[_Step]) -> None:
        self.steps = steps
        self.documents: list[FoundDocument] = []
        self._room = _MOST

    def take(self, step: _Step) -> None:
        """Put the plain form of a value where it goes; what it holds is looked at next."""
        value = step.value
        if _own_reader(value) is not None:
            self._take_other(step)
            return
        if is_document(value):
            place: JsonObject = {}
            step.put(place)
            self.documents.append(FoundDocument(described(value), step.path(), place))
            return
        match value:
            case None | bool() | int() | float() | str():
                step.put(_scalar(step))
            case Text(text=text):
                step.put(text)
            case Unfolded():
                self._take_again(step, value.value, value.at)
            case Mapping():
                self._take_members(step, cast("Mapping[object, object]", value))
            case Sequence():
                self._take_items(step, cast("Sequence[object]", value))
            case _:
                self._take_other(step)

    def _take_other(self, step: _Step) -> None:
        """Take in a value that is neither JSON nor a document by itself."""
        value = step.value
        if (typed := unfolded(value)) is not None:
            self._take_again(step, typed.value, typed.at)
            return
        match value:
            case Enum():
                self._take_again(step, value.value)
            case RootModel():
                self._take_again(step, cast("RootModel[object]", value).root)
            case BaseModel() if _has_spelling(type(value)):
                self._take_again(step, value.model_dump(mode="json"))
            case BaseModel():
                self._take_members(step, _of_model(value))
            case _ if is_dataclass(value) and not isinstance(value, type):
                members = {field.name: getattr(value, field.name) for field in fields(value)}
                self._take_members(step, members)
            case _ if isinstance(value, _SPELLED):
                step.put(to_jsonable_python(value))
            case _:
                raise _no_json(step, f"a value of type {kind_of(value)}", _own_type_way(value))

    def _take_again(self, step: _Step, value: object, at: str = "") -> None:
        """Look next at what a value comes to, which goes to its place."""
        self._go_in(step, 1)
        self.steps.append(_Step(value, step.into, step.slot, at, step.depth + 1, step))

    def _take_members(
        self, step: _Step, members: Mapping[object, object] | Mapping[str, object]
    ) -> None:
        self._go_in(step, len(members))
        plain: JsonObject = {}
        within: list[_Step] = []
        for name, value in members.items():
            key = name if type(name) is str else _key(step, name)
            if key in plain:
                raise _no_json(step, "a mapping with two keys that are the same")
            plain[key] = value
            if not _is_plain(value):
                within.append(step.under(value, plain, key))
        step.put(plain)
        self.steps += reversed(within)

    def _take_items(self, step: _Step, items: Sequence[object]) -> None:
        self._go_in(step, len(items))
        plain: list[Any] = list(items)
        within = [
            step.under(value, plain, place)
            for place, value in enumerate(plain)
            if not _is_plain(value)
        ]
        step.put(plain)
        self.steps += reversed(within)

    def _go_in(self, step: _Step, count: int) -> None:
        """Make room for what stands under a value; InvalidContent where nothing more may."""
        self._room -= count
        if self._room < 0:
            raise InvalidContent(
                f"what was given holds more than {_MOST:,} values: give it as a document (bytes "
                "or a pathlib.Path)"
            )
        if step.depth >= _DEEPEST:
            raise _too_deep(step)


def _is_plain(value: object) -> bool:
    """Whether a value is JSON by itself: most are, and need no step of their own."""
    return type(value) in _PLAIN or (type(value) is float and isfinite(value))


def _has_spelling(kind: type[BaseModel]) -> bool:
    """Whether a model says by itself what its JSON is: that may hide what its members hold."""
    own = kind.__pydantic_decorators__
    return bool(own.field_serializers or own.model_serializers)


def _of_model(model: BaseModel) -> Mapping[str, object]:
    kind = type(model)
    members = {name: value for name, value in model if not _is_excluded(kind, name)}
    return {**members, **{name: getattr(model, name) for name in kind.model_computed_fields}}


def _is_excluded(kind: type[BaseModel], name: str) -> bool:
    field = kind.model_fields.get(name)
    return field is not None and bool(field.exclude)


def _too_deep(step: _Step) -> InvalidContent:
    ids: set[int] = set()
    for above in reversed(list(step.way())):
        if id(above.value) in ids:
            return InvalidContent(f"what was given holds itself, at {above.path()}: flatten it")
        ids.add(id(above.value))
    return InvalidContent(f"what was given is nested more than {_DEEPEST} deep: flatten it")


def _scalar(step: _Step) -> object:
    value = step.value
    if isinstance(value, float) and not isfinite(value):
        raise _no_json(step, "a number that is not finite")
    return value


def _key(step: _Step, name: object) -> str:
    """Return the key of a member as JSON has it."""
    key = name.value if isinstance(name, Enum) else name
    match key:
        case str():
            return str(key)
        case None | bool() | int():
            return jsontext.write(key).decode()
        case UUID() | date() | Decimal():
            return str(to_jsonable_python(key))
        case _:
            raise _no_json(step, f"a mapping with a key of type {kind_of(key)}")


def _own_type_way(value: object) -> str:
    """Return how a value of a type of a program's own can be recorded after all."""
    if type(value).__module__ == "builtins":
        return ""
    return f", or say with onrecord.result_type({kind_of(value)}, ...) what is recorded of it"


def _no_json(step: _Step, what: str, way: str = "") -> InvalidContent:
    place = f" at {path}" if (path := step.path()) else ""
    return InvalidContent(
        f"what was given holds{place} {what}, which has no JSON form: "
        f"give it as text, a number, a list or a mapping, or as a document{way}"
    )
