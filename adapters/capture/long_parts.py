"""Blocks that broke off, kept as far as an event may hold them.

An event is read with every window. The rest of what broke off is in the bytes that are kept then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any, Final, cast

from onrecord.adapters.capture.answer import Anomaly, Answer
from onrecord.domain.events import Unfinished

_LONGEST: Final = 1024 * 1024
"""How many characters of a text that broke off an event holds, and how many items of a list."""

_IN_ALL: Final = 4 * _LONGEST
"""How many characters it holds of all the blocks that broke off."""

_ITEM: Final = 8
"""What each value counts for beside its characters."""


def shortened(answer: Answer) -> Answer:
    """Return an answer whose unfinished blocks are short enough, and that needs its bytes if not all was."""
    short, longest = _shortened(answer.unfinished, _LONGEST), _LONGEST
    while _is_long(short):
        # The longest parts alone grow shorter: names and kinds stay as they are.
        longest //= 2
        short = _shortened(short, longest)
    if short == answer.unfinished:
        return answer
    odd = Anomaly(f"a block that broke off after more than {longest} characters")
    return replace(answer, unfinished=short, anomalies=(*answer.anomalies, odd))


def _shortened(blocks: Sequence[Unfinished], longest: int) -> tuple[Unfinished, ...]:
    return tuple(
        block.model_copy(
            update={"value": _short(block.value, longest), "partial": block.partial[:longest]}
        )
        for block in islice(blocks, longest)
    )


def _short(value: Any, longest: int) -> Any:
    match value:
        case str():
            return value[:longest]
        case dict():
            members = islice(cast("dict[str, Any]", value).items(), longest)
            return {name: _short(held, longest) for name, held in members}
        case list():
            return [_short(held, longest) for held in islice(cast("list[Any]", value), longest)]
        case _:
            return value


def _is_long(blocks: Sequence[Unfinished]) -> bool:
    """Whether blocks are too long together; counts no further than that."""
    sizes = (size for block in blocks for size in _sizes([block.partial, block.value]))
    return any(size > _IN_ALL for size in accumulate(sizes))


def _sizes(value: Any) -> Iterator[int]:
    yield _ITEM
    match value:
        case str():
            yield len(value)
        case dict():
            for name, held in cast("dict[str, Any]", value).items():
                yield len(name)
                yield from _sizes(held)
        case list():
            for held in cast("list[Any]", value):
                yield from _sizes(held)
        case _:
            pass
