"""What writers of a store ask for, drawn from a seed, with what each is to be answered.

Each writer has a conversation of its own, so that what the others do changes none of its answers:
they are those that the in-memory log gives it alone. A conversation that all share shows the order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.log import Append, Backend, NewEvent, Recorded, Verdict
from tests.factories import appending, raw_event
from tests.ledger import verified_log

SEED = 20261121

Answer = Verdict | tuple[int, int]
"""A verdict; of what is recorded the versions alone, for positions tell of the others."""


@dataclass(frozen=True)
class Script:
    """What one writer asks for, in its order, and its answers."""

    appends: Sequence[Append]
    answers: Sequence[Answer]


@dataclass(frozen=True)
class Mixed:
    """What is in the store before, what each writer asks for, and what all write to."""

    before: Append
    scripts: Sequence[Script]
    shared: UUID


def mixed(seed: int, *, writers: int, turns: int, tenants: int = 1) -> Mixed:
    """The same seed draws the same kinds of requests; ids are new each time."""
    chance = random.Random(seed)
    known = appending(uuid4(), raw_event(body=b"known"), tenant=_tenant(0))
    parties = [_tenant(writer % tenants) for writer in range(writers)]
    scripts = [_script(known, party, turns, chance) for party in parties]
    return Mixed(known, scripts, uuid4())


def answer_of(verdict: Verdict) -> Answer:
    """The verdict, without the position of what is recorded."""
    return (verdict.first, verdict.last) if isinstance(verdict, Recorded) else verdict


def verify(backend: Backend, asked: Mixed, shared: Sequence[Verdict]) -> None:
    """The log is whole, and holds of each writer what the in-memory log would hold."""
    events = verified_log(backend)
    count = len(asked.before.events) + len(shared) + sum(_recorded(each) for each in asked.scripts)
    assert len(events) == count
    versions = sorted(verdict.first for verdict in shared if isinstance(verdict, Recorded))
    assert versions == list(range(1, len(shared) + 1))


def _recorded(script: Script) -> int:
    versions = [answer for answer in script.answers if isinstance(answer, tuple)]
    return sum(last - first + 1 for first, last in versions)


def _tenant(number: int) -> UUID:
    return UUID(int=0x018F0000_0000_7000_8000_000000000001 + number)


def _script(known: Append, tenant: UUID, turns: int, chance: random.Random) -> Script:
    alone = Memory()
    alone.append([known])
    own = uuid4()
    said: list[tuple[NewEvent, ...]] = []
    appends: list[Append] = []
    answers: list[Answer] = []
    for _ in range(turns):
        events = _events(known, tenant, said, chance)
        near = alone.head(own).version + chance.choice([-1, 0, 0, 0, 1])
        expected = chance.choice([None, max(near, 0)])
        append = appending(own, *events, tenant=tenant, expected_version=expected)
        (verdict,) = alone.append([append])
        if isinstance(verdict, Recorded):
            said.append(events)
        appends.append(append)
        answers.append(answer_of(verdict))
    return Script(appends, answers)


def _events(
    known: Append, tenant: UUID, said: list[tuple[NewEvent, ...]], chance: random.Random
) -> tuple[NewEvent, ...]:
    kind = chance.random()
    if said and kind < 0.2:
        return chance.choice(said)
    if said and kind < 0.3:
        return (raw_event(event_id=said[0][0].event_id, body=b"other"),)
    if kind < 0.4 and tenant == known.tenant:
        return (raw_event(event_id=known.events[0].event_id, body=b"other"),)
    once = chance.choice([None, None, "result:a", "result:b"])
    body = b"%d" % chance.randrange(3)
    count = chance.choice([1, 1, 1, 2, 5])
    return tuple(raw_event(body=body, once=once if not at else None) for at in range(count))
