"""A content of Gemini's that grows while the chunks of a stream come."""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.capture.characters import in_whole_characters
from onrecord.adapters.capture.gemini_partial_calls import PartialCall, begins_in_pieces
from onrecord.adapters.capture.gemini_parts import goes_on, object_in, objects, text_in
from onrecord.domain.jsontext import JsonObject

_MEMBERS: Final = frozenset({"role", "parts"})


class Content:
    """The parts of one content, in order; a text goes on with the text that ended the last chunk.

    `odd` names what was not understood of it.
    """

    __slots__ = ("_call", "_parts", "_texts", "odd")

    def __init__(self) -> None:
        """Begin with no part."""
        self._parts: list[JsonObject | PartialCall] = []
        self._texts: list[str] = []
        self._call: PartialCall | None = None
        self.odd: set[str] = set()

    @property
    def is_amid_call(self) -> bool:
        """Whether it ended with a call of which more was to follow."""
        return self._call is not None

    def add(self, content: Any) -> None:
        """Take the content of a chunk in."""
        parts, odd = parts_of(content)
        if odd:
            self.odd |= odd
        for place, part in enumerate(parts):
            self._add(part, begins_chunk=place == 0)

    def value(self) -> list[JsonObject]:
        """Return the parts."""
        self._settle()
        return [part.value() if isinstance(part, PartialCall) else part for part in self._parts]

    def _add(self, part: JsonObject, *, begins_chunk: bool) -> None:
        if self._goes_on_call(part):
            return
        last = self._parts[-1] if self._parts else None
        if begins_chunk and isinstance(last, dict) and goes_on(part, last):
            self._texts.append(part["text"])
            return
        self._settle()
        if begins_in_pieces(part):
            call = PartialCall(part)
            self._parts.append(call)
            self._leave(call)
        else:
            self._parts.append(part)

    def _goes_on_call(self, part: JsonObject) -> bool:
        """Whether a part belongs to the call that is open, which takes it in."""
        call = self._call
        if call is None:
            return False
        more = object_in(part, "functionCall")
        if more is None or text_in(more, "name") is not None:
            self._call = None
            return False
        call.add(part)
        self._leave(call)
        return True

    def _leave(self, call: PartialCall) -> None:
        """Note what became of a call: more of it may follow."""
        if call.is_odd:
            self.odd.add("partialArgs")
        self._call = call if call.is_open else None

    def _settle(self) -> None:
        """Put the texts that have come since into the part that they go on with."""
        if self._texts and isinstance(last := self._parts[-1], dict):
            text = in_whole_characters("".join((last["text"], *self._texts)))
            self._parts[-1] = {**last, "text": text}
            self._texts = []


def parts_of(content: Any) -> tuple[list[JsonObject], set[str]]:
    """Return the parts of a content, and the names of what it has beside that says something."""
    if not isinstance(content, dict):
        return [], {"content"} if content is not None else set()
    members = cast("JsonObject", content)
    odd = members.keys() - _MEMBERS
    if members.get("role") not in (None, "model"):
        odd.add("role")
    parts = members.get("parts")
    listed = cast("list[Any]", parts) if isinstance(parts, list) else []
    held = objects(listed)
    if len(held) < len(listed) or not isinstance(parts, list | None):
        odd.add("parts")
    return held, odd
