"""The ids of the calls and results of one turn of Gemini's model, where its parts have none."""

from __future__ import annotations

from typing import Final

from onrecord.adapters.capture.gemini_parts import kind_of, member, object_in, text_in
from onrecord.adapters.capture.unnamed_calls import UnnamedCalls
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.server_tools import called, gave

_GIVEN: Final = ("pyd_ai_",)
"""How ids begin that a program gives to calls which came without one (pydantic-ai 2.68.0)."""


class TurnIds:
    """Gives ids to the parts of one turn, in order; then to the results of its calls.

    A result of the provider's own tool that names no call is of the last one that has none yet.
    A call with an id that only the program gave it is known as the one that the model made.
    """

    __slots__ = ("_calls", "_given", "_served", "_waiting")

    def __init__(self) -> None:
        """Begin a turn."""
        self._calls = UnnamedCalls()
        self._given: dict[str, str] = {}
        self._served = UnnamedCalls()
        self._waiting: list[str] = []

    def of(self, part: JsonObject) -> str | None:
        """Return the id of the next part of the model's, if it is a call or a result without one."""
        match kind_of(part):
            case "call":
                return self._called(object_in(part, "functionCall") or {})
            case "server_call":
                return self._asked(part)
            case "server_result":
                return self._answered(part)
            case _:
                return None

    def answered(self, response: JsonObject) -> str | None:
        """Return the id of the call that the next result of the caller's is of, if one waits."""
        own = text_in(response, "id") or ""
        return self._calls.result(text_in(response, "name") or "", self._given.get(own, own))

    def _called(self, call: JsonObject) -> str | None:
        name, own = text_in(call, "name"), text_in(call, "id")
        if name is None:
            return None
        if own is not None and not own.startswith(_GIVEN):
            self._calls.call(name, member(call, "args"), own)
            return None
        found = self._calls.call(name, member(call, "args"))
        if own is not None:
            self._given[own] = found
        return found

    def _asked(self, part: JsonObject) -> str | None:
        asked = called(part)
        if asked is None:
            return None
        found = self._served.call(asked.name, asked.arguments, asked.id or None)
        self._waiting.append(found)
        return None if asked.id else found

    def _answered(self, part: JsonObject) -> str | None:
        given = gave(part)
        own = given.call_id if given else ""
        if own:
            self._waiting = [call for call in self._waiting if call != own]
            return None
        return self._waiting.pop() if self._waiting else None
