"""Given what happened, when something is decided, then that happens: rules without a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from onrecord.domain.errors import OnrecordError
from onrecord.domain.events import Event
from onrecord.domain.head import Head, advance, effect_of

Decision = Callable[[Head], tuple[Event, ...]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A conversation as its past events left it, and what was decided in it."""

    head: Head
    decision: Decision | None = None

    def when(self, decision: Decision) -> Scenario:
        """Decide something; nothing happens before `then` or `then_refused` asks."""
        return Scenario(self.head, decision)

    def then(self, *expected: Event) -> Scenario:
        """Check what happens, and go on from there."""
        assert self.decision is not None
        happened = self.decision(self.head)
        assert happened == expected
        return Scenario(folded(self.head, *happened))

    def then_refused(self, error: type[OnrecordError], match: str) -> None:
        """Check that the decision is refused, with advice."""
        assert self.decision is not None
        with pytest.raises(error, match=match):
            self.decision(self.head)


def given(*events: Event) -> Scenario:
    """Begin with what happened so far."""
    return Scenario(folded(Head(), *events))


def folded(head: Head, *events: Event) -> Head:
    """Return the head after events."""
    for event in events:
        head = advance(head, effect_of(event))
    return head
