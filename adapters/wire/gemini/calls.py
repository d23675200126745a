"""A call of Gemini's whose arguments arrive piece by piece.

Vertex streams them where `streamFunctionCallArguments` asks for it: the first part of a call has its
name, the others pieces of values and the JSON paths of where they stand (cloud.google.com, "Function
calling", "Stream function call arguments"). Put together it is the call that comes without that.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast

from onrecord.adapters.wire.blocks import UnnamedCalls
from onrecord.adapters.wire.gemini.parts import has, kind_of, member, object_in, text_in
from onrecord.adapters.wire.stream_reader import in_whole_characters
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.server_tools import called, gave
from onrecord.projections.members import objects

_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]]+)|\[(?P<index>\d{1,9})\]|\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]"""
)
_DEEPEST: Final = 100
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")
_NULL: Final = "NULL_VALUE"


def is_continued(part: JsonObject) -> bool:
    """Whether a part says that more of its call follows."""
    call = object_in(part, "functionCall") or {}
    return member(call, "willContinue") is True


def begins_in_pieces(part: JsonObject) -> bool:
    """Whether a part begins a call of which the arguments come piece by piece."""
    call = object_in(part, "functionCall") or {}
    return "name" in call and (is_continued(part) or member(call, "partialArgs") is not None)


class _Place(NamedTuple):
    """What holds a value, and its name or index there."""

    holder: Any
    key: str | int


class PartialCall:
    """One call that grows; nothing that arrives makes it raise."""

    __slots__ = ("_args", "_growing", "_part", "_texts", "is_odd", "is_open")

    def __init__(self, part: JsonObject) -> None:
        """Begin with the part that has the call's name.

        `is_open` says whether more is to follow, `is_odd` whether a piece was not understood.
        """
        self._part = part
        self._args: JsonObject | None = None
        self._growing: tuple[str, _Place] | None = None
        self._texts: list[str] = []
        self.is_odd = self.is_open = False
        call = object_in(part, "functionCall") or {}
        begun = object_in(call, "args")
        if begun is not None:
            self._args = cast("JsonObject", _copied(begun))
        self._take_pieces(part)

    def add(self, part: JsonObject) -> None:
        """Take the next part of the call in."""
        call = object_in(part, "functionCall") or {}
        beside = {name for name in part if name not in ("functionCall", "function_call")}
        known = {*("partialArgs", "partial_args", "willContinue", "will_continue")}
        self.is_odd |= bool(beside) or bool(call.keys() - known)
        self._take_pieces(part)

    def value(self) -> JsonObject:
        """Return the call as one part."""
        self._settle()
        name = "functionCall" if "functionCall" in self._part else "function_call"
        call = object_in(self._part, "functionCall") or {}
        apart = {*("partialArgs", "partial_args", "willContinue", "will_continue", "args")}
        whole = {key: member_value for key, member_value in call.items() if key not in apart}
        if self._args is not None:
            whole["args"] = self._args
        return {**self._part, name: whole}

    def _take_pieces(self, part: JsonObject) -> None:
        call = object_in(part, "functionCall") or {}
        self.is_open = is_continued(part)
        pieces = member(call, "partialArgs")
        if not isinstance(pieces, list | None):
            self.is_odd = True
            return
        listed = cast("list[Any]", pieces or [])
        known = objects(listed)
        self.is_odd |= len(known) < len(listed)
        for piece in known:
            self.is_odd |= not self._take(piece)

    def _take(self, piece: JsonObject) -> bool:
        """Put a piece in its place; return whether that could be done."""
        path, values = member(piece, "jsonPath"), [it for it in _VALUES if has(piece, it)]
        steps = _steps(path) if isinstance(path, str) else None
        known = 2 + has(piece, "willContinue")
        if not steps or len(values) != 1 or len(piece) != known:
            return False
        value = member(piece, values[0])
        return self._put(str(path), steps, None if value == _NULL else value, piece)

    def _put(self, path: str, steps: list[str | int], value: Any, piece: JsonObject) -> bool:
        """Set a value, or let a text go on; return whether no other value is there."""
        goes_on = member(piece, "willContinue") is True
        if self._growing is not None and self._growing[0] == path and isinstance(value, str):
            self._texts.append(value)
            if not goes_on:
                self._settle()
            return True
        self._settle()
        self._args = {} if self._args is None else self._args
        place = _place(self._args, steps)
        if place is None or not _set(place, value):
            return False
        self._growing = (path, place) if goes_on and isinstance(value, str) else None
        return True

    def _settle(self) -> None:
        """Put the pieces of a text in the place that it has."""
        if self._growing is not None:
            holder, key = self._growing[1]
            holder[key] = in_whole_characters("".join((holder[key], *self._texts)))
        self._growing, self._texts = None, []


def _steps(path: str) -> list[str | int] | None:
    """Return the names and indexes of a path; None for one that is not understood."""
    steps: list[str | int] = []
    at = 1
    while path.startswith("$") and at < len(path):
        match = _STEP.match(path, at)
        if match is None or len(steps) >= _DEEPEST:
            return None
        index = match["index"]
        steps.append(match["name"] or match["quoted"] or "" if index is None else int(index))
        at = match.end()
    return steps or None


def _place(args: JsonObject, steps: list[str | int]) -> _Place | None:
    """Return where a path leads; what is not there yet is made."""
    holder: Any = args
    for step, following in pairwise(steps):
        if not _fits(holder, step):
            return None
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            if step == len(holder):
                holder.append(empty)
        else:
            holder.setdefault(step, empty)
        holder = holder[step]
    return _Place(holder, steps[-1]) if _fits(holder, steps[-1]) else None


def _fits(holder: Any, step: str | int) -> bool:
    """Whether a value may have a member there: lists grow one by one."""
    if isinstance(step, int):
        return isinstance(holder, list) and step <= len(cast("list[Any]", holder))
    return isinstance(holder, dict)


def _set(place: _Place, value: Any) -> bool:
    """Set a value; return whether no other one was there."""
    holder, key = place
    if isinstance(key, int):
        if key == len(holder):
            holder.append(value)
    else:
        holder.setdefault(key, value)
    return bool(holder[key] == value)


def _copied(value: Any) -> Any:
    match value:
        case dict():
            return {key: _copied(inner) for key, inner in cast("JsonObject", value).items()}
        case list():
            return [_copied(inner) for inner in cast("list[Any]", value)]
        case _:
            return value


# The ids of the calls and results of one turn of Gemini's model, where its parts have none.

_GIVEN: Final = ("pyd_ai_",)
"""How ids begin that a program gives to calls which came without one (pydantic-ai 2.68.0)."""


class TurnIds:
    """Gives ids to the parts of one turn, in order; then to the results of its calls.

    A result of the provider's own tool that names no call is of the last one that has none yet.
    A call with an id that only the program gave it is known as the one that the model made.
    """

    __slots__ = ("_calls", "_recorded_ids", "_served", "_waiting")

    def __init__(self) -> None:
        """Begin a turn."""
        self._calls = UnnamedCalls()
        self._recorded_ids: dict[str, str] = {}
        self._served = UnnamedCalls()
        self._waiting: list[str] = []

    def of(self, part: JsonObject) -> str | None:
        """Return the id of the next part of the model's, if it is a call or a result without one."""
        match kind_of(part):
            case "call":
                return self._called(object_in(part, "functionCall") or {})
            case "server_call":
                return self._server_call(part)
            case "server_result":
                return self._answered(part)
            case _:
                return None

    def answered(self, response: JsonObject) -> str | None:
        """Return the id of the call that the next result of the caller's is of, if one waits."""
        own = text_in(response, "id") or ""
        return self._calls.result(text_in(response, "name") or "", self._recorded_ids.get(own, own))

    def _called(self, call: JsonObject) -> str | None:
        name, own = text_in(call, "name"), text_in(call, "id")
        if name is None:
            return None
        if own is not None and not own.startswith(_GIVEN):
            self._calls.call(name, member(call, "args"), own)
            return None
        call_id = self._calls.call(name, member(call, "args"))
        if own is not None:
            self._recorded_ids[own] = call_id
        return call_id

    def _server_call(self, part: JsonObject) -> str | None:
        server_call = called(part)
        if server_call is None:
            return None
        call_id = self._served.call(server_call.name, server_call.arguments, server_call.id or None)
        self._waiting.append(call_id)
        return None if server_call.id else call_id

    def _answered(self, part: JsonObject) -> str | None:
        result = gave(part)
        own = result.call_id if result else ""
        if own:
            self._waiting = [call for call in self._waiting if call != own]
            return None
        return self._waiting.pop() if self._waiting else None
