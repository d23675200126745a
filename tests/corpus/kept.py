"""The blocks that events hold, as the log gives them back."""

import json
from typing import Any, cast

from onrecord.domain.content import Native, Text
from onrecord.domain.encoding import VERSIONS, decode, encode, name_of
from onrecord.domain.events import Event, InstructionsSet, ToolsDeclared
from tests.corpus.wire import JsonObject


def stored(event: Event) -> Event:
    """The event as the log gives it back."""
    name = name_of(event)
    found = decode(name, VERSIONS[name], encode(event))
    assert isinstance(found, Event)
    return found


def blocks_of(event: Event) -> list[Any]:
    """The API's own blocks that an event holds, moved strings still in blobs."""
    match event:
        case InstructionsSet(content=str() as text):
            return [text] if text else []
        case InstructionsSet(content=Native(value=value)):
            return list(value["system"])
        case ToolsDeclared(tools=several):
            return [tool.value for tool in several if isinstance(tool, Native)]
        case _:
            content: object = getattr(event, "content", ())
            if isinstance(content, tuple):
                return [as_block(block) for block in cast("tuple[object, ...]", content)]
            return [as_block(content)]


def as_block(held: object) -> JsonObject:
    match held:
        case Native(value=value):
            return value
        case Text(text=text):
            return {"type": "text", "text": text}
        case _:
            raise AssertionError(f"{held} is no block")


def as_text(value: object) -> str:
    """JSON text, for it shows the order of keys, nulls, and what is an integer."""
    return json.dumps(value)
