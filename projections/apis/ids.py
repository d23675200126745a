"""Ids of tool calls: a row for each API that wants them in a form of its own.

An id that does not fit becomes one that is made of the old one and of the call's place, so that it
is the same in each request; call and result get the same one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from onrecord.projections.history.history import Block


@dataclass(frozen=True, slots=True)
class IdForm:
    """What the ids of an API look like: which fit, and how one is made that does.

    A made id is `prefix` and as many `digits` of a digest. `doubles` says that the id that came goes
    into the digest beside the last one that was tried.
    """

    fits: re.Pattern[str]
    prefix: str
    digits: int = 24
    doubles: bool = False

    def made_of(self, tried: str, original: str, version: int) -> str:
        """Return an id for a call whose id, or the last one tried for it, does not fit."""
        name = f"{version}:{tried}:{original}" if self.doubles else f"{version}:{tried}"
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self.prefix + digest[: self.digits]


# "messages.N.content.M.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" (R15).
ANTHROPIC: Final = IdForm(re.compile(r"[a-zA-Z0-9_-]{1,128}\Z"), "toolu_")

# `[a-zA-Z0-9_.:-]{1,64}` says the service's model of a request (B11); Anthropic's own API takes no
# `.` and no `:`.
BEDROCK: Final = IdForm(re.compile(r"[a-zA-Z0-9_.:-]{1,64}\Z"), "tooluse_")
BEDROCK_CLAUDE: Final = IdForm(re.compile(r"[a-zA-Z0-9_-]{1,64}\Z"), "tooluse_")

# "Invalid 'messages[36].tool_calls[0].id': string too long. Expected a string with maximum length
# 40, but got a string with length 51"; Mistral: "Tool call id was ... but must be a-z, A-Z, 0-9,
# with a length of 9." (C5)
OPENAI_CHAT: Final = IdForm(re.compile(r"[a-zA-Z0-9_-]{1,40}\Z"), "call_")
MISTRAL: Final = IdForm(re.compile(r"[a-zA-Z0-9]{9}\Z"), "", 9)

# "Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64" (O6).
OPENAI_RESPONSES: Final = IdForm(re.compile(r"(?s).{1,64}\Z"), "call_", doubles=True)


class CallIds:
    """The ids that the calls of one request bear, each once."""

    def __init__(self, form: IdForm) -> None:
        """Begin with no call."""
        self._form = form
        self._by_call: dict[int | None, str] = {}
        self._taken: set[str] = set()

    def begin_message(self) -> None:
        """Forget which ids the calls before took, for an API where each is unique in its message."""
        self._taken.clear()

    def of_call(self, block: Block, fits: Callable[[str], object] | None = None) -> str:
        """Return the id of a call, and keep it for its result; `fits` judges in place of the form."""
        original = wire = block.call_id or ""
        fits = fits or self._form.fits.match
        is_fit = wire not in self._taken and bool(fits(wire))
        while not is_fit:
            wire = self._form.made_of(wire, original, block.version)
            is_fit = wire not in self._taken
        self._taken.add(wire)
        self._by_call[block.call] = wire
        return wire

    def of_result(self, block: Block) -> str | None:
        """Return the id of the call that a result answers; None where no call bears one."""
        return self._by_call.get(block.call)
