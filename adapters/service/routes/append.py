"""The route of batches: many facts for many conversations, in one request."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.conversation import AsyncConversation
from onrecord.adapters.asynchronous.conversation import conversation_of as awaited_by
from onrecord.adapters.conversation.batches import (
    BatchEntry,
    Fact,
    Outcome,
    append_batch,
    new_instructions,
    outside_signal,
    program_message,
    tool_result,
    user_message,
)
from onrecord.adapters.conversation.program_answers import AssistantCall
from onrecord.adapters.service.document import ProblemDetails
from onrecord.adapters.service.message_parts import Parts, prompt_of
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import CallId, ExpectedVersion, Key, MessageId
from onrecord.adapters.service.problems import Problem, problem_of
from onrecord.adapters.service.route import Call, Route, answered
from onrecord.adapters.service.routes.messages import CallMade
from onrecord.adapters.service.tenants import MOVED, Written
from onrecord.adapters.storage.http.problem_types import INVALID, TYPES
from onrecord.domain.errors import OnrecordError
from onrecord.domain.log import Recorded

MOST_FACTS: Final = 10_000


class PromptFact(Model):
    """A user said something."""

    kind: Literal["prompt"]
    """What happened: a prompt."""

    text: str | None = None
    """What the user said, where it is a text alone."""

    parts: Parts | None = None
    """Texts and documents in their order, in place of `text`."""

    message_id: MessageId | None = None
    """An id of the caller's, which stands for this message for good."""


class AnswerFact(Model):
    """A program said something in place of the model."""

    kind: Literal["answer"]
    """What happened: an answer."""

    text: str | None = None
    """What was said."""

    calls: Annotated[list[CallMade], Field(max_length=1000)] = Field(default_factory=list[CallMade])
    """The calls that were made; they await their results."""

    message_id: MessageId | None = None
    """An id of the caller's, which stands for this answer for good."""


class SignalFact(Model):
    """Something came from outside, no user's and no tool's."""

    kind: Literal["signal"]
    """What happened: a signal."""

    content: Any = None
    """What it says: a text, or any JSON."""

    name: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """What it is called."""

    message_id: MessageId | None = None
    """An id of the caller's, which stands for this signal for good."""


class InstructionsFact(Model):
    """Other instructions are in force."""

    kind: Literal["instructions"]
    """What happened: the system prompt was set."""

    text: str
    """The instructions."""


class ResultFact(Model):
    """A tool gave something."""

    kind: Literal["tool_result"]
    """What happened: a call has its result."""

    call_id: CallId
    """The id of the call."""

    content: Any = None
    """A text, or any JSON; null is a result that says nothing."""

    is_error: bool = False
    """Whether the tool failed, and this says why."""


AnyFact: TypeAlias = Annotated[
    PromptFact | AnswerFact | SignalFact | InstructionsFact | ResultFact,
    Field(discriminator="kind"),
]


class Entry(Model):
    """What happened in one conversation: recorded together, or not at all."""

    key: Key
    """The key of the conversation; it begins with this if it is new."""

    facts: Annotated[list[AnyFact], Field(min_length=1, max_length=1000)]
    """What happened, in order."""

    id: MessageId | None = None
    """An id of the caller's: the same entry with the same id again changes nothing."""

    expected_version: ExpectedVersion | None = None
    """The version that the conversation must be at."""


class Batch(Model):
    """What happened in several conversations; in all at most 10,000 facts."""

    entries: Annotated[list[Entry], Field(min_length=1, max_length=2000)]
    """One entry for each conversation."""


class EntryOutcome(Model):
    """What became of an entry."""

    key: str
    """The key of the conversation."""

    outcome: Literal["recorded", "duplicate", "refused"]
    """`duplicate`: it was recorded before. `refused`: nothing of it is recorded, see `problem`."""

    first: int | None = None
    """The version of its first event; null where it is refused."""

    last: int | None = None
    """The version of its last event; null where it is refused."""

    problem: ProblemDetails | None = None
    """Why it is refused."""


class BatchOutcome(Model):
    """What became of each entry."""

    entries: list[EntryOutcome]
    """They are in the order in which they were given."""


async def append(call: Call[Empty, Batch]) -> Response:
    """Record what happened in several conversations; each entry has its own outcome."""
    entries = call.body.entries
    if sum(len(entry.facts) for entry in entries) > MOST_FACTS:
        raise Problem(INVALID, f"a batch has at most {MOST_FACTS:,} facts")
    written = call.tenants.written
    known = [written.take(*_name(call, entry)) for entry in entries]
    outcomes = await _recorded(call, entries, known)
    # What moved since it was remembered is looked at as it is now.
    moved = [
        number
        for number, (last, outcome) in enumerate(zip(known, outcomes, strict=True))
        if last is not None and isinstance(outcome, MOVED)
    ]
    again = await _recorded(call, [entries[number] for number in moved], [None] * len(moved))
    for number, outcome in zip(moved, again, strict=True):
        outcomes[number] = outcome
    told = [_outcome(entry.key, each) for entry, each in zip(entries, outcomes, strict=True)]
    return answered(BatchOutcome(entries=told))


def _name(call: Call[Empty, Batch], entry: Entry) -> tuple[object, ...]:
    return call.tenant, entry.key, *call.names.values()


async def _recorded(
    call: Call[Empty, Batch], entries: Sequence[Entry], known: Sequence[Written | None]
) -> list[Outcome]:
    """Record entries, at once in conversations that are known; return what became of each."""
    conversations = [
        call.store.conversation(entry.key, **call.names) if last is None else last.conversation
        for entry, last in zip(entries, known, strict=True)
    ]
    batch = [
        _entry(entry, conversation, last)
        for entry, conversation, last in zip(entries, conversations, known, strict=True)
    ]
    outcomes = await call.steps.run(partial(append_batch, call.backend, batch))
    for entry, conversation, outcome in zip(entries, conversations, outcomes, strict=True):
        if not isinstance(outcome, OnrecordError):
            call.tenants.written.keep(Written(conversation, outcome.last), *_name(call, entry))
    return outcomes


def _entry(entry: Entry, conversation: AsyncConversation, last: Written | None) -> BatchEntry:
    facts = [_fact(fact) for fact in entry.facts]
    expected = entry.expected_version
    if expected is None and last is not None:
        expected = last.version
    return BatchEntry(awaited_by(conversation), facts, entry.id, expected)


def _fact(fact: AnyFact) -> Fact:
    match fact:
        case PromptFact():
            return user_message(prompt_of(fact.text, fact.parts), fact.message_id)
        case AnswerFact():
            calls = [AssistantCall(each.name, each.arguments, each.id) for each in fact.calls]
            return program_message(fact.text, calls, fact.message_id)
        case SignalFact():
            return outside_signal(fact.content, fact.name, fact.message_id)
        case InstructionsFact():
            return new_instructions(fact.text)
        case ResultFact():
            return tool_result(fact.call_id, fact.content, is_error=fact.is_error)


def _outcome(key: str, outcome: Outcome) -> EntryOutcome:
    if isinstance(outcome, OnrecordError):
        return EntryOutcome(key=key, outcome="refused", problem=_details(problem_of(outcome)))
    word: Literal["recorded", "duplicate"] = (
        "recorded" if isinstance(outcome, Recorded) else "duplicate"
    )
    return EntryOutcome(key=key, outcome=word, first=outcome.first, last=outcome.last)


def _details(problem: Problem) -> ProblemDetails:
    kind = problem.type
    return ProblemDetails(
        type=TYPES + kind.name, title=kind.title, status=kind.status, detail=problem.detail
    )


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        *("POST", "/v1/append", "append", "Record many facts of many conversations at once."),
        role="write",
        query=Empty,
        body=Batch,
        answers=append,
        answer=BatchOutcome,
        statuses=(507,),
    ),
)
