"""The tool calls of a message while their deltas arrive.

By the API's rule a delta names the call that it belongs to by its index. Servers leave the index
out, give 0 to all calls, bring whole calls at once, or repeat ids and names in every delta.
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.wire.openai_chat.merging import (
    Complain,
    Members,
    Name,
    Shape,
    Text,
    says,
)
from onrecord.adapters.wire.stream_reader import index_or
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject, read_bounded
from onrecord.projections.members import members_of

FUNCTION: Final[Shape] = {"name": Name, "arguments": Text}
"""How a function that is called grows."""

_CUSTOM: Final[Shape] = {"name": Name, "input": Text}
_CALL: Final[Shape] = {
    "id": lambda: Name(is_id=True),
    "function": lambda: Members(FUNCTION),
    "custom": lambda: Members(_CUSTOM),
}


def is_whole(arguments: Any) -> bool:
    """Whether the arguments of a call are JSON that did not break off."""
    if not isinstance(arguments, str):
        return arguments is not None
    try:
        read_bounded(arguments)
    except MalformedJson:
        return False
    return True


class Calls:
    """Tool calls that grow, in the order of their indexes; the index is no member of a call."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        """Begin with no call."""
        self._calls: list[_OpenCall] = []

    def add(self, piece: Any, complain: Complain) -> bool:
        """Take the deltas of calls in."""
        if not isinstance(piece, list):
            return False
        touched: list[_OpenCall] = []
        for delta in cast("list[Any]", piece):
            if isinstance(delta, dict):
                touched.append(self._add(cast("JsonObject", delta), touched, complain))
            else:
                complain("tool_calls")
        return True

    def value(self) -> list[JsonObject]:
        """Return the calls."""
        ordered = sorted(self._calls, key=lambda call: call.index)
        return [call.members.value() for call in ordered]

    def _add(self, delta: JsonObject, touched: list[_OpenCall], complain: Complain) -> _OpenCall:
        is_named = says(_name(delta))
        call = self._continued(delta, is_named=is_named)
        if call is None or (is_named and call in touched):
            call = _OpenCall(index_or(delta.get("index"), len(self._calls)))
            self._calls.append(call)
        if not (is_named and call.is_whole_in(delta)):
            call.add(delta, complain)
        return call

    def _continued(self, delta: JsonObject, *, is_named: bool) -> _OpenCall | None:
        """Return the call that a delta belongs to, if it has begun."""
        index, call_id = delta.get("index"), delta.get("id")
        at = [call for call in self._calls if call.index == index or index_or(index, None) is None]
        if not at or not (call_id or is_named):
            return at[-1] if at else None
        same = [call for call in at if call_id and call.members.get("id") == call_id]
        if same:
            return same[-1]
        return None if is_named and at[-1].is_another(delta) else at[-1]


class _OpenCall:
    """A call that has begun, and its place among the others."""

    __slots__ = ("index", "members")

    def __init__(self, index: int) -> None:
        self.index = index
        self.members = Members(_CALL)

    def add(self, delta: JsonObject, complain: Complain) -> None:
        for name, value in delta.items():
            if name != "index":
                self.members.take(name, value, complain)

    def is_whole_in(self, delta: JsonObject) -> bool:
        """Whether a delta brings the whole call once more."""
        arguments = _arguments(delta)
        return _is_object(arguments) and arguments == _arguments(self.members.value())

    def is_another(self, delta: JsonObject) -> bool:
        """Whether a delta that names what it calls, at the place of this call, begins another."""
        known, call_id = self.members.get("id"), delta.get("id")
        if known and call_id and not str(call_id).startswith(known):
            return True
        return self._is_over(delta)

    def _is_over(self, delta: JsonObject) -> bool:
        """Whether the arguments are whole already, and a delta begins anew."""
        arguments, known = _arguments(delta), self.members.value()
        anew = isinstance(arguments, str) and arguments.lstrip().startswith("{")
        return (anew or _name(known) != _name(delta)) and _is_object(_arguments(known))


def _called(delta: JsonObject) -> JsonObject:
    return members_of(delta.get("function") or delta.get("custom"))


def _name(delta: JsonObject) -> Any:
    return _called(delta).get("name")


def _arguments(delta: JsonObject) -> Any:
    called = _called(delta)
    return called.get("arguments", called.get("input"))


def _is_object(arguments: Any) -> bool:
    """Whether arguments look like a whole JSON object, and are one."""
    if not (isinstance(arguments, str) and arguments.strip().startswith("{")):
        return False
    return arguments.rstrip().endswith("}") and is_whole(arguments)


# The content of a message that arrives as texts, as lists of parts, or as both in turn.
#
# Mistral's reasoning models begin with lists of `thinking` parts and go on with plain text; the
# same message without `stream` is one list, neighbours of a type being one part (docs.mistral.ai,
# "Reasoning").


class GrowingContent:
    """Content that grows: a text while only texts come, and else a list of parts."""

    __slots__ = ("_kind", "_last", "_parts", "_text")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._text = Text()
        self._parts: list[Any] | None = None
        self._kind: str | None = None
        self._last = Members()

    def add(self, piece: Any, complain: Complain) -> bool:
        """Take more content in."""
        match piece:
            case str() if self._parts is None:
                return self._text.add(piece, complain)
            case str():
                self._add_text(piece, complain)
                return True
            case list():
                self._begin_list(complain)
                for part in cast("list[Any]", piece):
                    self._add_part(part, complain)
                return True
            case _:
                return False

    def value(self) -> str | list[Any]:
        """Return the text, or the parts."""
        if self._parts is None:
            return self._text.value()
        return [part.value() if isinstance(part, Members) else part for part in self._parts]

    def _begin_list(self, complain: Complain) -> None:
        if self._parts is None:
            self._parts = []
            self._add_text(self._text.value(), complain)

    def _add_text(self, text: str, complain: Complain) -> None:
        if text:
            self._add_part({"type": "text", "text": text}, complain)

    def _add_part(self, part: Any, complain: Complain) -> None:
        kind = _kind(part)
        parts = self._parts if self._parts is not None else []
        if kind is None:
            parts.append(part)
        elif kind == self._kind and self._last.get("closed") is not True:
            self._last.add(part, complain)
        else:
            self._last = Members(_TEXT if kind == "text" else _THINKING)
            self._last.add(part, complain)
            parts.append(self._last)
        self._kind = kind


_TEXT: Final = {"text": Text}
_THINKING: Final = {"thinking": GrowingContent}
_MEMBERS: Final = {"text": {"type", "text"}, "thinking": {"type", "thinking", "closed"}}
_TYPES: Final = {"text": str, "thinking": list}


def _kind(part: Any) -> str | None:
    """Return the type of a part that its neighbours of that type go on from."""
    if not isinstance(part, dict):
        return None
    members = cast("JsonObject", part)
    kind = members.get("type")
    if not (isinstance(kind, str) and kind in _TYPES):
        return None
    fits = members.keys() <= _MEMBERS[kind] and isinstance(members.get(kind), _TYPES[kind])
    return kind if fits else None
