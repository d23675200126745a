"""Whether there is something to ask the model next: the input of its next turn."""

from __future__ import annotations

from typing import Literal, TypeAlias

NextInput: TypeAlias = Literal["deferred", "nothing", "ready"]
"""What a runtime does next: it waits for results of calls, it waits for somebody to say something,
or it asks the model."""


def next_input(*, awaited: int, unanswered: bool) -> NextInput:
    """Return what comes next, with so many calls that await a result and what is not answered yet.

    A round that is open holds back all that is said meanwhile. What a request asked whose answer
    broke off, or never came, is not answered.
    """
    if awaited:
        return "deferred"
    return "ready" if unanswered else "nothing"
