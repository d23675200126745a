"""Conversations of a given size, filled in bulk: ours and the peers', each in a store of its own.

A small conversation would grow under the hand, so each round gets one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import onrecord
from onrecord import Conversation
from onrecord.domain.events import Event
from tests.bench import peers
from tests.bench.payload import Exchange, as_items, batches, exchanges, text
from tests.bench.workspace import Workspace

_SMALL: Final = 1_000
_BATCH: Final = 500


def copies(workspace: Workspace, size: int) -> int:
    """Return how many conversations of a size are needed: one a round while they are small."""
    return workspace.scale.pace.rounds if size <= _SMALL else 1


def chats(
    workspace: Workspace, url: str, size: int, shape: Callable[[Exchange], Iterator[Event]]
) -> list[Conversation]:
    """Return conversations of ours with so many messages, in a new store at an URL."""
    workspace.say(f"filling {url.split(':')[0]} with {size:,} messages ({shape.__name__})")
    store = workspace.closing.enter_context(onrecord.connect(url))
    filled = [store.conversation(f"{size}/{n}") for n in range(copies(workspace, size))]
    for chat in filled:
        happened = (event for exchange in exchanges(size) for event in shape(exchange))
        for batch in batches(happened, _BATCH):
            chat.log.append(*batch)
    return filled


@dataclass(frozen=True, slots=True)
class Sessions:
    """Conversations of OpenAI Agents, and the loop that they live in."""

    loop: peers.Loop
    sessions: list[peers.Session]


def sessions(
    workspace: Workspace, loop: peers.Loop, open_session: Callable[[str], peers.Session], size: int
) -> Sessions:
    """Return conversations of OpenAI Agents with so many items, in whoever's store."""
    workspace.say(f"filling sessions with {size:,} items")
    filled = [open_session(f"{size}/{n}") for n in range(copies(workspace, size))]
    for session in filled:
        found = (item for exchange in exchanges(size) for item in as_items(exchange))
        for batch in batches(found, _BATCH):
            loop.run(partial(session.add_items, batch))
    return Sessions(loop, filled)


def threads(workspace: Workspace, saver: peers.Saver, size: int) -> list[peers.Thread]:
    """Return threads of LangGraph whose last checkpoint holds so many messages."""
    workspace.say(f"filling the checkpointer with {size:,} messages")
    filled = [peers.Thread(saver, f"{size}/{n}") for n in range(copies(workspace, size))]
    for thread in filled:
        thread.fill([(text(), text()) for _ in range(size // 2)])
    return filled
