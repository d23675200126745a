"""What a stream holds, folded from its end, is what a list that is changed in place holds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import (
    ItemAmended,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)
from onrecord.projections.frameworks.current_items import CurrentItems, streams_held

STREAMS = ("", "a")
Step = tuple[str, str, int]

steps = st.lists(
    st.tuples(
        st.sampled_from(("add", "add", "add", "pop", "amend", "keep", "clear", "whole", "redact")),
        st.sampled_from(STREAMS),
        st.integers(0, 7),
    ),
    max_size=40,
)


class Lists:
    """The streams as lists that are changed in place, and the events that say so."""

    def __init__(self) -> None:
        self.streams: dict[str, list[tuple[int, Any]]] = {name: [] for name in STREAMS}
        self.begun: dict[str, int] = {}
        self.events: list[Event] = []

    @property
    def held(self) -> list[str]:
        """The streams that hold items, in the order in which they began."""
        return [
            name for name in sorted(self.begun, key=self.begun.__getitem__) if self.streams[name]
        ]

    def act(self, step: Step) -> None:
        verb, stream, number = step
        held, version = self.streams[stream], len(self.events) + 1
        chosen = held[number % len(held)] if held else None
        match verb:
            case "add":
                held.append((version, {"n": version}))
                self.begun.setdefault(stream, version)
                self.events.append(ItemRecorded(framework="f", stream=stream, item={"n": version}))
            case "pop" if held:
                self.events.append(ItemWithdrawn(version=held.pop()[0]))
            case "redact" if chosen is not None:
                held.remove(chosen)
                self.events.append(ContentRedacted(version=chosen[0]))
            case "amend" if chosen is not None:
                held[held.index(chosen)] = (chosen[0], {"amended": version})
                self.events.append(ItemAmended(version=chosen[0], item={"amended": version}))
            case "keep":
                versions = [at for at, _ in held]
                kept = [at for place, at in enumerate(versions) if number >> place % 3 & 1]
                self.events.append(
                    ItemsReplaced(framework="f", stream=stream, kept=tuple((at, at) for at in kept))
                )
                self.streams[stream] = [item for item in held if item[0] in kept]
            case "clear":
                held.clear()
                self.begun.pop(stream, None)
                self.events.append(StreamCleared(framework="f", stream=stream))
            case "whole":
                for each in self.streams.values():
                    each.clear()
                self.begun.clear()
                self.events.append(StreamCleared(framework="f", whole=True))
            case _:
                return


def folded(events: list[Event], stream: str, last: int | None) -> list[tuple[int, Any]]:
    current = CurrentItems("f", stream, last)
    for version, event in reversed(list(enumerate(events, 1))):
        current.take(version, event)
    return [(item.version, item.item) for item in reversed(current.items)]


@given(steps, st.integers(0, 5))
def test_a_stream_holds_what_a_list_would(acts: list[Step], last: int) -> None:
    lists = Lists()
    for step in acts:
        lists.act(step)
        for name, held in lists.streams.items():
            assert folded(lists.events, name, None) == held
    for name, held in lists.streams.items():
        assert folded(lists.events, name, last) == held[len(held) - min(last, len(held)) :]


@given(steps)
def test_the_streams_are_those_that_hold_items(acts: list[Step]) -> None:
    lists = Lists()
    for step in acts:
        lists.act(step)
        events = reversed(list(enumerate(lists.events, 1)))
        assert streams_held("f", events) == lists.held


def test_another_frameworks_events_change_nothing() -> None:
    events: list[Event] = [
        ItemRecorded(framework="f", item={"n": 1}),
        StatePut(framework="f", key="k", value=1),
        ItemRecorded(framework="g", item={"n": 2}),
        StatePut(framework="g", key="k", value=2),
        ItemsReplaced(framework="g"),
        StreamCleared(framework="g", whole=True),
    ]
    assert folded(events, "", None) == [(1, {"n": 1})]
    assert streams_held("f", reversed(list(enumerate(events, 1)))) == [""]


def test_a_stream_with_state_alone_holds_no_item() -> None:
    events: list[Event] = [
        StatePut(framework="f", stream="a", key="k", value=1),
        ItemRecorded(framework="f", stream="b", item={"n": 1}),
    ]
    assert streams_held("f", reversed(list(enumerate(events, 1)))) == ["b"]


def test_an_event_that_names_no_earlier_version_changes_nothing() -> None:
    events: list[Event] = [
        ItemRecorded(framework="f", item={"n": 1}),
        ItemWithdrawn(version=2),
        ItemsReplaced(framework="f", kept=((5, 1),)),
        ItemRecorded(framework="f", item={"n": 4}, beside=9),
    ]
    assert folded(events, "", None) == [(1, {"n": 1})]
