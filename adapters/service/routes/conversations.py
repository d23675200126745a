"""Routes of one conversation: say something in it, ask where it stands, read its events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.conversation import AsyncConversation
from onrecord.adapters.service.events import EventDocument, event_documents
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.problems import NOT_FOUND, Problem
from onrecord.adapters.service.route import (
    Call,
    Empty,
    Model,
    Route,
    answered,
    etag,
    is_known,
    not_modified,
)
from onrecord.domain.head import Head
from onrecord.domain.log import Recorded, RecordedEvent

PAGE: Final = 100
LARGEST_PAGE: Final = 1_000


class Position(Model):
    """Where a conversation stands; `open_calls` are the ids of calls that await results."""

    key: str
    version: int
    exchange: int
    open_calls: list[str]
    closed: bool
    input_tokens: int
    output_tokens: int


class Prompt(Model):
    """What a user says; the same `message_id` again changes nothing."""

    text: str
    message_id: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    expected_version: Annotated[int, Field(ge=0)] | None = None


class RecordedAt(Model):
    """At which versions it stands; `is_new` is false where it had been recorded before."""

    first: int
    last: int
    is_new: bool


class EventRange(Model):
    """Which events: those with after < version <= until, at most `limit`."""

    after: Annotated[int, Field(ge=0, description="The version that they come after.")] = 0
    until: Annotated[Version | None, Field(description="The last version, if not all.")] = None
    limit: Annotated[int, Field(ge=1, le=LARGEST_PAGE, description="The most of a page.")] = PAGE


class EventPage(Model):
    """Events in order; `next` is the `after` of the next page, null where none follow now."""

    events: list[EventDocument]
    next: int | None


async def position(call: Call[Empty, Empty]) -> Response:
    """Return where a conversation stands."""
    key: str = call.path["key"]
    conversation, head = await begun(call)
    tag = etag(await conversation.conversation_id, head.version)
    if is_known(call.request, tag):
        return not_modified(tag)
    standing = Position(
        key=key,
        version=head.version,
        exchange=head.exchange,
        open_calls=list(head.open_calls),
        closed=head.closed,
        input_tokens=head.input_tokens,
        output_tokens=head.output_tokens,
    )
    return answered(standing, headers={"etag": tag})


async def prompt(call: Call[Empty, Prompt]) -> Response:
    """Record what a user says; the conversation begins with it if it is new."""
    said = call.body
    done = await conversation_of(call).user(
        said.text, message_id=said.message_id, expected_version=said.expected_version
    )
    return answered(
        RecordedAt(first=done.first, last=done.last, is_new=isinstance(done, Recorded)), 201
    )


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
    tag = etag(found[0].event_id, found[0].body is not None)
    if is_known(call.request, tag):
        return not_modified(tag)
    (document,) = await documents_of(call, found)
    return answered(document, headers={"etag": tag, "cache-control": "private, no-cache"})


def conversation_of(call: Call[Any, Any]) -> AsyncConversation:
    """Return the conversation that a path names, in which whoever asks acts."""
    return call.store.conversation(
        call.path["key"], actor=call.actor, on_behalf_of=call.on_behalf_of
    )


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


_CONVERSATION: Final = "/v1/conversations/{key}"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        *("GET", _CONVERSATION, "position", "Where does a conversation stand?"),
        role="read",
        query=Empty,
        body=Empty,
        answers=position,
        answer=Position,
        statuses=(304,),
    ),
    Route(
        *("POST", f"{_CONVERSATION}/prompts", "prompt", "Record what a user says."),
        role="write",
        query=Empty,
        body=Prompt,
        answers=prompt,
        answer=RecordedAt,
        status=201,
        statuses=(409, 410, 507),
    ),
    Route(
        *("GET", f"{_CONVERSATION}/events", "events", "Read events in order."),
        role="read",
        query=EventRange,
        body=Empty,
        answers=events,
        answer=EventPage,
    ),
    Route(
        *("GET", f"{_CONVERSATION}/events/{{version}}", "event", "Read one event."),
        role="read",
        query=Empty,
        body=Empty,
        answers=event,
        answer=EventDocument,
        statuses=(304,),
    ),
)
