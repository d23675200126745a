"""Ids of tool calls in a Chat Completions request: each once in its message, as the model takes it.

A result answers a call of the message before it, so an id may come again in a later message, as
servers give it that count calls from 0 in each answer.
"""

from __future__ import annotations

import hashlib

from onrecord.projections.history import Block
from onrecord.projections.requests.openai_chat_models import Reader


class CallIds:
    """The ids that the calls of one request bear."""

    def __init__(self, reader: Reader) -> None:
        """Begin with no call, for a model."""
        self._reader = reader
        self._by_call: dict[int | None, str] = {}
        self._taken: set[str] = set()

    def begin_message(self) -> None:
        """Forget which ids the calls of the last message took."""
        self._taken.clear()

    def of_call(self, block: Block, *, is_kin: bool) -> str:
        """Return the id of a call, and keep it for its result; `is_kin`: its server made it.

        An id that cannot go becomes one that is made of it and of its place, so that it is the same
        in each request.
        """
        wire = block.call_id or ""
        fits = wire not in self._taken and self._reader.takes_id(wire, is_kin=is_kin)
        while not fits:
            wire = self._reader.id_of(_digest(wire, block.version))
            fits = wire not in self._taken
        self._taken.add(wire)
        self._by_call[block.call] = wire
        return wire

    def of_result(self, block: Block) -> str | None:
        """Return the id of the call that a result answers; None if no call bears one."""
        return self._by_call.get(block.call) if block.call is not None else None


def _digest(given: str, version: int) -> str:
    name = f"{version}:{given}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()
