"""Ids of tool calls as Bedrock takes them (B11), each once.

`[a-zA-Z0-9_.:-]{1,64}` says the service's model of a request; Anthropic's own API takes no `.` and
no `:`. Other ids become one that is made of the old one and of the call's place, so that it is the
same in each request; call and result get the same one.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from onrecord.projections.history import Block
from onrecord.projections.requests.bedrock_converse_models import Model

_ANY: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}\Z")
_PLAIN: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


class CallIds:
    """The ids that the calls of one request bear."""

    def __init__(self, model: Model) -> None:
        """Begin with no call, for a model."""
        self._fits = _PLAIN if model.vendor == "anthropic" else _ANY
        self._by_call: dict[int | None, str] = {}
        self._taken: set[str] = set()

    def of_call(self, block: Block) -> str:
        """Return the id of a call, and keep it for its result."""
        wire = block.call_id or ""
        fits = wire not in self._taken and bool(self._fits.match(wire))
        while not fits:
            wire = _made_of(wire, block.version)
            fits = wire not in self._taken
        self._taken.add(wire)
        self._by_call[block.call] = wire
        return wire

    def of_result(self, block: Block) -> str | None:
        """Return the id of the call that a result answers; None where no call bears one."""
        return self._by_call.get(block.call) if block.call is not None else None


def _made_of(given: str, version: int) -> str:
    name = f"{version}:{given}".encode("utf-8", "surrogatepass")
    return f"tooluse_{hashlib.sha256(name).hexdigest()[:24]}"
