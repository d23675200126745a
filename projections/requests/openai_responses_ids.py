"""Ids of calls as OpenAI's Responses API takes them (O6).

"Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64", and each
once, for an output is found by it. Call and output get the same new one, made from the old one and
the call's place, so that it is the same in each request.
"""

from __future__ import annotations

import hashlib
from typing import Final

from onrecord.projections.history import Block

_LONGEST: Final = 64


class CallIds:
    """The ids that the calls of one request bear."""

    def __init__(self) -> None:
        """Begin with no call."""
        self._taken: set[str] = set()

    def of_call(self, block: Block) -> str:
        """Return the id of the next call."""
        given = wire = block.call_id or ""
        while not 0 < len(wire) <= _LONGEST or wire in self._taken:
            wire = _made_of(f"{wire}:{given}", block.version)
        self._taken.add(wire)
        return wire


def _made_of(given: str, version: int) -> str:
    name = f"{version}:{given}".encode("utf-8", "surrogatepass")
    return f"call_{hashlib.sha256(name).hexdigest()[:24]}"
