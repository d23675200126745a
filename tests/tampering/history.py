"""A history that has a bit of everything that a log can store, for several tenants."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from eventsourcing.persistence import InfrastructureFactory, StoredEvent, Tracking

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.domain import events
from onrecord.domain.content import Blob, Document, Text, ToolCall
from onrecord.domain.new_events import blobs_of
from onrecord.domain.request_template import EncodedSpan, Template
from tests.adapters.recorded_calls import known
from tests.factories import appending

SIDE = UUID(int=7)
APPLICATION = UUID("018f0000-0000-7000-8000-000000000001")
OTHER = UUID("018f0000-0000-7000-8000-000000000002")
MIB = 1024 * 1024


def record(store: onrecord.Store) -> None:
    """Conversations, documents, forks, changes of the history, and what was forgotten."""
    chat = store.conversation("support/4711")
    chat.instruct("Be brief.")
    chat.log.append(events.ToolsDeclared(tools=()))
    chat.user("Where is parcel NW-20931?", documents=[b"%PDF the waybill", b"%PDF" + bytes(MIB)])
    call = ToolCall(id="toolu_1", name="track", arguments={})
    chat.log.append(events.ToolCallRecorded(call_id="toolu_1", name="track", content=call))
    answered(chat, 1)
    chat.tool_result("toolu_1", "depot North")
    chat.log.append(events.MessageRecorded(role="user", content=(Text(text="aside"),), line=SIDE))
    chat.log.append(events.MessageRecorded(role="user", content=(Text(text="x"),), message_id="m1"))
    answered(chat, 2)
    (blob, _) = blobs_of(known(chat.events(after=3)[0]))
    chat.log.append(events.HistoryCompacted(summary="A parcel was asked for.", until=4))
    chat.log.append(events.LineAdopted(after=8))
    chat.log.append(events.ContentRedacted(version=4))
    fork = chat.fork("support/4711/again")
    template = Template(spans=(EncodedSpan(blob=blob),), sha256="", size=0)
    fork.log.append(events.RequestSent(api="x", endpoint="/", template=template))
    open_call = ToolCall(id="toolu_2", name="track", arguments={})
    fork.log.append(events.ToolCallRecorded(call_id="toolu_2", name="track", content=open_call))
    closed = store.conversation(
        "support/4712", actor="ana", on_behalf_of="bob", policy="2026-11", deployment="eu-1"
    )
    closed.user("Thank you.", documents=[b"%PDF another"])
    closed.log.append(events.ConversationEnded())
    for key in ("forgotten/1", "forgotten/2"):
        gone = store.conversation(key)
        gone.instruct("Be kind.")
        gone.user("Forget me.", documents=[b"%PDF a secret"])
        answered(gone, 3)
        store.forget(key, reason="asked for", actor="ana")
    beside(store)


def answered(chat: Any, number: int) -> None:
    chat.log.append(
        events.ResponseCompleted(
            response=UUID(int=number), api="x", envelope={}, input_tokens=number, output_tokens=5
        )
    )


def beside(store: onrecord.Store) -> None:
    """What no event refers to, a key that nobody used yet, and another tenant."""
    backend = backend_of(store)
    began = backend.find(store.tenant, "support/4712")
    assert began is not None
    backend.put_blob(store.tenant, began, [b"nobody refers to it"])
    unused = backend.open(store.tenant, "unused")
    backend.put_blob(store.tenant, unused, [b"nothing was said yet"])
    for number in (1, 2):
        conversation = backend.open(OTHER, f"other/{number}")
        blob = backend.put_blob(OTHER, conversation, [b"another tenant's", bytes([number])])
        started = events.ConversationStarted(key=f"other/{number}")
        backend.append([appending(conversation, started, prompt_with(blob), tenant=OTHER)])


def prompt_with(blob: Blob) -> events.Event:
    document = Document(media_type="application/pdf", blob=blob)
    return events.MessageRecorded(role="user", content=(document,))


def keep_aggregates(factory: InfrastructureFactory[Any]) -> None:
    """Two aggregates of an application of `eventsourcing`, a snapshot, and followers."""
    recorder = factory.application_recorder()
    for name in ("one", "two"):
        aggregate = uuid5(APPLICATION, name)
        recorder.insert_events(
            [StoredEvent(aggregate, version, "thing:Changed", b"{}") for version in range(3)]
        )
        snapshots = factory.aggregate_recorder(purpose="snapshots")
        snapshots.insert_events([StoredEvent(aggregate, 1, "thing:Snapshot", b"{}")])
    tracking = factory.tracking_recorder()
    for name, position in (("upstream", 2), ("other", 3)):
        tracking.insert_tracking(Tracking(name, position))
