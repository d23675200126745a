"""Routes that change what the history of a conversation is, and that go on from it elsewhere.

Nothing that was recorded changes: an event says what is history from here on.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.service.message_parts import Parts, prompt_of
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import ExpectedVersion, Key, Version
from onrecord.adapters.service.route import Call, Route, answered
from onrecord.adapters.service.routes.conversation_paths import writing
from onrecord.adapters.service.routes.conversations import begun
from onrecord.adapters.service.routes.messages import RecordedAt, recorded

Reason = Annotated[str, Field(max_length=10_000)]


class Edit(Model):
    """What a user says in place of a prompt: a `text`, or `parts` in their order."""

    text: str | None = None
    """What the user says, where it is a text alone."""

    parts: Parts | None = None
    """Texts and documents in their order, in place of `text`."""

    expected_version: ExpectedVersion | None = None
    """The version that the conversation must be at; it is refused where somebody appended since."""


class Retraction(Model):
    """That the last answer is given up."""

    expected_version: ExpectedVersion | None = None
    """The version that the conversation must be at; it is refused where somebody appended since."""


class Compaction(Model):
    """A summary that stands for a beginning, in every request from here on."""

    summary: str
    """The summary."""

    until: Version | None = None
    """The last version that it stands for; by default that of the last exchange that is over."""

    expected_version: ExpectedVersion | None = None
    """The version that the conversation must be at; it is refused where somebody appended since."""


class Annotation(Model):
    """A remark beside an event, or beside the whole conversation."""

    labels: Annotated[dict[str, str], Field(max_length=1000)]
    """The remark: texts under names."""

    version: Version | None = None
    """The version of the event; without one it is about the whole conversation."""


class Fork(Model):
    """A conversation that goes on from another one."""

    key: Key
    """The key of the new conversation."""

    at: Version | None = None
    """The version that it goes on from; without one, the last."""

    reason: Reason | None = None
    """Why it is made."""


class Forked(Model):
    """A conversation that was made."""

    key: str
    """The key of the new conversation."""

    conversation_id: str
    """The id of the new conversation."""

    version: int
    """The version of its last event."""


async def edit(call: Call[Empty, Edit]) -> Response:
    """Put another prompt in the place of one; what followed it is given up."""
    conversation, _ = await begun(call)
    said = call.body
    done = await conversation.edit_message(
        call.path["version"],
        prompt_of(said.text, said.parts),
        expected_version=said.expected_version,
    )
    return recorded(done)


async def retract(call: Call[Empty, Retraction]) -> Response:
    """Give up the last answer."""
    conversation, _ = await begun(call)
    expected = call.body.expected_version
    return recorded(await conversation.retract_answer(expected_version=expected))


async def compact(call: Call[Empty, Compaction]) -> Response:
    """Let a summary stand for what was said."""
    conversation, _ = await begun(call)
    wanted = call.body
    done = await conversation.compact(
        wanted.summary, until=wanted.until, expected_version=wanted.expected_version
    )
    return recorded(done)


async def annotate(call: Call[Empty, Annotation]) -> Response:
    """Put a remark beside an event, or beside the whole conversation."""
    conversation, _ = await begun(call)
    return recorded(await conversation.annotate(call.body.labels, call.body.version))


async def fork(call: Call[Empty, Fork]) -> Response:
    """Make a conversation that goes on from this one; nothing is copied."""
    conversation, _ = await begun(call)
    wanted = call.body
    forked = await conversation.fork(wanted.key, at=wanted.at, reason=wanted.reason)
    made = Forked(
        key=wanted.key,
        conversation_id=str(await forked.conversation_id),
        version=(await forked.head()).version,
    )
    return answered(made, 201)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    writing(
        *("/events/{version}/edit", "edit", "Put another prompt in the place of one."),
        *(edit, RecordedAt),
        body=Edit,
    ),
    writing(
        *("/retractions", "retract", "Give up the last answer, to ask again."),
        *(retract, RecordedAt),
        body=Retraction,
    ),
    writing(
        *("/compactions", "compact", "Let a summary stand for a beginning."),
        *(compact, RecordedAt),
        body=Compaction,
    ),
    writing(
        *("/annotations", "annotate", "Put a remark beside what is recorded."),
        *(annotate, RecordedAt),
        body=Annotation,
    ),
    writing(
        *("/forks", "fork", "Make a conversation that goes on from this one."),
        *(fork, Forked),
        body=Fork,
    ),
)
