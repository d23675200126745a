"""What awaiting a verb costs over calling it: the same conversation, by both faces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from onrecord.adapters.conversation.conversation import Conversation
from tests.awaited import awaited
from tests.bench.measure import Aim, Contender, Measure, Work, over, take_turns
from tests.bench.pairings import Pairing
from tests.bench.payload import API
from tests.bench.peers import Loop
from tests.bench.request import LAST, READS

_OVER: Final = Aim(0.1)
"""Milliseconds that awaiting may cost over calling."""

_DURABLE: Final = "one commit"

Verb = Callable[[Any], Any]
"""A verb of either face: what it gives is awaited on one of them."""

_VERBS: Final[dict[str, tuple[Verb, str]]] = {
    "head": (lambda chat: chat.head(), READS),
    "request": (lambda chat: chat.request(API, window=LAST), READS),
    "user": (lambda chat: chat.user("Where is my parcel?"), _DURABLE),
}


def measures(pairing: Pairing) -> Iterator[Measure]:
    """Yield what each verb costs awaited over called, in milliseconds, and both beside each other."""
    chat = pairing.chats(pairing.workspace.scale.sizes[0], "said")[0]
    loop = Loop()
    try:
        for name, (verb, guarantees) in _VERBS.items():
            yield from _verb(pairing, chat, loop, name, verb, guarantees)
    finally:
        loop.close()


def _verb(
    pairing: Pairing, chat: Conversation, loop: Loop, name: str, verb: Verb, guarantees: str
) -> Iterator[Measure]:
    other = awaited(chat)

    def called(_: int) -> Work:
        return lambda: verb(chat)

    def asked(_: int) -> Callable[[], Awaitable[object]]:
        return lambda: verb(other)

    sides = [
        Contender(f"AsyncConversation.{name}, awaited", guarantees, asked, loop.clock),
        Contender(f"Conversation.{name}", guarantees, called),
    ]
    pairing.workspace.say(f"awaited, {pairing.database}: {name}")
    ours, sync = take_turns(sides, pairing.workspace.scale.pace)
    named = f"awaited.{pairing.database}.{name}"
    yield Measure(named, "ms", ours, sync)
    yield Measure(f"{named}.over", "ms", over(ours, sync, "awaited over called"), aim=_OVER)
