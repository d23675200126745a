"""Calls that wait for a person: which they are, and what was decided about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from onrecord.adapters.conversation.open_calls import OpenCall, open_calls, recorded_once
from onrecord.adapters.conversation.tool_results import give_result
from onrecord.adapters.inputs.arguments import call_given, text_if_given
from onrecord.adapters.streams.results import ResultDone
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.content import ToolCall
from onrecord.domain.errors import ApprovalNotAsked, InvalidInput
from onrecord.domain.events import Event
from onrecord.domain.header import time_of
from onrecord.domain.new_events import Attribution

if TYPE_CHECKING:
    from onrecord.adapters.storage.eventsourcing.approvals import Approvals


class ApprovalQuestion(NamedTuple):
    """Which question about calls of one id: the version of the call's event, and the questions before it.

    The version is 0 where the call is of another conversation.
    """

    call: int
    number: int


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A call that waits until a person grants or denies it.

    `question` tells it from other calls of the same id. `unsure` says that it was begun by a process that
    did not finish it, so that nobody knows whether it was made. `requested_at` is in microseconds since
    1970-01-01 UTC.
    """

    call: ToolCall
    unsure: bool
    requested_at: int
    question: ApprovalQuestion

    @property
    def requested_time(self) -> datetime:
        """Return `requested_at` as a datetime, in UTC."""
        return time_of(self.requested_at)


def pending_approvals(stream: Stream) -> tuple[PendingApproval, ...]:
    """Return the calls that wait for a person, in the order in which they were made."""
    return tuple(
        PendingApproval(each.call, each.state.unsure, each.state.requested_at, _last_question(each))
        for each in open_calls(stream)
        if each.state.approval == "requested"
    )


def request_approval(stream: Stream, asked: OpenCall, *, unsure: bool) -> None:
    """Ask a person about a call; nothing changes where another runner asked the same first."""
    approvals = _approvals(stream, asked.version, stream.attribution())
    approvals.request(asked.call.id, asked.version, asked.state.approvals, unsure=unsure)


def grant(
    stream: Stream,
    call_id: str,
    reason: str | None,
    actor: str | None,
    question: ApprovalQuestion | None = None,
) -> None:
    """Record that a person lets a call be made; errors as `_decide`."""
    why = text_if_given("a reason", reason)
    _decide(stream, call_given(call_id), "granted", why, actor, question)


def deny(
    stream: Stream,
    call_id: str,
    reason: str,
    actor: str | None,
    question: ApprovalQuestion | None = None,
) -> ResultDone:
    """Record that a person does not let a call be made, and the result that says so."""
    why = text_if_given("a reason", reason)
    if why is None or not why.strip():
        raise InvalidInput("say why: the model reads the reason")
    _decide(stream, call_given(call_id), "denied", why, actor, question)
    # After a death in between the next runner records it.
    return give_result(stream, call_id, denial(why), is_error=True)


def denial(reason: str | None) -> str:
    """Return what a model is told of a call that was denied."""
    return f"Error: A person denied this call: {reason}"


def _decide(
    stream: Stream,
    call_id: str,
    decision: Literal["granted", "denied"],
    reason: str | None,
    actor: str | None,
    question: ApprovalQuestion | None,
) -> None:
    """Decide about a call, once; where a question is given, only that one is answered.

    AlreadyDecided where somebody else did, ApprovalNotAsked where nobody is asked about it, or another
    question by now. InvalidInput where it is not said who decides.
    """
    who = stream.names.attribution(actor=actor).or_else(stream.attribution())
    of_id = [each for each in open_calls(stream) if each.call.id == call_id]
    if not of_id or not of_id[0].state.approvals:
        raise ApprovalNotAsked
    last = _last_question(of_id[0])
    if question not in (None, last):
        raise ApprovalNotAsked
    # One question is decided once: what is asked meanwhile is another one.
    _approvals(stream, last.call, who).decide(
        (call_id, last.call, last.number), decision, reason, who.actor
    )


def _last_question(asked: OpenCall) -> ApprovalQuestion:
    return ApprovalQuestion(asked.version, asked.state.approvals - 1)


def _approvals(stream: Stream, call: int, by: Attribution) -> Approvals:
    """Return what was asked about a call, and decided: all of it is recorded after the call."""
    # The library is loaded when somebody is asked, not before.
    from onrecord.adapters.storage.eventsourcing.approvals import Approvals, ApprovalsRecorder

    def record(happened: Event) -> bool:
        return recorded_once(stream, happened, by)

    recorder = ApprovalsRecorder(stream.conversation_id, partial(stream.read, after=call), record)
    return Approvals(recorder, stream.conversation_id)
