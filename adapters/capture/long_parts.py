"""Blocks that broke off, kept as far as an event may hold them.

An event is read with every window. The rest of what broke off is in the bytes that are kept then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.capture.answer import Anomaly, Answer
from onrecord.domain.events import Unfinished

_LONGEST: Final = 1024 * 1024
"""How many characters of a text that broke off an event holds."""


def shortened(answer: Answer) -> Answer:
    """Return an answer whose unfinished blocks are short enough, and that needs its bytes if not all was."""
    short = tuple(map(_shortened, answer.unfinished))
    if short == answer.unfinished:
        return answer
    odd = Anomaly(f"a block that broke off after more than {_LONGEST} characters")
    return replace(answer, unfinished=short, anomalies=(*answer.anomalies, odd))


def _shortened(block: Unfinished) -> Unfinished:
    update = {"value": _short(block.value), "partial": _short(block.partial)}
    return block.model_copy(update=update)


def _short(value: Any) -> Any:
    match value:
        case str():
            return value[:_LONGEST]
        case dict():
            members = cast("dict[str, Any]", value).items()
            return {name: _short(held) for name, held in members}
        case list():
            return [_short(held) for held in cast("list[Any]", value)]
        case _:
            return value
