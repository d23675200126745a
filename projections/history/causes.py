"""Why something was said or done: the request that it came from, and what was new to that request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import Event
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.timeline import Timeline

CauseKind: TypeAlias = Literal["prompt", "result", "signal"]
"""What a request may answer: a user's prompt, a tool's result, or a signal."""

ExplainedKind: TypeAlias = Literal["call", "result", "answer", "request", "other"]
"""What is explained: a call, a result, another part of an answer, a request, or anything else."""

_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something: the keyed digest of a name, in hex, and the name until it is forgotten."""

    digest: str
    name: str | None = None

    def __str__(self) -> str:
        """Return the name, else the first digits of the digest."""
        return self.name or self.digest[:_DIGITS]


@dataclass(frozen=True, slots=True)
class AttributedEvent:
    """An event, who did it, for whom, and what it says, as a line of text.

    `actor` and `on_behalf_of` are None where the event does not say.
    """

    event: RecordedEvent
    actor: Actor | None
    on_behalf_of: Actor | None
    text: str

    @property
    def version(self) -> int:
        """The version of the event in its conversation, which may be one that this was forked from."""
        return self.event.version

    @property
    def who(self) -> str:
        """Who did it and for whom, as text; "nobody named" where the event does not say."""
        actor = "nobody named" if self.actor is None else str(self.actor)
        return actor if self.on_behalf_of is None else f"{actor} for {self.on_behalf_of}"


@dataclass(frozen=True, slots=True)
class Cause(AttributedEvent):
    """A prompt, a result or a signal that was new to a request."""

    kind: CauseKind


@dataclass(frozen=True, slots=True)
class ExplainedRequest(AttributedEvent):
    """A request, and what was new to it: what the request before it on that branch did not have.

    `is_exact` says whether the record knows that, `note` why it does not; else `note` is empty.
    """

    causes: tuple[Cause, ...]
    is_exact: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Explanation(AttributedEvent):
    """Why something was said or done; as text it is a line for each event.

    `call` is the call of a result. `requests` is the request that it came from; where it was asked
    for to the start, those that this goes on from follow, the latest first. `note` says why there
    is no request; else it is empty.
    """

    kind: ExplainedKind
    call: AttributedEvent | None = None
    requests: tuple[ExplainedRequest, ...] = ()
    note: str = ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """All prompts, results and signals that led to it, as far as was asked, the latest first."""
        return tuple(cause for request in self.requests for cause in reversed(request.causes))

    @property
    def is_exact(self) -> bool:
        """Whether the record knows the request that it came from, and what was new to each."""
        return bool(self.requests) and all(request.is_exact for request in self.requests)

    def lines(self) -> Iterator[tuple[str, AttributedEvent]]:
        """Yield what is listed: what each event is in a word, and the event."""
        yield ("event" if self.kind == "other" else self.kind), self
        if self.call is not None:
            yield "call", self.call
        for request in self.requests:
            if request.event.event_id != self.event.event_id:
                yield "request", request
            yield from ((cause.kind, cause) for cause in request.causes)

    def notes(self) -> Iterator[str]:
        """Yield what is to be said of how far the record knows."""
        if self.note:
            yield self.note
        for request in self.requests:
            if request.note:
                yield f"version {request.version}: {request.note}"

    def __str__(self) -> str:
        """Return a line for each event, and for what the record does not know."""
        listed = (
            f"{what} {attributed.version} by {attributed.who}: {attributed.text}"
            for what, attributed in self.lines()
        )
        return "\n".join((*listed, *(f"({note})" for note in self.notes())))


# What events are, and which request they come from.


def text_of(event: RecordedEvent) -> str:
    """Return what an event says, on one line."""
    return " ".join(" ".join(row.text.split()) for row in Timeline(side_lines=True).rows(event))


def kind_of(event: Event | Unrecognised | Erased) -> ExplainedKind:
    """Return what an event is that is to be explained."""
    match event:
        case events.ToolCallRecorded() | events.ServerToolCallRecorded():
            return "call"
        case events.ToolResultRecorded() | events.ToolResultRejected():
            return "result"
        case events.RequestSent():
            return "request"
        case events.AttemptFailed() | events.ResponseCompleted() | events.ResponseInterrupted():
            return "answer"
        case _:
            return "answer" if getattr(event, "response", None) is not None else "other"


def request_id_of(recorded: RecordedEvent, event: Event | Unrecognised | Erased) -> UUID | None:
    """Return the id of the request that an event came from, as far as it says so."""
    match event:
        case events.RequestSent():
            return recorded.event_id
        case events.AttemptFailed():
            return event.request
        case events.ResponseCompleted(request=UUID() as request):
            return request
        case events.ResponseInterrupted(request=UUID() as request):
            return request
        case _:
            return recorded.client_header().causation_id


def cause_kind_of(event: Event | Unrecognised | Erased) -> CauseKind | None:
    """Return what an event is that a request may answer; None for any other."""
    match event:
        case events.MessageRecorded(role="user", response=None):
            return "prompt"
        case events.ToolResultRecorded():
            return "result"
        case events.SignalReceived():
            return "signal"
        case _:
            return None


def last_seen(version: int, request: events.RequestSent) -> int:
    """Return the last version that a request can have something of, where it has that version."""
    if request.recipe is not None and request.line is None:
        return min(request.recipe.version, version - 1)
    return version - 1 if request.seen is None else min(request.seen, version - 1)


def doubt_of(request: events.RequestSent) -> str:
    """Return why what was new to a request is not known exactly; empty where it is.

    One that was rendered here is made of events. One that goes on from all that is recorded says
    that, and what was not there was recorded with it. One that shares a part of it may lack some of
    the rest, or say it otherwise.
    """
    if request.recipe is None and request.relation in ("view", "branches"):
        return (
            "the program has a list of its own that is not what was recorded: what is listed is what "
            "was new on the branch, and the request may say less, or something else"
        )
    return ""


Naming: TypeAlias = Callable[[str], str | None]
"""Returns the name that a digest is of, while it is kept."""


def actors_of(recorded: RecordedEvent, name_of: Naming) -> tuple[Actor | None, Actor | None]:
    """Return who did what an event records, and for whom, as far as its header says."""
    header = recorded.client_header()
    actor, served = (
        None if digest is None else Actor(digest, name_of(digest))
        for digest in (header.actor, header.on_behalf_of)
    )
    return actor, served


def attributed_event_of(recorded: RecordedEvent, name_of: Naming) -> AttributedEvent:
    """Return an event with who did it."""
    return AttributedEvent(recorded, *actors_of(recorded, name_of), text_of(recorded))


def cause_of(recorded: RecordedEvent, name_of: Naming) -> Cause | None:
    """Return an event as what a request may answer; None where it is nothing such."""
    kind = cause_kind_of(recorded.event())
    if kind is None:
        return None
    return Cause(recorded, *actors_of(recorded, name_of), text_of(recorded), kind)
