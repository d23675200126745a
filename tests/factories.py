"""Events made ready for a log, for tests: random ids and salts, any conversation."""

import secrets
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.domain import events
from onrecord.domain.content import Blob, Document, KeyedBlob, Native, Text, ToolCall, ToolResult
from onrecord.domain.events import Event
from onrecord.domain.head import Effect
from onrecord.domain.log import Append, NewEvent
from onrecord.domain.new_events import Stamp, draft

TENANT = UUID("018f0000-0000-7000-8000-000000000001")
OTHER_TENANT = UUID("018f0000-0000-7000-8000-000000000002")
BECAUSE = {"reason": "asked to", "actor": "ana"}
"""What `store.forget` has to be told."""
OCCURRED_AT = 1_795_000_000_000_000


def drafted(
    event: Event,
    conversation_id: UUID,
    *,
    tenant: UUID = TENANT,
    event_id: UUID | None = None,
    occurred_at: int = OCCURRED_AT,
    salt: bytes | None = None,
) -> NewEvent:
    """The event ready for the log, under a new id and a new salt unless they are given."""
    stamp = Stamp(
        event_id=event_id or uuid7(),
        occurred_at=occurred_at,
        salt=salt or secrets.token_bytes(16),
        tenant=tenant,
        conversation_id=conversation_id,
    )
    return draft(event, stamp)


def raw_event(
    *,
    event_id: UUID | None = None,
    body: bytes = b"{}",
    effect: Effect | None = None,
    once: str | None = None,
    blobs: tuple[Blob | KeyedBlob, ...] = (),
) -> NewEvent:
    """An event of a name that no release knows, with any effect: for the log's own rules."""
    return NewEvent(
        event_id=event_id or uuid7(),
        type="test.happened",
        schema_version=1,
        header=b'{"format":1}',
        salt=secrets.token_bytes(16),
        body=body,
        effect=effect or Effect(),
        once=once,
        blobs=blobs,
    )


def appending(
    conversation_id: UUID,
    *new_events: Event | NewEvent,
    tenant: UUID = TENANT,
    expected_version: int | None = None,
) -> Append:
    """A request to append events to a conversation; plain events are drafted first."""
    ready = tuple(
        event if isinstance(event, NewEvent) else drafted(event, conversation_id, tenant=tenant)
        for event in new_events
    )
    return Append(tenant, conversation_id, ready, expected_version)


def started(key: str = "support/4711") -> events.ConversationStarted:
    return events.ConversationStarted(key=key)


def prompt(text: str = "What does the report say?", *, message_id: str | None = None) -> Event:
    return events.MessageRecorded(role="user", content=(Text(text=text),), message_id=message_id)


def answer(text: str = "It says that all is well.") -> Event:
    return events.MessageRecorded(role="assistant", content=(Text(text=text),))


def native_answer(response: UUID, text: str, index: int = 0) -> Event:
    block = Native(api="anthropic-messages", value={"type": "text", "text": text})
    return events.MessageRecorded(
        role="assistant", content=(block,), response=response, index=index
    )


def tool_call(call_id: str, name: str = "look_up") -> Event:
    content = ToolCall(id=call_id, name=name, arguments={})
    return events.ToolCallRecorded(call_id=call_id, name=name, content=content)


def tool_result(call_id: str, text: str = "found") -> Event:
    content = ToolResult(call_id=call_id, content=(Text(text=text),))
    return events.ToolResultRecorded(call_id=call_id, content=content)


def attachment(blob: Blob) -> Event:
    document = Document(media_type="application/pdf", blob=blob)
    return events.DocumentExtracted(document=document)
