"""Ids of tool calls as Anthropic takes them (R15): letters, digits, `_` and `-`, each once.

"messages.N.content.M.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" and "`tool_use`
ids must be unique". Other APIs and older rounds give ids that do not fit; call and result get the
same new one, made from the old one and the call's place, so that it is the same in each request.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from onrecord.projections.history import Block

_ACCEPTED: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")


class CallIds:
    """The ids that the calls of one request bear."""

    def __init__(self) -> None:
        """Begin with no call."""
        self._by_call: dict[int | None, str] = {}
        self._taken: set[str] = set()

    def of_call(self, block: Block) -> str:
        """Return the id of a call, and keep it for its result."""
        given = block.call_id or ""
        fits = given not in self._taken and bool(_ACCEPTED.match(given))
        wire = given
        while not fits:
            wire = _made_of(wire, block.version)
            fits = wire not in self._taken
        self._taken.add(wire)
        self._by_call[block.call] = wire
        return wire

    def of_result(self, block: Block) -> str:
        """Return the id of the call that a result answers."""
        return self._by_call.get(block.call, block.call_id or "")


def _made_of(given: str, version: int) -> str:
    name = f"{version}:{given}".encode("utf-8", "surrogatepass")
    return f"toolu_{hashlib.sha256(name).hexdigest()[:24]}"
