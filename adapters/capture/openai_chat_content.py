"""The content of a message that arrives as texts, as lists of parts, or as both in turn.

Mistral's reasoning models begin with lists of `thinking` parts and go on with plain text; the same
message without `stream` is one list, neighbours of a type being one part (docs.mistral.ai,
"Reasoning").
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.capture.openai_chat_merging import Complain, Members, Text
from onrecord.domain.jsontext import JsonObject


class Content:
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
_THINKING: Final = {"thinking": Content}
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
