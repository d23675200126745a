"""The decision about a call, as the page confirms it: read from the log, not from the address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final
from urllib.parse import urlencode

from pydantic import Field, PlainValidator

from onrecord.adapters.conversation.approvals import ApprovalQuestion, recorded_decision_on
from onrecord.adapters.conversation.tails import names_in_force
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.service.model import Model
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.lineage import Lineages, backwards
from onrecord.domain.actors import name_of
from onrecord.domain.events import ToolCallRecorded
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.projections.history.causes import actors_of

_MOST: Final = 500
"""How many of the last events are looked through for what was decided just now."""


class ConfirmationQuery(Model):
    """Which decision a page confirms: the one on a question about a call."""

    question: Annotated[ApprovalQuestion, PlainValidator(ApprovalQuestion.parse)] | None = None
    """The question, as `3:0`."""

    call: Annotated[str, Field(max_length=2000)] | None = None
    """The id of the call."""


@dataclass(frozen=True, slots=True)
class ShownDecision:
    """A decision about a call: by whom, as far as that is known, when, and why.

    `tool` is None where the call was erased. `version` is the one of the call's event, or of the decision where
    the call is of another conversation.
    """

    name: str
    call_id: str
    tool: str | None
    version: int
    is_granted: bool
    actor: str | None
    recorded_at: int
    reason: str | None


def confirmation_path(
    path: str, call_id: str, question: ApprovalQuestion, names: Mapping[str, str]
) -> str:
    """Return the path of a page that confirms a decision; `names` is what else the page has to know."""
    page, mark, part = path.partition("#")
    query = urlencode({"question": str(question), "call": call_id, **names})
    return f"{page}{'&' if '?' in page else '?'}{query}{mark}{part}"


def decision_to_confirm(
    store: Store, conversation: NamedConversation, query: ConfirmationQuery
) -> ShownDecision | None:
    """Return the decision that a query names; None where it names none, or none was recorded lately."""
    if query.question is None or query.call is None:
        return None
    lately = conversation.head.version - _MOST
    return shown_decision(store, conversation, query.call, query.question, after=lately)


def shown_decision(
    store: Store,
    conversation: NamedConversation,
    call_id: str,
    question: ApprovalQuestion,
    *,
    after: int = 0,
) -> ShownDecision | None:
    """Return the decision on a question about a call, after a version; None where there is none."""
    backend = backend_of(store)
    later = backend.read(conversation.conversation_id, after=max(after, question.call))
    recorded_decision = recorded_decision_on(later, call_id, question)
    if recorded_decision is None:
        return None
    recorded, decision = recorded_decision
    actor, _ = actors_of(recorded, partial(name_of, backend.actors(), store.tenant))
    return ShownDecision(
        name=str(conversation),
        call_id=call_id,
        tool=_tool(backend, conversation, call_id, question.call),
        version=question.call or recorded.version,
        is_granted=decision.decision == "granted",
        actor=None if actor is None else str(actor),
        recorded_at=recorded.recorded_at,
        reason=decision.reason,
    )


def _tool(
    backend: Backend, conversation: NamedConversation, call_id: str, version: int
) -> str | None:
    """Return the caller's own name of the tool that a call is of; the last one, where it is an origin's."""
    lineages = Lineages(backend, conversation.conversation_id)
    for recorded in _calls(backend, lineages, conversation, version):
        call = recorded.event()
        if isinstance(call, ToolCallRecorded) and call.call_id == call_id:
            names = names_in_force(backend, lineages.at(conversation.head.version))
            return names.get(call.name, call.name)
    return None


def _calls(
    backend: Backend, lineages: Lineages, conversation: NamedConversation, version: int
) -> Iterator[RecordedEvent]:
    if version:
        return backend.read(conversation.conversation_id, after=version - 1, until=version)
    whole = backwards(backend, lineages.whole(conversation.head.version))
    return (recorded for recorded in whole if recorded.type == "tool_call.recorded")
