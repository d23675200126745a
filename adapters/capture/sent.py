"""What a request asks, whatever its API: its parts in that API's own spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.matching.units import Piece


@dataclass(frozen=True, slots=True)
class Sent:
    """What a request asks; `body` is all of it.

    `system` are the instructions as the API spells them, None where there are none; so `tools`.
    `messages` is what follows the instructions (messages, or items), `pieces` its blocks, in order.
    `refers_to` is the provider's id of the response that it goes on from, `thread` that of the
    conversation that the provider holds; `goes_on_by` what the provider gave with an answer that it
    broke off, to go on with it. `compacts` says that it asks for a summary of its messages.
    `keeps_in_force`: the instructions and tools that it does not name are those of what it goes on
    from.
    `answers_earlier`: its first messages give results, so whose they are stands before them, if
    these are but the tail of a request. Only APIs whose calls may have no id tell it.
    """

    api: str
    body: JsonObject
    model: str | None = None
    stream: bool = False
    max_tokens: int | None = None
    system: Any = None
    tools: list[JsonObject] | None = None
    messages: tuple[JsonObject, ...] = ()
    pieces: tuple[Piece, ...] = ()
    refers_to: str | None = None
    thread: str | None = None
    goes_on_by: str | None = None
    compacts: bool = False
    answers_earlier: bool = False
    keeps_in_force: bool = False
