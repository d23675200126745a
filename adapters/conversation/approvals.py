"""Calls that wait for a person: which they are, and what was decided about them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from onrecord.adapters.conversation.open_calls import (
    OpenCall,
    appended_once,
    open_calls,
    recorded_once,
)
from onrecord.adapters.inputs.arguments import call_given, of_kind, text_if_given, version_given
from onrecord.adapters.streams.results import ResultDone
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.content import Text, ToolCall
from onrecord.domain.conversation import give_result
from onrecord.domain.errors import (
    AlreadyDecided,
    ApprovalNotAsked,
    InvalidInput,
    VersionConflict,
)
from onrecord.domain.events import Event, ToolResultRecorded
from onrecord.domain.head import Head
from onrecord.domain.header import time_of
from onrecord.domain.log import NewEvent, RecordedEvent
from onrecord.domain.new_events import Attribution
from onrecord.domain.tools import ApprovalDecided

if TYPE_CHECKING:
    from onrecord.adapters.storage.eventsourcing.approvals import Approvals

_PAUSES: Final = (0.0, 0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""In seconds, before a denial is tried again where other writers were quicker."""
_QUESTION: Final = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")


class ApprovalQuestion(NamedTuple):
    """Which question about calls of one id; as a text it is `3:0`.

    `call` is the version of the event of the call, 0 where the call is of another conversation. `number` counts
    the questions about that call from 0.
    """

    call: int
    number: int

    def __str__(self) -> str:
        """Return it as a text, which `parse` reads."""
        return f"{self.call}:{self.number}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the question that a text names, such as `3:0`; InvalidInput for any other text."""
        numbers = _QUESTION.fullmatch(text)
        if numbers is None:
            raise InvalidInput("a question is named as `approvals` lists it, such as 3:0")
        return cls(int(numbers[1]), int(numbers[2]))


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


def request_approval(stream: Stream, open_call: OpenCall, *, unsure: bool) -> None:
    """Ask a person about a call; nothing changes where another runner asked the same first."""
    recorder = partial(recorded_once, stream, by=stream.attribution())
    approvals = _approvals(stream, open_call.version, recorder)
    approvals.request(
        open_call.call.id, open_call.version, open_call.state.approvals, unsure=unsure
    )


def approve(
    stream: Stream,
    call_id: str,
    reason: str | None,
    actor: str | None,
    question: ApprovalQuestion | None = None,
) -> None:
    """Record that a person lets a call be made: the last call of the id, or the one that `question` names.

    AlreadyDecided where that was decided, ApprovalNotAsked where nobody was asked, InvalidInput where it is
    not said who decides.
    """
    why = text_if_given("a reason", reason)
    by = _decider(stream, actor)
    current = _question_to_decide(stream, call_given(call_id), _question_if_given(question))
    recorder = partial(recorded_once, stream, by=by)
    # One question is decided once: what is asked meanwhile is another one.
    _approvals(stream, current.call, recorder).decide(
        (call_id, current.call, current.number), "granted", why, by.actor
    )


def deny(
    stream: Stream,
    call_id: str,
    reason: str,
    actor: str | None,
    question: ApprovalQuestion | None = None,
) -> ResultDone:
    """Record that a person does not let a call be made, and the result that says so, or neither.

    Return where the result stands. Errors are those of `approve`, and InvalidInput without a reason.
    """
    why = text_if_given("a reason", reason)
    if why is None or not why.strip():
        raise InvalidInput("say why: the model reads the reason")
    by = _decider(stream, actor)
    current = _question_if_given(question)
    while True:
        head = stream.head()  # Before the look: what comes after it is a conflict.
        current = _question_to_decide(stream, call_given(call_id), current)
        denial = _Denial(stream, by, why, head)
        approvals = _approvals(stream, current.call, denial.record)
        try:
            approvals.decide((call_id, current.call, current.number), "denied", why, by.actor)
        except VersionConflict:
            continue  # Something became of the call: look what is asked about it now.
        return denial.result_done()


def denial_text(reason: str | None) -> str:
    """Return what a model is told of a call that was denied, with the reason where one was recorded."""
    denial = "Error: A person denied this call"
    # `deny` asks for a reason; a decision that was appended by itself may have none.
    return f"{denial}: {reason}" if reason is not None and reason.strip() else denial


def recorded_decision_on(
    events: Iterable[RecordedEvent], call_id: str, question: ApprovalQuestion
) -> tuple[RecordedEvent, ApprovalDecided] | None:
    """Return the event among some that decides a question about a call, and what it says; None without one."""
    for recorded in events:
        happened = recorded.event() if recorded.type == "approval.decided" else None
        if not isinstance(happened, ApprovalDecided) or happened.line is not None:
            continue
        if (happened.call_id, happened.call, happened.number) == (call_id, *question):
            return recorded, happened
    return None


@dataclass(slots=True)
class _Denial:
    """Records a decision with the result of its call in one append, as long as nothing became of the call.

    The log compares versions of the whole conversation. Where others say something else meanwhile, it is
    appended again, at the version at which nothing became of the call. Of writers who never rest one is always
    quicker: so the last try expects no version. It comes right behind a look at the head.
    """

    stream: Stream
    by: Attribution
    reason: str
    head: Head
    done: Done | None = None

    def record(self, decided: Event) -> bool:
        """Record both; VersionConflict where something became of the call since the head."""
        if not isinstance(decided, ApprovalDecided):
            raise TypeError("a denial is a decision")
        result = self._result(decided.call_id)
        # Only where the id has a result already does a result say which call it is of.
        for call in (None, decided.call or None):
            drafts = self._draft(decided), self._draft(result.model_copy(update={"call": call}))
            self.done = self._append(drafts, decided.call_id)
            if self.done is not None:
                return True
        current = self.stream.head().version
        if current != self.head.version:
            raise VersionConflict(self.head.version, current)
        return False

    def _append(self, drafts: tuple[NewEvent, ...], call_id: str) -> Done | None:
        for pause in _PAUSES:
            try:
                return appended_once(self.stream, *drafts, expected_version=self.head.version)
            except VersionConflict:
                time.sleep(pause)
                self._look_again(call_id)
        return appended_once(self.stream, *drafts)

    def _look_again(self, call_id: str) -> None:
        current = self.stream.head()
        if _step_of(current, call_id) != _step_of(self.head, call_id):
            raise VersionConflict(self.head.version, current.version)
        self.head = current

    def result_done(self) -> Done:
        """Return where the result stands: it is the last one of the append."""
        if self.done is None:
            raise AssertionError("it was recorded, or an error was raised")
        return replace(self.done, first=self.done.last)

    def _result(self, call_id: str) -> ToolResultRecorded:
        content = (Text(text=denial_text(self.reason)),)
        (result,) = give_result(self.stream.known_head(), call_id, content, is_error=True)
        return result

    def _draft(self, event: Event) -> NewEvent:
        return self.stream.draft(event, by=self.by)


def _step_of(head: Head, call_id: str) -> tuple[object, ...]:
    """Return what differs where a call of an id got a result, was given up, or is another one.

    A call of a conversation that this one was forked from is in no head: of that the log takes one result.
    """
    return head.open_calls.get(call_id), head.request, head.adopted


def _decider(stream: Stream, actor: str | None) -> Attribution:
    return stream.names.attribution(actor=actor).or_else(stream.attribution())


def _question_if_given(question: object) -> ApprovalQuestion | None:
    if question is None:
        return None
    call, number = of_kind(ApprovalQuestion, "a question about a call", question)
    return ApprovalQuestion(version_given(call), version_given(number))


def _question_to_decide(
    stream: Stream, call_id: str, question: ApprovalQuestion | None
) -> ApprovalQuestion:
    """Return the last question about the open call of an id, decided or not. A named one has to be that one.

    For any other named question, AlreadyDecided where it was decided, else ApprovalNotAsked.
    ApprovalNotAsked, too, where none is named and nobody was asked about an open call of the id.
    """
    calls = (each for each in open_calls(stream) if each.call.id == call_id)
    last = next((_last_question(each) for each in calls if each.state.approvals), None)
    if last is not None and question in (None, last):
        return last
    if question is None:
        raise ApprovalNotAsked
    recorded_decision = recorded_decision_on(stream.read(after=question.call), call_id, question)
    if recorded_decision is not None:
        _, decision = recorded_decision
        raise AlreadyDecided(decision.decision)
    now = "" if last is None else f": the call of that id which waits has question {last}"
    raise ApprovalNotAsked(f"question {question}{now}")


def _last_question(open_call: OpenCall) -> ApprovalQuestion:
    """Return the last question about a call that somebody was asked about."""
    return ApprovalQuestion(open_call.version, open_call.state.approvals - 1)


def _approvals(stream: Stream, call: int, record: Callable[[Event], bool]) -> Approvals:
    """Return what was asked about a call, and decided: all of it is recorded after the call."""
    # The library is loaded when somebody is asked, not before.
    from onrecord.adapters.storage.eventsourcing.approvals import Approvals, ApprovalsRecorder

    recorder = ApprovalsRecorder(stream.conversation_id, partial(stream.read, after=call), record)
    return Approvals(recorder, stream.conversation_id)
