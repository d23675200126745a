"""What a branch holds, folded from its end, is what a copy of the list that it left would hold."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import (
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)
from onrecord.projections.frameworks.branch_items import ORIGIN, BranchItems, Origin

Step = tuple[str, int, int]

steps = st.lists(
    st.tuples(
        st.sampled_from(("add", "add", "pop", "redact", "branch", "branch", "clear", "whole")),
        st.integers(0, 5),
        st.integers(0, 7),
    ),
    max_size=40,
)


class Lists:
    """Branches as lists of their own, and the events that say so."""

    def __init__(self) -> None:
        self.branches: dict[str, list[int]] = {"": []}
        self.begun: dict[str, int] = {"": 0}
        self.events: list[Event] = []

    def act(self, step: Step) -> None:
        verb, branch, number = step
        name = list(self.branches)[branch % len(self.branches)]
        held, version = self.branches[name], len(self.events) + 1
        match verb:
            case "add":
                held.append(version)
                item = {"n": version}
                self.events.append(ItemRecorded(framework="f", stream=name, item=item))
            case "pop" if held:
                self.events.append(self._popped(name, held.pop()))
            case "redact" if held:
                redacted = held[number % len(held)]
                for each in self.branches.values():
                    each[:] = [at for at in each if at != redacted]
                self.events.append(ContentRedacted(version=redacted))
            case "branch" if held:
                before = held[number % len(held)]
                self.branches[new := f"from {version}"] = [at for at in held if at < before]
                self.begun[new] = version
                self.events.append(_origin(new, Origin(name, before)))
            case "clear":
                held.clear()
                self.events.append(StreamCleared(framework="f", stream=name))
            case "whole":
                for each in self.branches.values():
                    each.clear()
                self.events.append(StreamCleared(framework="f", whole=True))
            case _:
                return

    def _popped(self, name: str, version: int) -> Event:
        if version > self.begun[name]:
            return ItemWithdrawn(version=version)
        return ItemsReplaced(framework="f", stream=name, kept=((0, version - 1),))


def _origin(stream: str, origin: Origin) -> StatePut:
    return StatePut(framework="f", stream=stream, key=ORIGIN, value=origin.value())


def folded(events: list[Event], stream: str, last: int | None = None) -> BranchItems:
    current = BranchItems("f", stream, last)
    for version, event in reversed(list(enumerate(events, 1))):
        current.take(version, event)
    return current


def versions(current: BranchItems) -> list[int]:
    return [item.version for item in reversed(current.items)]


@given(steps, st.integers(0, 4))
def test_a_branch_holds_what_a_copy_of_its_origin_would(acts: list[Step], last: int) -> None:
    lists = Lists()
    for step in acts:
        lists.act(step)
    for name, held in lists.branches.items():
        assert versions(folded(lists.events, name)) == held
        assert (
            versions(folded(lists.events, name, last)) == held[len(held) - min(last, len(held)) :]
        )


def test_state_is_the_branchs_own() -> None:
    events: list[Event] = [
        ItemRecorded(framework="f", item={"n": 1}),
        StatePut(framework="f", key="a", value=1),
        _origin("b", Origin("", 9)),
        StatePut(framework="f", stream="b", key="c", value=2),
    ]
    current = folded(events, "b")
    assert (current.state, current.begun, versions(current)) == ({"c": 2}, 3, [1])
    assert folded(events, "").state == {"a": 1}


def test_what_is_no_origin_is_state() -> None:
    values: list[Any] = [None, "a", {"stream": 1, "before": 2}, {"stream": "", "before": "x"}]
    for value in values:
        put = StatePut(framework="f", stream="b", key=ORIGIN, value=value)
        current = folded([ItemRecorded(framework="f", item={}), put], "b")
        assert (current.begun, current.items, current.state) == (0, [], {ORIGIN: value})


def test_a_branch_that_says_to_come_from_itself_or_from_later_ends() -> None:
    events: list[Event] = [
        ItemRecorded(framework="f", stream="b", item={"n": 1}),
        _origin("b", Origin("b", 2**80)),
        ItemRecorded(framework="f", stream="b", item={"n": 3}),
    ]
    assert versions(folded(events, "b")) == [1, 3]
