"""Counts as people read them."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return a count and its noun: `1 event`, `1,024 events`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
