"""The request that an agent makes after each turn, while its process keeps what it folded.

Before each timed request the conversation grows by an exchange, as a recorder writes it, and by a prompt;
the peer's by the same. `step` is a window that moves ten exchanges at a time, as is usual: about 50
messages; `each` moves with every exchange, and has 50. `cold` is a request of which nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import onrecord
from onrecord import Conversation
from tests.bench.measure import Aim, Contender, Measure, Work, take_turns
from tests.bench.pairings import Pairing
from tests.bench.payload import API, Exchange, as_items, as_recorded, text
from tests.bench.request import LAST, MESSAGES, READS

_SIZE: Final = 1_000
_STEPS: Final = onrecord.Window(exchanges=15, step=10)
_WARM: Final = Aim(0.6)
_COLD: Final = Aim(1.3)


def measures(pairing: Pairing) -> Iterator[Measure]:
    """Yield ours beside get_items(limit=50), each after a turn."""
    workspace = pairing.workspace
    chat = pairing.chats(_SIZE, "recorded")[0]
    cold = workspace.closing.enter_context(
        onrecord.connect(pairing.url_of(_SIZE, "recorded"), folds=0)
    ).conversation(chat.key)
    asked = {
        "step": (_ours(chat, chat, _STEPS), _WARM),
        "each": (_ours(chat, chat, LAST), _WARM),
        "cold": (_ours(chat, cold, LAST), _COLD),
    }
    sides = [side for side, _ in asked.values()]
    if workspace.peers:
        sides.append(_session(pairing))
    workspace.say(f"loop, {pairing.database}: {len(sides)} sides in turn")
    shown = take_turns(sides, workspace.scale.pace)
    peer = shown.pop() if workspace.peers else None
    for (name, (_, aim)), figures in zip(asked.items(), shown, strict=True):
        yield Measure(f"loop.{pairing.database}.{name}", "ms", figures, peer, aim if peer else None)


def _exchange() -> Exchange:
    return Exchange(prompt=text(), answer=text())


def _ours(chat: Conversation, asked: Conversation, window: onrecord.Window) -> Contender:
    def prepare(_: int) -> Work:
        prompt, *answered = as_recorded(_exchange())
        chat.log.append(*answered, prompt)
        return partial(asked.request, API, window=window)

    what = f"Conversation.request of about {MESSAGES} messages after a turn"
    return Contender(what, READS, prepare)


def _session(pairing: Pairing) -> Contender:
    held = pairing.sessions(_SIZE)
    session = held.sessions[0]

    def prepare(_: int) -> Work:
        prompt, answer = as_items(_exchange())
        held.loop.run(partial(session.add_items, [answer, prompt]))
        return partial(session.get_items, limit=MESSAGES)

    what = f"OpenAI Agents {pairing.session_name}.get_items(limit={MESSAGES}) after a turn"
    return Contender(what, READS, prepare, held.loop.clock)
