"""Results of tools that are values of a protocol's SDK: a handler for each, asked before all else.

A value is told by its type, whose SDK is not imported for it. JSON that only looks like one of
these is data: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from onrecord.adapters.tools import a2a, mcp_results
from onrecord.adapters.tools.unfolded import Unfolded

Handler = tuple[Callable[[object], bool], Callable[[Any], Unfolded]]
"""Whether a value is one that it tells, and what the value says."""

HANDLERS: Final[tuple[Handler, ...]] = (
    (mcp_results.is_told, mcp_results.told),
    (a2a.is_told, a2a.told),
)


def unfolded(value: object) -> Unfolded | None:
    """Return what a typed result says; None for a value that has no handler."""
    return next((tell(value) for is_told, tell in HANDLERS if is_told(value)), None)
