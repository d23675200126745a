"""What a framework did to its streams has a row in the timeline that people read."""

from typing import get_args

import pytest

from onrecord.domain.events import Event
from onrecord.domain.items import (
    ItemAmended,
    ItemEvent,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)
from tests.projections.history.test_timeline import rows

EACH: tuple[tuple[Event, tuple[str, str, str]], ...] = (
    (
        ItemRecorded(framework="f", stream="s", item={"a": 1}, beside=2),
        ("record", "item", 'f s beside version 2: {"a":1}'),
    ),
    (ItemWithdrawn(version=4), ("record", "withdrawn", "the item at version 4")),
    (
        ItemAmended(version=4, item={"a": 2}),
        ("record", "amended", 'the item at version 4: {"a":2}'),
    ),
    (
        ItemsReplaced(framework="f", kept=((1, 3), (5, 5))),
        ("record", "replaced", "f keeps the items at versions 1 to 3, 5 to 5"),
    ),
    (ItemsReplaced(framework="f"), ("record", "replaced", "f keeps nothing")),
    (StreamCleared(framework="f", whole=True), ("record", "cleared", "all streams of f")),
    (StreamCleared(framework="f", stream="s"), ("record", "cleared", "f s")),
    (StatePut(framework="f", key="k", value=[1]), ("record", "state", "f k: [1]")),
    (StatePut(framework="f", key="k"), ("record", "state", "f keeps no k")),
)


@pytest.mark.parametrize(("event", "row"), EACH, ids=[type(event).__name__ for event, _ in EACH])
def test_an_event_of_a_framework_says_what_it_is(event: Event, row: tuple[str, str, str]) -> None:
    (shown,) = rows(event)
    assert (shown.speaker, shown.kind, shown.text) == row


def test_every_event_of_a_framework_has_a_row() -> None:
    assert {type(event) for event, _ in EACH} == set(get_args(ItemEvent))
