"""Requests, whatever their API: what one asks, and what of it becomes events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, NamedTuple, Protocol, cast
from uuid import UUID

from onrecord.adapters.wire.blocks import AnswerBlock, EventOf, Recording, recorded
from onrecord.domain.blobs import spill
from onrecord.domain.content import Native, Role, Said, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    InstructionsSet,
    MessageRecorded,
    ResponseCompleted,
    ResponseInterrupted,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.matching.units import Piece


@dataclass(frozen=True, slots=True)
class WireRequest:
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

    def names(self, closing: ResponseCompleted | ResponseInterrupted) -> bool:
        """Whether it goes on, by reference, from the response that ended so."""
        if self.refers_to is not None:
            return closing.provider_id == self.refers_to
        match closing.envelope.get("conversation"):
            case {"id": str(thread)} | str(thread):
                return thread == self.thread
            case _:
                return False


class ReadRequest(Protocol):
    """Reads the body of a request; some APIs name the model in the path of the URL alone."""

    def __call__(self, body: bytes, path: str = "", /) -> WireRequest:
        """Return what a request asks."""
        ...


def required_objects(value: object, member: str) -> list[JsonObject]:
    """Return a list of objects; InvalidContent where it is none."""
    if isinstance(value, list) and all(isinstance(it, dict) for it in cast("list[Any]", value)):
        return cast("list[JsonObject]", value)
    raise InvalidContent(f"`{member}` is no list of objects: send it as this API spells it")


def optional_objects(value: object, member: str) -> list[JsonObject] | None:
    """Return a list of objects, None where nothing is; InvalidContent where it is anything else."""
    return None if value is None else required_objects(value, member)


# What a request asks, as events.


def instructions_set(sent: WireRequest) -> Recording:
    """Return the event that puts a request's instructions in force, a text or JSON as it was sent.

    A list is kept as the object {"system": [...]}, for a native value is an object.
    """
    system: Any = sent.system
    if isinstance(system, list):
        system = {"system": sent.system}
    if system is None or isinstance(system, str):
        return (InstructionsSet(content=system or ""),), {}
    value, spilled = spill(system)
    return (InstructionsSet(content=Native(api=sent.api, value=value)),), spilled


def tools_declared(sent: WireRequest) -> Recording:
    """Return the event that puts a request's tools in force, each as it was spelled."""
    values, spilled = spill(sent.tools or [])
    natives = tuple(Native(api=sent.api, value=value) for value in values)
    return (ToolsDeclared(tools=natives),), spilled


class Result(NamedTuple):
    """The result of a call of the caller's tool: of which call, and whether it says that it failed."""

    call_id: str
    is_error: bool = False


def content_text(message: JsonObject, block: JsonObject) -> str | None:
    """Return the content of a message where that is a plain text, of which the block was made."""
    content = message.get("content")
    return content if isinstance(content, str) and block is not message else None


def _turn_a_message(sent: WireRequest) -> Sequence[int]:
    return range(len(sent.messages))


def answered_turns(sent: WireRequest) -> Sequence[int]:
    """Return the turns of messages of which all that the model says at once is one, others each."""
    turns = [*range(len(sent.messages))]
    for before, piece in pairwise(sent.pieces):
        if before.role == piece.role == "assistant":
            turns[piece.message] = turns[before.message]
    return turns


def _no_calls(_run: Sequence[Piece], _sent: WireRequest) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class RequestEvents:
    """Makes events of the requests of an API.

    `event_of` tells which event records a block of the model's. `result_of` gives the result that a
    block of the caller's is, None where it is none; `text_of` the text of a block, with its message
    before it, that is plain text. `turns` gives for each message the place at which its turn begins;
    `ran` the ids of calls in a turn of the model's that the provider ran. `callers` are the roles
    of all but the model.
    """

    event_of: EventOf
    result_of: Callable[[Piece], Result | None]
    text_of: Callable[[JsonObject, JsonObject], str | None] = content_text
    turns: Callable[[WireRequest], Sequence[int]] = _turn_a_message
    ran: Callable[[Sequence[Piece], WireRequest], frozenset[str]] = _no_calls
    callers: tuple[str, ...] = ("user", "system", "tool")

    def __call__(
        self,
        sent: WireRequest,
        new: Sequence[Piece],
        responses: Iterator[UUID],
        line: UUID | None = None,
    ) -> Recording:
        """Return the events of blocks of a request that the log does not have, in order.

        What the model said was answered elsewhere; its blocks need a response to belong to, and a
        turn of them takes the next id of `responses`. Its calls are awaited. Raises InvalidContent
        for a message that is none.
        """
        events: list[Event] = []
        spilled: dict[str, bytes] = {}
        turns = self.turns(sent)
        for (_, role), run in groupby(new, lambda piece: (turns[piece.message], piece.role)):
            turn = list(run)
            if role == "assistant":
                blocks = (AnswerBlock(index, it.block, it.call) for index, it in enumerate(turn))
                response, ran = next(responses), self.ran(turn, sent)
                recording = recorded(blocks, self.event_of, sent.api, response, line, ran=ran)
            elif role in self.callers:
                recording = self._by_caller(turn, sent, line)
            else:
                raise InvalidContent(
                    "a message is said by nobody known: its `role` must be user, assistant or system"
                )
            events.extend(recording[0])
            spilled.update(recording[1])
        return tuple(events), spilled

    def _by_caller(self, turn: Sequence[Piece], sent: WireRequest, line: UUID | None) -> Recording:
        """Return an event a tool result, and one for what is said between them."""
        role: Role = "system" if turn[0].role == "system" else "user"
        events: list[Event] = []
        spilled: dict[str, bytes] = {}
        for result, run in groupby(turn, self.result_of):
            content: list[Said] = []
            for piece in run:
                text = self.text_of(sent.messages[piece.message], piece.block)
                if result is None and text is not None:
                    content.append(Text(text=text))
                    continue
                value, blobs = spill(piece.block)
                spilled.update(blobs)
                native = Native(api=sent.api, value=value)
                if result is None:
                    content.append(native)
                else:
                    events.append(
                        ToolResultRecorded(
                            call_id=result.call_id,
                            content=native,
                            is_error=result.is_error,
                            line=line,
                        )
                    )
            if content:
                events.append(MessageRecorded(role=role, content=tuple(content), line=line))
        return tuple(events), spilled


def placed(sent: WireRequest, events: Iterable[Event]) -> Iterator[tuple[Event, int]]:
    """Yield each event that all blocks of a request make, with the number of its last block, from 0."""
    at = -1
    for event in events:
        # A picture in an answer is a block that the event before it took already.
        if not isinstance(event, DocumentExtracted):
            at += len(event.content) if isinstance(event, MessageRecorded) else 1
        yield event, at
