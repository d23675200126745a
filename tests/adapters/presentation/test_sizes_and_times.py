"""Sizes and times as people read them."""

import pytest

from onrecord.adapters.presentation.sizes_and_times import ago, size


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (999_950, "1.0 MB")],
)
def test_sizes_have_a_unit(count: int, shown: str) -> None:
    assert size(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "just now"),
        (1, "just now"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (7200, "2 h ago"),
        (90_000, "1 day ago"),
        (180_000, "2 days ago"),
        (86_400 * 400, "1970-01-01"),
    ],
)
def test_times_are_told_from_now(seconds: int, shown: str) -> None:
    assert ago(0, seconds * 1_000_000) == shown
