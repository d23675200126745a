"""Routes of conversations: which there are, where each stands, its events, its history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.conversation import AsyncConversation
from onrecord.adapters.service.events import EventDocument, event_documents
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.problems import NOT_FOUND, Problem
from onrecord.adapters.service.route import Call, Route, answered, reading, tagged
from onrecord.adapters.service.routes.conversation_paths import CONVERSATION
from onrecord.domain.head import Head
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.history import Turn

PAGE: Final = 100
LARGEST_PAGE: Final = 1_000


class Position(Model):
    """Where a conversation stands."""

    key: str
    """The key of the conversation."""

    conversation_id: str
    """The id of the conversation."""

    version: int
    """The version of its last event."""

    exchange: int
    """The number of its last exchange: a prompt of the user's, and all up to the next one."""

    open_calls: list[str]
    """The ids of the calls that await their results."""

    closed: bool
    """Whether it has ended, and takes nothing new."""

    input_tokens: int
    """The tokens that models read in it, in all."""

    output_tokens: int
    """The tokens that models wrote in it, in all."""


class EventRange(Model):
    """Which events: those with after < version <= until, at most `limit`."""

    after: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """The version that they come after."""

    until: Version | None = None
    """The last version, if not all."""

    limit: Annotated[int, Field(ge=1, le=LARGEST_PAGE)] = PAGE
    """The most of a page."""


class EventPage(Model):
    """Events in order."""

    events: list[EventDocument]
    """The events."""

    next: int | None
    """The `after` of the next page; null where none follow now."""


class At(Model):
    """When to tell it at."""

    at: Version | None = None
    """The version to tell it at; without one, the last."""


class Since(At):
    """Which part of a history."""

    since: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """The version that it comes after: 0 for all of it."""


class BlockDocument(Model):
    """A block of a turn: a text, a document, reasoning, a call, a result, or a provider's own JSON."""

    version: int
    """The version of the event that holds it."""

    conversation_id: str | None
    """The conversation of that event: in a fork it may be one that it goes on from."""

    mark: str
    """What it is in its turn; empty where it was said there."""

    content: dict[str, Any]
    """What it holds; `kind` says what that is, `native` for a provider's own JSON."""

    call_id: str | None
    """The id of the call that it is, or that it is the result of."""

    name: str | None
    """The name of the tool that is called."""

    is_error: bool
    """Whether it says why a tool failed."""


class TurnDocument(Model):
    """What one speaker says at a stretch, as the model sees it."""

    role: str
    """Who speaks: user, assistant, or system for a note of the operator's."""

    text: str
    """What is said in words."""

    blocks: list[BlockDocument]
    """All that is said, in its order."""

    stop_reason: str | None
    """Why the last answer in it ended, in the provider's word."""

    input_tokens: int | None
    """The tokens that its answers read; null where nobody told."""

    output_tokens: int | None
    """The tokens that its answers wrote; null where nobody told."""


class History(Model):
    """What was said, as the model sees it."""

    version: int
    """The version that it is told at."""

    turns: list[TurnDocument]
    """The turns, in order."""


async def position(call: Call[Empty, Empty]) -> Response:
    """Return where a conversation stands."""
    conversation, head = await begun(call)
    conversation_id = str(await conversation.conversation_id)
    standing = Position(
        key=call.path["key"],
        conversation_id=conversation_id,
        version=head.version,
        exchange=head.exchange,
        open_calls=list(head.open_calls),
        closed=head.closed,
        input_tokens=head.input_tokens,
        output_tokens=head.output_tokens,
    )
    return tagged(call.request, standing)


async def events(call: Call[EventRange, Empty]) -> Response:
    """Return a page of events."""
    asked = call.query
    conversation, head = await begun(call)
    last = head.version if asked.until is None else min(asked.until, head.version)
    end = min(last, asked.after + asked.limit)
    found = await conversation.events(after=asked.after, until=end) if end > asked.after else []
    page = EventPage(events=await documents_of(call, found), next=end if end < last else None)
    return answered(page)


async def event(call: Call[Empty, Empty]) -> Response:
    """Return one event; it never changes, but what is erased goes."""
    version: int = call.path["version"]
    conversation, _ = await begun(call)
    found = await conversation.events(after=version - 1, until=version)
    if not found:
        raise Problem(NOT_FOUND, "the conversation has no such version yet")
    (document,) = await documents_of(call, found)
    return tagged(call.request, document)


async def history(call: Call[Since, Empty]) -> Response:
    """Return what was said, as the model sees it."""
    conversation, head = await begun(call)
    at = min(call.query.at or head.version, head.version)
    turns = await conversation.history(at=at, since=call.query.since)
    told = History(version=at, turns=[_turn(turn) for turn in turns])
    return tagged(call.request, told)


def conversation_of(call: Call[Any, Any]) -> AsyncConversation:
    """Return the conversation that a path names, in which whoever asks acts."""
    return call.store.conversation(call.path["key"], **call.names)


async def begun(call: Call[Any, Any]) -> tuple[AsyncConversation, Head]:
    """Return the conversation that a path names, and where it stands; Problem if it has not begun."""
    conversation = conversation_of(call)
    head = await conversation.head()
    if head.version == 0:
        raise Problem(NOT_FOUND, "no conversation has that key")
    return conversation, head


async def documents_of(call: Call[Any, Any], found: Sequence[RecordedEvent]) -> list[EventDocument]:
    """Return events as JSON says them."""
    return await call.steps.run(partial(event_documents, call.backend, call.tenant, found))


def _turn(turn: Turn) -> TurnDocument:
    usage = turn.usage
    return TurnDocument(
        role=turn.role,
        text=turn.text,
        blocks=[
            BlockDocument(
                version=block.version,
                conversation_id=None if block.conversation is None else str(block.conversation),
                mark=block.mark,
                content=block.plain,
                call_id=block.call_id,
                name=block.name,
                is_error=block.is_error,
            )
            for block in turn.blocks
        ],
        stop_reason=turn.stop_reason,
        input_tokens=None if usage is None else usage.input_tokens,
        output_tokens=None if usage is None else usage.output_tokens,
    )


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    reading(
        *(CONVERSATION, "position", "Where does a conversation stand?"),
        *(position, Position),
        statuses=(304,),
    ),
    reading(
        *(CONVERSATION + "/events", "events", "Read events in order."),
        *(events, EventPage),
        query=EventRange,
    ),
    reading(
        *(CONVERSATION + "/events/{version}", "event", "Read one event."),
        *(event, EventDocument),
        statuses=(304,),
    ),
    reading(
        *(CONVERSATION + "/history", "history", "What was said, as the model sees it?"),
        *(history, History),
        query=Since,
        statuses=(304,),
    ),
)
