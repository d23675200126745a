"""Calls that wait for a person: which they are, and what was decided about them."""

from __future__ import annotations

import re
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
from onrecord.domain.header import time_of
from onrecord.domain.log import NewEvent, RecordedEvent
from onrecord.domain.new_events import Attribution
from onrecord.domain.tools import ApprovalDecided

if TYPE_CHECKING:
    from onrecord.adapters.storage.eventsourcing.approvals import Approvals

_QUESTION: Final = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")
_TRIES: Final = 8
"""How often a denial is tried where other writers are quicker."""


class ApprovalQuestion(NamedTuple):
    """Which question about calls of one id: the version of the call's event, and the questions before it.

    The version is 0 where the call is of another conversation. As a text it is `3:0`.
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


def request_approval(stream: Stream, asked: OpenCall, *, unsure: bool) -> None:
    """Ask a person about a call; nothing changes where another runner asked the same first."""
    recorder = partial(recorded_once, stream, by=stream.attribution())
    approvals = _approvals(stream, asked.version, recorder)
    approvals.request(asked.call.id, asked.version, asked.state.approvals, unsure=unsure)


def grant(
    stream: Stream,
    call_id: str,
    reason: str | None,
    actor: str | None,
    question: ApprovalQuestion | None = None,
) -> None:
    """Record that a person lets a call be made; errors as `_question_asked`.

    InvalidInput where it is not said who decides.
    """
    why = text_if_given("a reason", reason)
    by = _decider(stream, actor)
    asked = _question_asked(stream, call_given(call_id), _question_if_given(question))
    recorder = partial(recorded_once, stream, by=by)
    # One question is decided once: what is asked meanwhile is another one.
    _approvals(stream, asked.call, recorder).decide(
        (call_id, asked.call, asked.number), "granted", why, by.actor
    )


def deny(
    stream: Stream,
    call_id: str,
    reason: str,
    actor: str | None,
    question: ApprovalQuestion | None = None,
) -> ResultDone:
    """Record that a person does not let a call be made, and the result that says so, or neither.

    Return where the result stands; errors as `grant`.
    """
    why = text_if_given("a reason", reason)
    if why is None or not why.strip():
        raise InvalidInput("say why: the model reads the reason")
    by = _decider(stream, actor)
    asked = _question_if_given(question)
    for tries_left in reversed(range(_TRIES)):
        version = stream.head().version  # Before the look: what comes after it is a conflict.
        asked = _question_asked(stream, call_given(call_id), asked)
        denial = _Denial(stream, by, why, version)
        approvals = _approvals(stream, asked.call, denial.record)
        try:
            approvals.decide((call_id, asked.call, asked.number), "denied", why, by.actor)
        except VersionConflict:
            if not tries_left:
                raise
        else:
            return denial.result_done()
    raise AssertionError("the last try returns or raises")


def denial_text(reason: str | None) -> str:
    """Return what a model is told of a call that was denied, with the reason where one was recorded."""
    denial = "Error: A person denied this call"
    # `deny` asks for a reason; a decision that was appended by itself may have none.
    return f"{denial}: {reason}" if reason is not None and reason.strip() else denial


def decision_on(
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
    """Records a decision with the result of its call in one append, as long as nothing else came."""

    stream: Stream
    by: Attribution
    reason: str
    version: int
    done: Done | None = None

    def record(self, decided: Event) -> bool:
        """Record both; VersionConflict where anything was recorded since the version."""
        if not isinstance(decided, ApprovalDecided):
            raise TypeError("a denial is a decision")
        result = self._result(decided.call_id)
        # Only where the id has a result already does a result say which call it is of.
        for call in (None, decided.call or None):
            drafts = self._draft(decided), self._draft(result.model_copy(update={"call": call}))
            self.done = appended_once(self.stream, *drafts, expected_version=self.version)
            if self.done is not None:
                return True
        current = self.stream.head().version
        if current != self.version:
            raise VersionConflict(self.version, current)
        return False

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


def _decider(stream: Stream, actor: str | None) -> Attribution:
    return stream.names.attribution(actor=actor).or_else(stream.attribution())


def _question_if_given(question: object) -> ApprovalQuestion | None:
    if question is None:
        return None
    call, number = of_kind(ApprovalQuestion, "a question about a call", question)
    return ApprovalQuestion(version_given(call), version_given(number))


def _question_asked(
    stream: Stream, call_id: str, question: ApprovalQuestion | None
) -> ApprovalQuestion:
    """Return the question about a call that somebody is asked, or was last; only the one that is given.

    AlreadyDecided where the one that is given was decided and is not the last any more, else
    ApprovalNotAsked where it is not, or none is.
    """
    opened = next((each for each in open_calls(stream) if each.call.id == call_id), None)
    last = None if opened is None or not opened.state.approvals else _last_question(opened)
    if last is not None and question in (None, last):
        return last
    if question is None:
        raise ApprovalNotAsked
    decision = decision_on(stream.read(after=question.call), call_id, question)
    if decision is not None:
        _, decided = decision
        raise AlreadyDecided(decided.decision)
    now = "" if last is None else f": the call of that id which waits has question {last}"
    raise ApprovalNotAsked(f"question {question}{now}")


def _last_question(asked: OpenCall) -> ApprovalQuestion:
    return ApprovalQuestion(asked.version, asked.state.approvals - 1)


def _approvals(stream: Stream, call: int, record: Callable[[Event], bool]) -> Approvals:
    """Return what was asked about a call, and decided: all of it is recorded after the call."""
    # The library is loaded when somebody is asked, not before.
    from onrecord.adapters.storage.eventsourcing.approvals import Approvals, ApprovalsRecorder

    recorder = ApprovalsRecorder(stream.conversation_id, partial(stream.read, after=call), record)
    return Approvals(recorder, stream.conversation_id)
