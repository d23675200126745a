"""Routes that say something in a conversation: prompts, answers, signals, instructions, its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.conversation import AsyncConversation
from onrecord.adapters.conversation.program_answers import AssistantCall
from onrecord.adapters.service.message_parts import (
    AnyDocument,
    Documents,
    Parts,
    document_of,
    prompt_of,
)
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import CallId, ExpectedVersion, MessageId
from onrecord.adapters.service.route import Call, Route, answered
from onrecord.adapters.service.routes.conversation_paths import writing
from onrecord.adapters.service.routes.conversations import begun, conversation_of
from onrecord.adapters.service.tenants import MOVED, Written
from onrecord.adapters.streams.stream import Done
from onrecord.domain.log import Recorded

ToolName = Annotated[str, Field(min_length=1, max_length=500)]


class RecordedAt(Model):
    """Where in the conversation something is recorded."""

    first: int
    """The version of its first event."""

    last: int
    """The version of its last event."""

    is_new: bool
    """False where it had been recorded before, so that nothing changed."""


class Prompt(Model):
    """What a user says: a `text`, or `parts` in their order."""

    text: str | None = None
    """What the user says, where it is a text alone."""

    parts: Parts | None = None
    """Texts and documents in their order, in place of `text`."""

    message_id: MessageId | None = None
    """An id of the caller's: the same message with the same id again changes nothing."""

    expected_version: ExpectedVersion | None = None
    """The version that the conversation must be at; it is refused where somebody appended since."""


class CallMade(Model):
    """A call of a tool, made in place of the model."""

    name: ToolName
    """The name of the tool."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    """The arguments of the call, by name."""

    id: CallId | None = None
    """The id that its result is given under; without one it is made up."""


class Answer(Model):
    """What a program says in place of the model: a text, calls of tools, or both."""

    text: str | None = None
    """What is said."""

    calls: Annotated[list[CallMade], Field(max_length=1000)] = Field(default_factory=list[CallMade])
    """The calls that are made; they await their results."""

    message_id: MessageId | None = None
    """An id of the caller's: the same answer with the same id again changes nothing."""

    expected_version: ExpectedVersion | None = None
    """The version that the conversation must be at; it is refused where somebody appended since."""


class Signal(Model):
    """An event from outside, no user's and no tool's: a timer, a webhook."""

    content: Any = None
    """What it says: a text, or any JSON."""

    name: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """What it is called."""

    documents: Documents = Field(default_factory=list[AnyDocument])
    """Documents that come with it."""

    interrupts: bool = False
    """Whether calls that are open are given up with it; else it waits for their results."""

    message_id: MessageId | None = None
    """An id of the caller's: the same signal with the same id again changes nothing."""


class Instructions(Model):
    """What a model is told before all else: the system prompt."""

    text: str
    """The instructions; they take the place of those before."""


class Ending(Model):
    """That a conversation is over."""

    reason: Annotated[str, Field(max_length=10_000)] | None = None
    """Why it is over."""


class Ended(Model):
    """What became of the end of a conversation."""

    version: int | None
    """The version at which it ended; null where it had ended before."""


class Redaction(Model):
    """That an event is left out of every request from here on; the record keeps it."""

    reason: Annotated[str, Field(max_length=10_000)] | None = None
    """Why it is left out."""


async def prompt(call: Call[Empty, Prompt]) -> Response:
    """Record what a user says; the conversation begins with it if it is new."""
    said = call.body
    content = prompt_of(said.text, said.parts)

    async def say(conversation: AsyncConversation, expected: int | None) -> Done:
        return await conversation.user(
            content, message_id=said.message_id, expected_version=expected
        )

    return recorded(await _said(call, say, said.expected_version))


async def answer(call: Call[Empty, Answer]) -> Response:
    """Record what a program says in place of the model."""
    said = call.body
    calls = [AssistantCall(each.name, each.arguments, each.id) for each in said.calls]

    async def say(conversation: AsyncConversation, expected: int | None) -> Done:
        return await conversation.assistant(
            said.text, calls=calls, message_id=said.message_id, expected_version=expected
        )

    return recorded(await _said(call, say, said.expected_version))


async def signal(call: Call[Empty, Signal]) -> Response:
    """Record a signal."""
    received = call.body
    done = await conversation_of(call).signal(
        received.content,
        name=received.name,
        interrupts=received.interrupts,
        documents=[document_of(each) for each in received.documents],
        message_id=received.message_id,
    )
    return recorded(done)


async def instructions(call: Call[Empty, Instructions]) -> Response:
    """Put other instructions in force."""
    return recorded(await conversation_of(call).instruct(call.body.text))


async def end(call: Call[Empty, Ending]) -> Response:
    """End a conversation; it takes nothing new from then on."""
    conversation, _ = await begun(call)
    done = await conversation.end(call.body.reason)
    return answered(Ended(version=None if done is None else done.last))


async def redact(call: Call[Empty, Redaction]) -> Response:
    """Leave an event out of every request from here on."""
    conversation, _ = await begun(call)
    return recorded(await conversation.redact(call.path["version"], call.body.reason))


_Say: TypeAlias = Callable[[AsyncConversation, int | None], Awaitable[Done]]
"""Says something in a conversation that must be at a version; at any, where that is None."""


async def _said(call: Call[Any, Any], say: _Say, expected: int | None) -> Done:
    """Say something: at once where the conversation is remembered, else after two questions about it."""
    written = call.tenants.written
    name = (call.tenant, call.path["key"], *call.names.values())
    last = written.take(*name)
    if last is not None and expected is None:
        try:
            done = await say(last.conversation, last.version)
        except MOVED:
            pass  # Nothing was recorded: look at it as it is now.
        else:
            written.keep(Written(last.conversation, max(done.last, last.version)), *name)
            return done
    conversation = conversation_of(call)
    done = await say(conversation, expected)
    written.keep(Written(conversation, done.last), *name)
    return done


def recorded(done: Done) -> Response:
    """Return the answer that says where something is recorded."""
    at = RecordedAt(first=done.first, last=done.last, is_new=isinstance(done, Recorded))
    return answered(at, 201)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    writing(
        *("/prompts", "prompt", "Record what a user says."),
        *(prompt, RecordedAt),
        body=Prompt,
    ),
    writing(
        *("/answers", "answer", "Record what stands in for the model."),
        *(answer, RecordedAt),
        body=Answer,
    ),
    writing(
        *("/signals", "signal", "Record an event from outside."),
        *(signal, RecordedAt),
        body=Signal,
    ),
    writing(
        *("/instructions", "instructions", "Set the system prompt."),
        *(instructions, RecordedAt),
        body=Instructions,
    ),
    writing(
        *("/events/{version}/redact", "redact", "Leave an event out."),
        *(redact, RecordedAt),
        body=Redaction,
    ),
    writing(
        *("/end", "end", "End a conversation."),
        *(end, Ended),
        body=Ending,
        status=200,
    ),
)
