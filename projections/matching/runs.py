"""Runs that two sequences of numbers share, found in time that is linear in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


def ending_runs(text: Sequence[int], other: Sequence[int]) -> list[int]:
    """Return for each place of a text how long a run ends there that also ends the other one."""
    runs = _z([*reversed(other), -1, *reversed(text)])[len(other) + 1 :]
    return runs[::-1]


def longest_run(text: Sequence[int], other: Sequence[int]) -> tuple[int, int]:
    """Return the longest run of a text that the other one holds: the place after it, its length.

    Of several that are as long it is the last; (0, 0) where there is none.
    """
    states = _automaton(other)
    at = run = 0
    best = (0, 0)
    for place, number in enumerate(text, 1):
        while at and number not in states[at].next:
            at = states[at].link
            run = states[at].length
        if number in states[at].next:
            at = states[at].next[number]
            run += 1
        if run and run >= best[1]:
            best = place, run
    return best


def _z(text: Sequence[int]) -> list[int]:
    """Return for each place how much of the text's beginning stands there.

    The Z-function: Gusfield, "Algorithms on Strings, Trees and Sequences", 1.3.
    """
    runs = [0] * len(text)
    left = right = 0
    for place in range(1, len(text)):
        run = min(right - place, runs[place - left]) if place < right else 0
        while place + run < len(text) and text[run] == text[place + run]:
            run += 1
        runs[place] = run
        if place + run > right:
            left, right = place, place + run
    return runs


@dataclass(slots=True)
class _State:
    """A state of a suffix automaton; the first one is 0, and its link is not followed."""

    length: int = 0
    link: int = 0
    next: dict[int, int] = field(default_factory=dict[int, int])


def _automaton(text: Sequence[int]) -> list[_State]:
    """Return the automaton that knows all runs of a text (Blumer et al., 1985)."""
    states = [_State()]
    last = 0
    for number in text:
        states.append(_State(states[last].length + 1))
        last = _append(states, last, number, len(states) - 1)
    return states


def _append(states: list[_State], last: int, number: int, new: int) -> int:
    """Link the state of the text as it is with one number more; return it."""
    at: int | None = last
    while at is not None and number not in states[at].next:
        states[at].next[number] = new
        at = states[at].link if at else None
    if at is not None:
        states[new].link = _split(states, at, number)
    return new


def _split(states: list[_State], at: int, number: int) -> int:
    """Return the state of the longest run that ends with a number and was there before."""
    state = states[at].next[number]
    if states[state].length == states[at].length + 1:
        return state
    states.append(_State(states[at].length + 1, states[state].link, dict(states[state].next)))
    copy = len(states) - 1
    states[state].link = copy
    step: int | None = at
    while step is not None and states[step].next.get(number) == state:
        states[step].next[number] = copy
        step = states[step].link if step else None
    return copy
