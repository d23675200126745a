"""What is said of a tool's result beside its content, or in place of it."""

from __future__ import annotations

from typing import Final

from onrecord.domain.conversation import CANCELLED
from onrecord.projections.history import Block

NO_RESULT: Final = "Tool execution succeeded, but returned no result."
"""What stands in for a result without content."""

FAILED: Final = "Tool execution failed, but returned no result."
"""What stands in for an error without content."""

FAILURE: Final = "The tool failed:"
"""What a failed result begins with where an API has no mark for it."""


def words_for_nothing(*, is_error: bool) -> str:
    """Return what stands in for the content of a result that has none."""
    return FAILED if is_error else NO_RESULT


def failed(said: str) -> str:
    """Return what a failed result says where an API has no mark for it: words tell of it.

    A call that was given up says so itself.
    """
    return said if said == CANCELLED else f"{FAILURE}\n{said}"


def headline(block: Block) -> str:
    """Return what stands before a result that goes as text, because it came late or alone."""
    call = f"tool call {block.call_id}" if block.call_id else "a tool call"
    tool = f" ({block.name})" if block.name else ""
    failed = ", an error" if block.is_error else ""
    return f"The result of {call}{tool} came late{failed}:"
