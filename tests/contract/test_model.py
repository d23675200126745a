"""Any sequence of appends, retries and erasures, against the rules in their plainest form."""

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from uuid_utils.compat import uuid7

from hansard.domain.head import Effect, Head, advance
from hansard.domain.log import (
    Append,
    Backend,
    Conflict,
    Duplicate,
    Forgotten,
    Mismatch,
    NewEvent,
    Recorded,
    Verdict,
)
from tests.contract.places import Place
from tests.factories import TENANT, raw_event
from tests.ledger import verify_leaf

CONVERSATIONS = 3

effects = st.builds(
    Effect,
    prompts=st.booleans(),
    opens_call=st.none() | st.sampled_from("abc"),
    closes_call=st.none() | st.sampled_from("abc"),
    gives_up=st.booleans(),
    points=st.sampled_from([None, "instructions", "tools", "request", "adopted", "amended"]),
    closes=st.booleans(),
    input_tokens=st.integers(0, 10**6),
    output_tokens=st.integers(0, 10**6),
)
event_ids = st.lists(st.integers(0, 11), min_size=1, max_size=3, unique=True)


@dataclass
class Said:
    """What the model remembers of a recorded event."""

    event_id: UUID
    body: bytes | None
    once: str | None
    effect: Effect
    exchange: int
    version: int


@dataclass
class Told:
    """What the model remembers of a conversation."""

    head: Head = field(default_factory=Head)
    said: list[Said] = field(default_factory=list[Said])
    forgotten: bool = False


class Rules:
    """The log, as anybody would say it in a few lines."""

    def __init__(self) -> None:
        self.told: dict[UUID, Told] = {}

    def append(self, append: Append) -> Verdict | tuple[int, int]:
        """The verdict; first and last version for what is recorded."""
        told = self.told.setdefault(append.conversation_id, Told())
        known = [self.known(append.conversation_id, event) for event in append.events]
        for ordinal, (event, found) in enumerate(zip(append.events, known, strict=True)):
            other = found is not None and found not in told.said
            if found and (other or (found.body is not None and found.body != event.body)):
                return Mismatch(ordinal)
        versions = [found.version for found in known if found]
        if len(versions) == len(known):
            return Duplicate(min(versions), max(versions))
        if versions:
            return Mismatch(next(n for n, found in enumerate(known) if found))
        onces = [event.once for event in append.events]
        for ordinal, once in enumerate(onces):
            if once is not None and once in onces[:ordinal]:
                return Mismatch(ordinal)
        if told.forgotten:
            return Forgotten()
        if append.expected_version not in (None, told.head.version):
            return Conflict(told.head.version)
        first = told.head.version + 1
        for event in append.events:
            self.say(told, event)
        return first, told.head.version

    def say(self, told: Told, event: NewEvent) -> None:
        told.head = advance(told.head, event.effect)
        told.said.append(
            Said(
                event.event_id,
                event.body,
                event.once,
                event.effect,
                told.head.exchange,
                told.head.version,
            )
        )

    def known(self, conversation_id: UUID, event: NewEvent) -> Said | None:
        everything = [said for told in self.told.values() for said in told.said]
        by_id = [said for said in everything if said.event_id == event.event_id]
        own = self.told[conversation_id].said
        by_once = [said for said in own if said.once is not None and said.once == event.once]
        return next(iter(by_id + by_once), None)

    def forget(self, conversation_id: UUID) -> int:
        told = self.told.setdefault(conversation_id, Told())
        erased = [said for said in told.said if said.body is not None]
        for said in erased:
            said.body = said.once = None
        told.head = replace(told.head, open_calls={})
        told.forgotten = bool(told.said)
        return len(erased)


class LogMachine(RuleBasedStateMachine):
    """A few conversations of one store, and the rules beside them."""

    place: Place
    backend: Backend

    def __init__(self) -> None:
        super().__init__()
        self.model = Rules()
        self.conversations = [uuid4() for _ in range(CONVERSATIONS)]
        self.ids = [uuid7() for _ in range(12)]
        self.position = sum(cursor.position for cursor in self.backend.cursors())

    @rule(data=st.data(), requests=st.integers(1, 3))
    def append(self, data: st.DataObject, requests: int) -> None:
        appends = [self.drawn(data) for _ in range(requests)]
        verdicts = self.backend.append(appends)
        assert len(verdicts) == requests
        for append, verdict in zip(appends, verdicts, strict=True):
            expected = self.model.append(append)
            if isinstance(expected, tuple):
                self.position += len(append.events)
                expected = Recorded(*expected, self.position)
            assert verdict == expected

    @rule(which=st.integers(0, CONVERSATIONS - 1))
    def forget(self, which: int) -> None:
        conversation = self.conversations[which]
        assert self.backend.forget(conversation) == self.model.forget(conversation)

    @invariant()
    def the_log_says_what_the_rules_say(self) -> None:
        for conversation in self.conversations:
            told = self.model.told.get(conversation, Told())
            assert self.backend.head(conversation) == told.head
            events = list(self.backend.read(conversation))
            assert [(e.event_id, e.body, e.exchange, e.version) for e in events] == [
                (said.event_id, said.body, said.exchange, said.version) for said in told.said
            ]
            for event in events:
                verify_leaf(event)

    @invariant()
    def indexes_find_what_a_scan_finds(self) -> None:
        for conversation in self.conversations:
            told = self.model.told.get(conversation, Told())
            for until in (None, told.head.version // 2):
                self.check_pointer(conversation, told, until)
            for exchange in range(told.head.exchange + 2):
                own = [said.version for said in told.said if said.exchange == exchange]
                start = own[0] if own and exchange else 0
                assert self.backend.exchange_start(conversation, exchange) == start

    def check_pointer(self, conversation: UUID, told: Told, until: int | None) -> None:
        pointing = [
            said
            for said in told.said
            if said.effect.points == "tools" and (until is None or said.version <= until)
        ]
        found = self.backend.latest(conversation, "tools", until)
        assert (found and found.version) == (pointing[-1].version if pointing else None)

    def drawn(self, data: st.DataObject) -> Append:
        conversation = self.conversations[data.draw(st.integers(0, CONVERSATIONS - 1))]
        told = self.model.told.get(conversation, Told())
        events = tuple(
            raw_event(
                event_id=self.ids[number],
                body=data.draw(st.sampled_from([b"one", b"two"])),
                effect=data.draw(effects),
                once=data.draw(st.none() | st.sampled_from(["result:a", "result:b"])),
            )
            for number in data.draw(event_ids)
        )
        near = st.integers(max(0, told.head.version - 1), told.head.version + 1)
        return Append(TENANT, conversation, events, data.draw(st.none() | near))


def run(place: Place, examples: int, steps: int) -> None:
    backend = place.open()
    space: dict[str, Any] = {"backend": backend, "place": place}
    machine = type("Machine", (LogMachine,), space)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    backend.close()


def test_every_verdict_and_every_head_follow_the_rules(place: Place) -> None:
    run(place, examples=40, steps=15)


@pytest.mark.soak
def test_every_verdict_and_every_head_follow_the_rules_at_length(place: Place) -> None:
    run(place, examples=300, steps=40)
