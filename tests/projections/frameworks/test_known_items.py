"""An item that comes again is recorded once, unless what had its id was taken away since."""

from collections.abc import Sequence

import pytest

from onrecord.domain.events import Event
from onrecord.domain.items import (
    ItemAmended,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StreamCleared,
)
from onrecord.projections.frameworks.known_items import KnownItems


def item(item_id: str, says: str, *, stream: str = "", after: int | None = None) -> ItemRecorded:
    return ItemRecorded(
        framework="langgraph", stream=stream, item_id=item_id, after=after, item={"says": says}
    )


def new_behind(events: Sequence[Event], *items: ItemRecorded) -> list[ItemRecorded]:
    known = KnownItems("langgraph")
    for version, event in enumerate(events, 1):
        known.take(version, event)
    return known.new_among(items, len(events))


def test_an_item_that_is_there_is_not_new() -> None:
    assert new_behind([item("a", "one")], item("a", "one")) == []


def test_an_item_that_says_something_else_is_kept_beside() -> None:
    (beside,) = new_behind([item("a", "one")], item("a", "two"))
    assert (beside.beside, beside.after) == (1, None)


@pytest.mark.parametrize(
    "taken_away",
    [
        ItemWithdrawn(version=1),
        ItemsReplaced(framework="langgraph", kept=((2, 2),)),
        ItemsReplaced(framework="langgraph"),
        StreamCleared(framework="langgraph"),
        StreamCleared(framework="langgraph", whole=True),
    ],
)
@pytest.mark.parametrize("says", ["one", "two"])
def test_an_item_that_was_taken_away_can_be_recorded_again(taken_away: Event, says: str) -> None:
    events: list[Event] = [item("a", "one"), item("b", "another"), taken_away]
    assert new_behind(events, item("a", says)) == [item("a", says, after=3)]
    # What was recorded again is there, and is told from what it says now.
    again = [*events, item("a", says, after=3)]
    assert new_behind(again, item("a", says)) == []
    (beside,) = new_behind(again, item("a", "three"))
    assert beside.beside == 4


def test_what_a_replacement_keeps_is_there() -> None:
    events: list[Event] = [item("a", "one"), ItemsReplaced(framework="langgraph", kept=((1, 1),))]
    assert new_behind(events, item("a", "one")) == []


@pytest.mark.parametrize(
    "elsewhere",
    [
        ItemsReplaced(framework="langgraph", stream="another"),
        ItemsReplaced(framework="google-adk"),
        StreamCleared(framework="langgraph", stream="another"),
        ItemWithdrawn(version=2),
        ItemWithdrawn(version=9),
    ],
)
def test_what_is_taken_away_elsewhere_leaves_the_item_there(elsewhere: Event) -> None:
    events: list[Event] = [item("a", "one"), item("b", "another"), elsewhere]
    assert new_behind(events, item("a", "one")) == []


def test_an_amended_item_is_known_by_what_it_says_since() -> None:
    events: list[Event] = [item("a", "one"), ItemAmended(version=1, item={"says": "two"})]
    assert new_behind(events, item("a", "one"), item("a", "two")) == []
