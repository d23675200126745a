"""Runs that two sequences share, against looking at all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onrecord.projections.matching.runs import ending_runs, longest_run

texts = st.lists(st.integers(0, 3), max_size=12)


def common_end(one: list[int], other: list[int]) -> int:
    run = 0
    while run < min(len(one), len(other)) and one[-1 - run] == other[-1 - run]:
        run += 1
    return run


@given(texts, texts)
def test_the_longest_run_is_the_last_of_those_that_no_other_is_longer_than(
    text: list[int], other: list[int]
) -> None:
    best = (0, 0)
    for end in range(1, len(text) + 1):
        run = max((common_end(text[:end], other[:to]) for to in range(len(other) + 1)), default=0)
        if run and run >= best[1]:
            best = end, run
    assert longest_run(text, other) == best


@given(texts, texts)
def test_runs_that_end_both_are_found_at_each_place(text: list[int], other: list[int]) -> None:
    assert ending_runs(text, other) == [
        common_end(text[: place + 1], other) for place in range(len(text))
    ]
