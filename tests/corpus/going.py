"""What goes to an API of a recorded conversation, by another way than the product's.

A request is all texts and values in it; a block goes if these hold what it says, else the report
must name it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, cast

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Request

# Members that another API is not told of: the note on a text names them.
_BESIDE: Final = ("annotations", "citations", "executed_tools", "thinking")
_SAID: Final = ("text", "content", "output", "refusal", "code")
_GIVEN: Final = ("input", "args", "response", "json", "arguments")
_SUMMED_UP: Final = ("R18", "O10")
_TEXTS: Final = ("text", "input_text", "output_text")


class Going:
    """What goes to an API: its blocks, its words, and what is noted of events."""

    def __init__(self, api: str, request: Request) -> None:
        body = {"max_tokens": 1, **request.body}
        sent = WIRES[api].read_request(json.dumps(body).encode())
        self.blocks = {json.dumps(plain(piece.block)) for piece in sent.pieces}
        self.words = flat("\n".join(text for text in texts(body)))
        self.values = {json.dumps(value, sort_keys=True) for value in values(body)}
        self.notes = list(request.report)
        summaries = [note for note in request.report if note.rule in _SUMMED_UP]
        self.summed_up = max((note.version or 0 for note in summaries), default=0)

    def told(self, block: JsonObject, version: int) -> str:
        """How a block goes: verbatim, in its words, or as the report names it; else it is lost."""
        notes = [note for note in self.notes if note.version == version]
        deeds = {note.deed for note in notes}
        if json.dumps(plain(block)) in self.blocks:
            return "verbatim"
        if "left out" in deeds or version < self.summed_up:
            return "left out"
        named = {name for name in _BESIDE for note in notes if name in note.why}
        if all(map(self._holds, said(without(block, named)))):
            return "in its words"
        return "repaired" if "repaired" in deeds else "lost"

    def _holds(self, text: str) -> bool:
        value = parsed(text)
        if flat(text) in self.words or json.dumps(value, sort_keys=True) in self.values:
            return True
        return value is not None and all(flat(leaf) in self.words for leaf in texts(value))


def plain(block: JsonObject) -> JsonObject:
    """A text, however its API says that it is one."""
    is_text = block.keys() - {"type"} == {"text"} and block.get("type", "text") in _TEXTS
    return {"type": "text", "text": block["text"]} if is_text else block


def said(value: Any) -> Iterator[str]:
    """The texts that a block is there for, and all that a call asks or a result gives."""
    match value:
        case dict():
            for name, member in cast("JsonObject", value).items():
                yield from _said(name, member)
        case list():
            for member in cast("list[Any]", value):
                yield from said(member)
        case _:
            return


def _said(name: str, member: Any) -> Iterator[str]:
    match member:
        case {"search_suggestions": str()}:
            return  # HTML that the service wants shown to the user: it tells no model anything.
        case str() if name in (*_SAID, *_GIVEN):
            yield member
        case dict() | list() if name in _GIVEN:
            yield from texts(member)
        case _:
            yield from said(member)


def texts(value: Any) -> Iterator[str]:
    """All texts of a value; and what the JSON in a text says."""
    match value:
        case str():
            yield value
            yield from texts(parsed(value))
        case dict():
            for member in cast("JsonObject", value).values():
                yield from texts(member)
        case list():
            for member in cast("list[Any]", value):
                yield from texts(member)
        case _:
            return


def values(value: Any) -> Iterator[Any]:
    """All objects and lists of a value, those that its texts spell too."""
    match value:
        case str() if parsed(value) is not None:
            yield from values(parsed(value))
        case dict():
            yield value
            for member in cast("JsonObject", value).values():
                yield from values(member)
        case list():
            yield value
            for member in cast("list[Any]", value):
                yield from values(member)
        case _:
            return


def without(value: Any, named: set[str]) -> Any:
    match value:
        case dict():
            members = cast("JsonObject", value).items()
            return {name: without(held, named) for name, held in members if name not in named}
        case list():
            return [without(held, named) for held in cast("list[Any]", value)]
        case _:
            return value


def parsed(text: str) -> Any:
    """The object or list that a text spells; None if it spells none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def flat(text: str) -> str:
    return " ".join(text.split())
