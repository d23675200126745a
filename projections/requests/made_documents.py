"""Documents that the tools of an API made do not go back to it: its own JSON holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from onrecord.projections.history import Block, History, Turn


def without_own(history: History, api: str) -> History:
    """Return a history without the documents that tools of an API made."""
    if not history.has_made:
        return history
    if not any(_is_own(block, api) for turn in history.turns for block in turn.blocks):
        return history
    return replace(history, turns=tuple(_joined(_without(history.turns, api))))


def _without(turns: Iterable[Turn], api: str) -> Iterator[Turn]:
    for turn in turns:
        blocks = [block for block in turn.blocks if not _is_own(block, api)]
        if blocks:
            yield Turn(turn.role, blocks)


def _joined(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield turns, those that nothing stands between any more as one."""
    for _, group in groupby(turns, lambda turn: turn.role):
        first, *others = group
        yield replace(first, blocks=[*first.blocks, *(it for turn in others for it in turn.blocks)])


def _is_own(block: Block, api: str) -> bool:
    return block.made_by == api
