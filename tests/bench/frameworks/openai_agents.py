"""Sessions of OpenAI Agents, ours and its own: a turn of two items added, and the last 50 read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, cast

import onrecord
from tests.bench import conversations, peers
from tests.bench.conversations import Sessions
from tests.bench.measure import Aim, Contender, Measure, Work, take_turns
from tests.bench.pairings import GUARANTEES, Pairing
from tests.bench.payload import Exchange, as_items, text
from tests.bench.request import MESSAGES, READS

_SIZE: Final = 1_000
AIMS: Final = {"sqlite": Aim(1), "postgres": Aim(0.5)}
"""No slower than the framework's own on SQLite, at least twice as fast on PostgreSQL."""


def measures(pairing: Pairing) -> Iterator[Measure]:
    """Yield both verbs beside those of the SDK's session."""
    size = min(_SIZE, pairing.workspace.scale.sizes[-1])
    sides = [("OnrecordSession", _ours(pairing, size))]
    if pairing.workspace.peers:
        sides.append((pairing.session_name, pairing.sessions(size)))
    for verb, contender in (("append", _append), ("last", _last)):
        pairing.workspace.say(f"frameworks, OpenAI Agents, {pairing.database}: {verb}")
        contenders = [contender(pairing, name, held, size) for name, held in sides]
        ours, *others = take_turns(contenders, pairing.workspace.scale.pace)
        name = f"frameworks.openai_agents.{pairing.database}.{verb}"
        peer = others[0] if others else None
        yield Measure(name, "ms", ours, peer, AIMS[pairing.database] if peer else None)


def _ours(pairing: Pairing, size: int) -> Sessions:
    from onrecord.frameworks.openai_agents import OnrecordSession

    store = pairing.workspace.closing.enter_context(onrecord.connect(pairing.our_url()))
    return conversations.sessions(
        pairing.workspace,
        pairing.loop,
        lambda key: cast(peers.Session, OnrecordSession(key, store)),
        size,
    )


def _append(pairing: Pairing, what: str, held: Sessions, size: int) -> Contender:
    def prepare(number: int) -> Work:
        items = list(as_items(Exchange(prompt=text(), answer=text())))
        return partial(held.sessions[number % len(held.sessions)].add_items, items)

    return Contender(
        f"OpenAI Agents {what}.add_items of two to one of {size:,}",
        GUARANTEES[pairing.database],
        prepare,
        held.loop.clock,
    )


def _last(_: Pairing, what: str, held: Sessions, size: int) -> Contender:
    def prepare(number: int) -> Work:
        return partial(held.sessions[number % len(held.sessions)].get_items, limit=MESSAGES)

    return Contender(
        f"OpenAI Agents {what}.get_items(limit={MESSAGES}) of {size:,}",
        READS,
        prepare,
        held.loop.clock,
    )
