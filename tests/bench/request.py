"""The request of the last twenty exchanges (50 messages), rendered, as conversations grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onrecord.projections.history.windows import Window
from tests.bench.append import FLAT
from tests.bench.measure import Aim, Contender, Figures, Measure, Work, take_turns
from tests.bench.pairings import Pairing, Shape
from tests.bench.payload import API, WINDOW

_AIMS: Final = {"sqlite": Aim(1), "postgres": Aim(1, "below")}
_SHAPES: Final[tuple[Shape, ...]] = ("said", "recorded")
MESSAGES: Final = 50
READS: Final = "reads only"
LAST: Final = Window(exchanges=WINDOW - 1, step=1)
"""The last exchange counts as open, and is kept beside the closed ones."""


def measures(pairing: Pairing) -> Iterator[Measure]:
    """Yield ours beside get_items(limit=50) at each size, and how flat ours is.

    `said` is a conversation of messages alone, like the peer's; `recorded` is what the recorder
    writes of the same one: with the envelopes of 25 requests and 25 responses in the window.
    """
    sizes = pairing.workspace.scale.sizes
    sides = [side for size in sizes for side in _sides(pairing, size)]
    pairing.workspace.say(f"request, {pairing.database}: {len(sides)} sides in turn")
    shown = iter(take_turns(sides, pairing.workspace.scale.pace))
    ours: dict[Shape, list[Figures]] = {shape: [] for shape in _SHAPES}
    for size in sizes:
        chats = {shape: next(shown) for shape in _SHAPES}
        peer = next(shown) if pairing.workspace.peers else None
        aim = None if peer is None else _AIMS[pairing.database]
        for shape in _SHAPES:
            name = f"request.{pairing.database}.{size}.{shape}"
            yield Measure(name, "ms", chats[shape], peer, aim)
            ours[shape].append(chats[shape])
    for shape, figures in ours.items():
        name = f"request.{pairing.database}.flat.{shape}"
        yield Measure(name, "ms", figures[-1], figures[0], FLAT)


def _sides(pairing: Pairing, size: int) -> Iterator[Contender]:
    for shape in _SHAPES:
        yield _chat(pairing, size, shape)
    if pairing.workspace.peers:
        yield _session(pairing, size)


def _chat(pairing: Pairing, size: int, shape: Shape) -> Contender:
    chats = pairing.chats(size, shape)

    def prepare(number: int) -> Work:
        chat = chats[number % len(chats)]
        return lambda: chat.request(API, window=LAST)

    what = f"Conversation.request of the last {WINDOW} exchanges of {size:,} messages ({shape})"
    return Contender(what, READS, prepare)


def _session(pairing: Pairing, size: int) -> Contender:
    held = pairing.sessions(size)

    def prepare(number: int) -> Work:
        session = held.sessions[number % len(held.sessions)]
        return lambda: session.get_items(limit=MESSAGES)

    what = f"OpenAI Agents {pairing.session_name}.get_items(limit={MESSAGES}) of {size:,}"
    return Contender(what, READS, prepare, held.loop.clock)
