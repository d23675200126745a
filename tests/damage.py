"""Payloads that somebody damaged: members dropped and retyped, events dropped, doubled, reordered."""

import json
from collections.abc import Iterator
from typing import Any, cast

from hypothesis import strategies as st

JsonObject = dict[str, Any]

ODD = ["null", "7", "-1", "1.5", "true", '"odd"', '""', "[]", "{}", '["odd"]', '{"odd": [1]}']


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every member and element in a value: what holds it, and its name or index."""
    for name, held in items(value):
        yield value, name
        yield from places(held)


def items(value: Any) -> list[tuple[Any, Any]]:
    match value:
        case dict():
            return list(cast("JsonObject", value).items())
        case list():
            return list(enumerate(cast("list[Any]", value)))
        case _:
            return []


def texts(value: Any, without: frozenset[str]) -> Iterator[str]:
    """Every text in a value, but under members of these names."""
    if isinstance(value, str):
        yield value
    for name, held in items(value):
        if name not in without:
            yield from texts(held, without)


def damage(value: Any, data: st.DataObject) -> None:
    """Drop, retype or rename one member anywhere in a value."""
    found = list(places(value))
    if not found:
        return
    holder, name = found[data.draw(st.integers(0, len(found) - 1))]
    match data.draw(st.sampled_from(["drop", "retype", "rename"])):
        case "retype":
            holder[name] = json.loads(data.draw(st.sampled_from(ODD)))
        case "rename" if isinstance(holder, dict):
            holder["odd"] = cast("JsonObject", holder).pop(name)
        case _:
            del holder[name]


def damaged(events: list[JsonObject], data: st.DataObject) -> list[JsonObject]:
    """These events after one to three accidents."""
    events = json.loads(json.dumps(events))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(events) - 1))
        match data.draw(st.sampled_from(["drop", "double", "swap", "member", "member"])):
            case "drop" if len(events) > 1:
                del events[at]
            case "double":
                events.insert(at, json.loads(json.dumps(events[at])))
            case "swap":
                events[at], events[-1] = events[-1], events[at]
            case _:
                damage(events[at], data)
    return events
