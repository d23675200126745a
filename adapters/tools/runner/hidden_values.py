"""The values of a context, cut out of what is about to be recorded as an error."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, Final, cast
from urllib.parse import quote, quote_plus

from pydantic import BaseModel

from onrecord.domain.tool_context import HIDDEN, ToolCallContext

_SHORTEST: Final = 4
"""How long a value must be to be looked for: a shorter one stands in words that mean no value."""


def without_values(text: str, context: ToolCallContext) -> str:
    """Return a text in which nothing stands any more that the context holds, however it is spelled.

    Exceptions quote what they failed with, and a tool may have failed with its token.
    """
    spellings = {spelled for value in _texts(context.values()) for spelled in _spellings(value)}
    for spelled in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelled, HIDDEN)
    return text


def _texts(values: tuple[object, ...]) -> Iterator[str]:
    """Yield the texts that values hold, at any depth; what holds itself is looked at once."""
    waiting, ids = list(values), set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) in ids:
            continue
        ids.add(id(value))
        match value:
            case None | bool():
                continue
            case str():
                yield value
            case bytes() | bytearray():
                yield value.decode("utf-8", "replace")
            case memoryview():
                yield cast("memoryview[int]", value).tobytes().decode("utf-8", "replace")
            case Mapping():
                waiting += cast("Mapping[object, object]", value).values()
            case ToolCallContext():
                waiting += value.values()
            case Sequence() | AbstractSet():
                waiting += cast("Sequence[object]", value)
            case _:
                yield from _told_by(value)
                waiting += _fields(value)


def _told_by(value: object) -> Iterator[str]:
    """Yield what an object says of itself, and what it keeps secret as pydantic's types do."""
    with suppress(Exception):  # Its own failure must not hide the one that is told of.
        yield str(value)
        if hasattr(value, "get_secret_value"):
            yield from _texts((cast("Any", value).get_secret_value(),))


def _fields(value: object) -> list[object]:
    """Return what a dataclass or a model of pydantic holds; other objects may hold a whole program."""
    if isinstance(value, BaseModel):
        return list(vars(value).values())
    if is_dataclass(value):
        return [getattr(value, each.name, None) for each in fields(value)]
    return []


def _spellings(value: str) -> Iterator[str]:
    """Yield a value as it is, as Python, JSON and URLs spell it, and as basic credentials do."""
    encoded = value.encode("utf-8", "surrogatepass")
    spelled = (
        value,
        repr(value)[1:-1],
        repr(encoded)[2:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(encoded, safe=""),
        quote_plus(encoded),
        base64.b64encode(encoded).decode(),
    )
    return (each for each in spelled if len(each) >= _SHORTEST and len(value) >= _SHORTEST)
