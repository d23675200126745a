"""What is new in a conversation: its turns since a version, as a model is told them."""

from __future__ import annotations

from collections.abc import Iterator

from onrecord.adapters.amendments import parted
from onrecord.adapters.lineage import Stretch
from onrecord.adapters.reading import events_for
from onrecord.adapters.tails import since_prompt, tail_of
from onrecord.domain.log import Log
from onrecord.projections.history.history import Block
from onrecord.projections.history.history import Turn
from onrecord.projections.history.turns import turns


def turns_since(log: Log, stretches: tuple[Stretch, ...], since: int) -> tuple[Turn, ...]:
    """Return the turns of what came after a version; reads back to the prompt before it.

    All results of a round are in one turn, in the order of its calls; a call that awaits its result
    has none yet. What it was forked from is there only where all is asked for (0).
    """
    if not stretches:
        return ()
    own = stretches[-1].conversation_id
    awaited = tail_of(log, stretches).open_calls

    def is_new(block: Block) -> bool:
        if block.mark == "missing" and block.call_id in awaited:
            return False
        return block.version > since if block.conversation == own else not since

    def new() -> Iterator[Turn]:
        for turn in turns(events_for(log, _behind(log, stretches, since), None)):
            blocks = [block for block in turn.blocks if is_new(block)]
            if blocks:
                yield Turn(turn.role, blocks)

    return tuple(new())


def _behind(log: Log, stretches: tuple[Stretch, ...], since: int) -> tuple[Stretch, ...]:
    """Return the stretches from the exchange on in which a version is."""
    before, behind = parted(stretches, stretches[-1].conversation_id, since)
    if not behind:
        return stretches
    first = next(iter(since_prompt(log, before)), None)
    if first is None:
        return stretches
    return parted(stretches, first.conversation_id, first.version - 1)[1]
