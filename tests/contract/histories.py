"""What the contract of renderers is held over: anything that may happen to a conversation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import strategies as st

from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Options, Request
from tests.projections.happenings import Story

Happening = Callable[[Story], object]


def nothing(story: Story) -> None:
    """Let nothing happen."""


def never(*_: object) -> bool:
    return False


def texts_in(value: Any) -> list[str]:
    """Each text that an event holds and that is one of a kind."""
    match value:
        case str():
            return [value] if value.startswith("<") else []
        case list():
            return [text for held in cast("list[Any]", value) for text in texts_in(held)]
        case dict():
            return [text for held in cast("JsonObject", value).values() for text in texts_in(held)]
        case _:
            return []


def spellings(event: Event) -> list[tuple[str, ...]]:
    """What of an event must be in a request: of each, the spellings of which one is enough."""
    return [(text,) for text in texts_in(event.model_dump(mode="json"))]


@dataclass(frozen=True, slots=True)
class Histories:
    """Histories of a kind, and what of the contract is said otherwise of them.

    `anything` and `said` are what may happen, `said` without what changes what had been sent.
    `options` are those of any request, `steady` those of requests that are to begin alike. `begin` is
    the most events that are left out at the beginning. `refused` tells why the service would refuse a
    request, by rules and by ways that are not the product's. `spoken` are the parts of a request's
    messages. `last` happens behind what was said. `excused` tells why a request may begin otherwise
    than an earlier one. `takes_no_document` tells for which options a prompt may not be taken.
    """

    api: str
    anything: st.SearchStrategy[Happening]
    said: st.SearchStrategy[Happening]
    options: st.SearchStrategy[Options]
    steady: st.SearchStrategy[Options]
    refused: Callable[[Story, Request], Sequence[object]]
    spoken: Callable[[Request], list[Any]]
    excused: Callable[[Story, Request, Request, int], bool] = never
    last: Callable[[Story], object] = nothing
    spellings: Callable[[Event], list[tuple[str, ...]]] = spellings
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    begin: int = 0
    takes_no_document: Callable[[Options], bool] = never
