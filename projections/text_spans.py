"""How much two texts have in common at their ends, in whole UTF-8 characters."""

from __future__ import annotations


def common_start(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts share at their start, by halves: comparing is in C."""
    low, high = 0, min(len(one), len(other))
    seen = memoryview(other)  # Not copied to be compared: a body may have many megabytes.
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(seen[low:middle], low):
            low = middle
        else:
            high = middle - 1
    while 0 < low < len(one) and _is_inside(one[low]):
        low -= 1
    return low


def common_end(one: bytes, other: bytes, most: int) -> int:
    """Return how many bytes, at the most so many, two texts share at their end."""
    low, high = 0, most
    seen = memoryview(other)
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(seen[len(other) - middle : len(other) - low], len(one) - middle):
            low = middle
        else:
            high = middle - 1
    while low and _is_inside(one[len(one) - low]):
        low -= 1
    return low


def _is_inside(byte: int) -> bool:
    """Whether a byte continues a character (RFC 3629)."""
    return byte & 0b1100_0000 == 0b1000_0000
