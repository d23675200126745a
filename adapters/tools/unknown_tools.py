"""Calls of tools that there are not: what the model is told, and how often it may be told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import takewhile
from typing import Final

from onrecord.domain.content import Text, ToolResult
from onrecord.domain.events import Event, ToolResultRecorded

MOST_IN_A_ROW: Final = 3
"""How many such calls, one behind the other, are one too many."""

_TOLD: Final = re.compile(r"Tool '.*' does not exist\. ", re.DOTALL)
_NEAR: Final = 3
_LONGEST_NAME: Final = 256
"""Characters of a name that may be meant for another: no API takes longer ones."""


def no_such_tool(name: str, tools: Sequence[str]) -> str:
    """Return what a model is told that calls a tool which is not there."""
    # To compare two long texts takes as long as the product of their lengths.
    near = get_close_matches(name, tools, n=_NEAR) if len(name) <= _LONGEST_NAME else []
    close = near or _same_but_for_case(name, tools)
    match close:
        case []:
            meant = ""
        case [one]:
            meant = f" Did you mean '{one}'?"
        case _:
            meant = f" Possible matches: [{', '.join(close)}]."
    return (
        f"Tool '{name}' does not exist.{meant} Available tools: [{', '.join(tools)}]. "
        "Use the exact tool name from this list."
    )


def last_in_a_row(exchange: Iterable[Event]) -> int:
    """Return how many results of an exchange, the last one first, say that there is no such tool.

    Counted from the log, so that it is the same whichever process runs the tools.
    """
    results = (event for event in exchange if isinstance(event, ToolResultRecorded))
    return sum(1 for _ in takewhile(_says_so, results))


def _says_so(event: ToolResultRecorded) -> bool:
    content = event.content
    if not isinstance(content, ToolResult) or not event.is_error or len(content.content) != 1:
        return False
    (block,) = content.content
    return isinstance(block, Text) and _TOLD.match(block.text) is not None


def _same_but_for_case(name: str, tools: Sequence[str]) -> list[str]:
    return [tool for tool in tools if tool.casefold() == name.casefold()]
