"""Routes of requests: what an API accepts as history, what changed in it, and why something is there."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.presentation.request_documents import diff_document, explanation_document
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.route import Call, Route, reading, tagged
from onrecord.adapters.service.routes.conversation_paths import CONVERSATION
from onrecord.adapters.service.routes.conversations import At, begun
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.domain.errors import SecretMissing
from onrecord.projections.apis.request import Report, Request
from onrecord.projections.history.history import Note
from onrecord.projections.history.windows import MessageWindow, Window

Count = Annotated[int, Field(ge=0, le=1_000_000)]
AtLeastOne = Annotated[int, Field(ge=1, le=1_000_000)]


class WindowQuery(Model):
    """Which part of a conversation a request keeps: by default all of it."""

    exchanges: AtLeastOne | None = None
    """Keep the last exchanges, so many of them; an exchange is a prompt and all up to the next one."""

    step: AtLeastOne = 10
    """The edge of a window by exchanges moves so many at once, for caches of prompts to survive."""

    pinned: Count = 0
    """Keep so many exchanges of the beginning, too."""

    messages: AtLeastOne | None = None
    """Keep the last messages instead, so many of them."""

    strategy: Literal["message-window", "sliding-window"] = "message-window"
    """Which messages a window by messages keeps."""

    def window(self) -> Window | MessageWindow | None:
        """Return the window; Problem where it counts both exchanges and messages."""
        if self.exchanges is not None and self.messages is not None:
            raise Problem(INVALID, "a window counts exchanges or messages, not both")
        if self.exchanges is not None:
            return Window(exchanges=self.exchanges, step=self.step, pinned=self.pinned)
        if self.messages is not None:
            return MessageWindow(messages=self.messages, strategy=self.strategy)
        return None


class RequestQuery(WindowQuery, At):
    """How a request is made."""

    thinking: Literal["keep", "drop"] = "keep"
    """`drop` leaves out signed reasoning."""

    cache: bool = False
    """Whether cache marks are placed."""

    model: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """The model that it is for; without one, the model that answered last."""

    missing: Literal["cancel", "refuse", "drop"] = "cancel"
    """What becomes of calls without a result: a cancelled one stands in, there is no request, or
    they are left out."""

    tags: Literal["short-id", "doc-reference"] = "short-id"
    """How a document that travels apart from its result is marked."""


class ReportNote(Model):
    """What was done to an event on its way into the request."""

    deed: Literal["repaired", "left out", "moved", "translated", "noted"]
    """What was done; `noted`: nothing, but beware."""

    rule: str
    """The rule by which it was done: docs/rendering.md lists them."""

    version: int | None
    """The version of the event; null where it is about the whole."""

    why: str
    """Why, in words."""


class DocumentRoute(Model):
    """Where a document goes in the request."""

    version: int
    """The version of the event that has it."""

    media_type: str
    """Its media type."""

    modality: str
    """How it reaches a model: as text, image, document, audio or video."""

    holder: Literal["message", "result"]
    """What it stands in: a message of the user's, or a tool's result."""

    where: Literal["inline", "behind", "words"]
    """Where it goes: where it stands, in the message behind its result, or as words only."""

    why: str
    """Why, in words."""

    row: str
    """The entry of the capabilities of models that decided."""


class RequestDocument(Model):
    """What an API accepts as the history of a conversation, and what was done to make it."""

    api: str
    """The name of the API."""

    request: dict[str, Any]
    """The members of the request's body, as that API has them."""

    report: list[ReportNote]
    """What was repaired, left out, moved or translated; empty where all goes as it was recorded."""

    documents: list[DocumentRoute]
    """Where each document goes."""

    secrets: list[str]
    """The places (JSON pointers) of secrets that the record never had: the sender puts them there."""


class DiffQuery(WindowQuery):
    """Which two requests are compared."""

    a: Version
    """The version of the first request."""

    b: Version
    """The version of the second request."""


class ChangedEvent(Model):
    """An event that is in one of two requests alone, or in each otherwise."""

    change: Literal["added", "removed", "changed"]
    """What changed."""

    conversation: str
    """The id of the conversation that has the event: of a fork it may be its origin."""

    version: int
    """The version of the event."""

    type: str
    """What happened, such as `message.recorded`."""

    reason: str | None
    """Why the other request is without it; null where both have it."""

    before: list[ReportNote]
    """What the report of the first request says of it."""

    after: list[ReportNote]
    """What the report of the second request says of it."""


class ChangedInstructions(Model):
    """The instructions of two requests."""

    before: str
    """Those of the first one; empty where it has none."""

    after: str
    """Those of the second one; empty where it has none."""


class ChangedTools(Model):
    """The names of the tools that differ between two requests."""

    added: list[str]
    """Those that only the second one has."""

    removed: list[str]
    """Those that only the first one has."""

    changed: list[str]
    """Those that both have, each otherwise."""


class Diff(Model):
    """What changed from one request to another, by events."""

    api: str
    """The name of the API."""

    a: int
    """The version of the first request."""

    b: int
    """The version of the second request."""

    events: list[ChangedEvent]
    """The events that came in, went or changed their form, in order."""

    instructions: ChangedInstructions | None
    """The instructions of both, where they differ."""

    tools: ChangedTools | None
    """The tools that differ, where any do."""


class WhyQuery(Model):
    """How far back it is explained."""

    to_start: bool = False
    """Whether to go back to the first request."""


class AttributedEvent(Model):
    """An event, and who did it."""

    conversation: str
    """The id of the conversation that has the event."""

    version: int
    """The version of the event."""

    type: str
    """What happened, such as `message.recorded`."""

    actor: str | None
    """The keyed digest of who did it."""

    actor_name: str | None
    """The name of who did it; null once it is forgotten."""

    on_behalf_of: str | None
    """The keyed digest of whom it was done for."""

    on_behalf_of_name: str | None
    """The name of whom it was done for; null once it is forgotten."""

    text: str
    """What it says, as a line of text."""


class CauseDocument(AttributedEvent):
    """A prompt, a result or a signal that was new to a request."""

    kind: Literal["prompt", "result", "signal"]
    """What it is."""


class ExplainedRequest(AttributedEvent):
    """A request, and what was new to it."""

    api: str | None
    """The name of the API that it was sent to."""

    model: str | None
    """The model that it was sent to."""

    exact: bool
    """Whether the record knows what was new to it."""

    note: str | None
    """Why it does not know."""

    causes: list[CauseDocument]
    """What was new to it."""


class ExplanationDocument(AttributedEvent):
    """Why something was said or done: the request that it came from, and what was new to that."""

    kind: Literal["call", "result", "answer", "request", "other"]
    """What is explained."""

    call: AttributedEvent | None
    """The call of a result."""

    requests: list[ExplainedRequest]
    """The request that it came from, and those before it where they were asked for."""

    exact: bool
    """Whether the record knows all of it."""

    note: str | None
    """Why there is no request."""


async def request(call: Call[RequestQuery, Empty]) -> Response:
    """Return what an API accepts as a conversation's history, with its report."""
    conversation, _ = await begun(call)
    asked = call.query
    secrets: dict[str, object] = {}
    while True:
        try:
            made = await conversation.request(
                call.path["api"],
                at=asked.at,
                window=asked.window(),
                thinking=asked.thinking,
                cache=asked.cache,
                model=asked.model,
                missing=asked.missing,
                tags=asked.tags,
                secrets=secrets or None,
            )
            return tagged(call.request, _request(made, list(secrets)))
        except SecretMissing as missing:
            if secrets:
                raise
            # It goes with stand-ins: nobody gives a secret to the service.
            secrets = dict(missing.members)


async def diff(call: Call[DiffQuery, Empty]) -> Response:
    """Return what changed from one request to another."""
    conversation, _ = await begun(call)
    asked = call.query
    changed = await conversation.diff(asked.a, asked.b, api=call.path["api"], window=asked.window())
    return tagged(call.request, Diff(**diff_document(changed)))


async def why(call: Call[WhyQuery, Empty]) -> Response:
    """Return why an event is there."""
    conversation, _ = await begun(call)
    explanation = await conversation.why(call.path["version"], to_start=call.query.to_start)
    return tagged(call.request, ExplanationDocument(**explanation_document(explanation)))


def _request(made: Request, secrets: list[str]) -> RequestDocument:
    report: Report = made.report
    return RequestDocument(
        api=made.api,
        request=dict(made.body),
        report=[_note(note) for note in report],
        documents=[DocumentRoute(**route._asdict()) for route in report.routes],
        secrets=secrets,
    )


def _note(note: Note) -> ReportNote:
    return ReportNote(**note._asdict())


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    reading(
        *(CONVERSATION + "/requests/{api}", "request", "What does an API accept as the history?"),
        *(request, RequestDocument),
        query=RequestQuery,
        statuses=(304, 409),
    ),
    reading(
        *(
            CONVERSATION + "/requests/{api}/diff",
            "diff",
            "What changed from one request to another?",
        ),
        *(diff, Diff),
        query=DiffQuery,
        statuses=(304, 409),
    ),
    reading(
        *(CONVERSATION + "/events/{version}/why", "why", "Why is an event there?"),
        *(why, ExplanationDocument),
        query=WhyQuery,
        statuses=(304,),
    ),
)
