"""A view that is folded as it is read is read again, as far as that brings it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from onrecord.adapters.views.catching_up import folded_on
from onrecord.adapters.views.pages import Page

BEGUN: Page[str] = Page((), None, 10, 90, 0)


def at(position: int, stopped: str | None = None) -> Page[str]:
    return replace(BEGUN, position=position, behind=100 - position, stopped=stopped)


@pytest.mark.parametrize(
    ("answers", "readings"),
    [
        ([at(60), at(100), at(100)], 2),
        ([at(60), at(130), at(130)], 2),  # More came since; that does not count.
        ([at(60), at(60), at(100)], 2),  # A reading brought it no further.
        ([at(60, "the disk is full"), at(100)], 1),
    ],
)
def test_a_view_is_read_again_until_it_has_come_there_or_comes_no_further(
    answers: list[Page[str]], readings: int
) -> None:
    pages: Iterator[Page[str]] = iter(answers)
    assert list(folded_on(BEGUN, 100, lambda: next(pages))) == answers[:readings]


def test_a_view_that_has_come_there_or_stands_still_is_not_read_again() -> None:
    def ask() -> Page[str]:
        raise AssertionError

    assert list(folded_on(at(100), 100, ask)) == []
    assert list(folded_on(at(10, "the disk is full"), 100, ask)) == []
