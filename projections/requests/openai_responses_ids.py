"""Ids and names of calls as OpenAI's Responses API takes them (O6, O7).

"Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64", and each
once, for an output is found by it. Call and output get the same new one, made from the old one and
the call's place, so that it is the same in each request.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from hansard.projections.history import Block

_LONGEST: Final = 64
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]")


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


def name_of(given: str | None) -> str:
    """Return a function's name with letters, digits, `_` and `-` only, 1 to 64 of them."""
    return _UNFIT.sub("_", given or "")[:_LONGEST] or "_"


def _made_of(given: str, version: int) -> str:
    name = f"{version}:{given}".encode("utf-8", "surrogatepass")
    return f"call_{hashlib.sha256(name).hexdigest()[:24]}"
