"""Batches: the facts of many conversations, recorded by one append to the log.

All facts of an entry are one append: they are recorded together or not at all. One entry does not
change what becomes of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.program_answers import AssistantCall, program_answer
from onrecord.adapters.conversation.signals import new_signal, signal_content
from onrecord.adapters.conversation.tool_results import stored_result, tool_output
from onrecord.adapters.inputs.arguments import call_given, text_given, text_if_given
from onrecord.adapters.inputs.document_inputs import PromptPart, prompt, stored_prompt
from onrecord.adapters.streams.stream import MAYBE_BEGUN, Done, Stream, append_first, done_of
from onrecord.domain import conversation
from onrecord.domain.errors import (
    CorruptRecord,
    DocumentMissing,
    InvalidInput,
    OnrecordError,
    StorageError,
)
from onrecord.domain.events import Event
from onrecord.domain.log import Append, Backend, NewEvent
from onrecord.domain.new_events import lasting_id

Fact: TypeAlias = Callable[[Stream, bytes], tuple[NewEvent, ...]]
"""Makes the events of a fact ready for a conversation; their ids are made of the bytes, if there are any."""

Outcome: TypeAlias = Done | OnrecordError
"""What became of an entry: where it is recorded, or why it is not."""


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """What happened in one conversation: facts that are recorded together or not at all.

    The same entry under the same `id` again changes nothing. `expected_version` is what the writer
    believes the last version is.
    """

    conversation: Conversation
    facts: Sequence[Fact]
    id: str | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    stream: Stream
    beginning: tuple[NewEvent, ...]
    facts: tuple[NewEvent, ...]
    expected_version: int | None

    def append(self) -> Append:
        expected = 0 if self.beginning and not self.expected_version else self.expected_version
        stream = self.stream
        return Append(
            stream.tenant, stream.conversation_id, (*self.beginning, *self.facts), expected
        )

    def outcome_after(self, error: OnrecordError) -> Outcome:
        """Return why it is not recorded; where it may be by itself, what became of that.

        By itself it takes what a fork's origin has, and has no beginning where another holder was first.
        """
        may_be_begun = bool(self.beginning) and isinstance(error, MAYBE_BEGUN)
        if not (may_be_begun or isinstance(error, DocumentMissing)):
            return _told(error)
        try:
            return append_first(self.stream, self.facts, self.expected_version)
        except OnrecordError as alone:
            return _told(alone)


def append_batch(backend: Backend, entries: Sequence[BatchEntry]) -> list[Outcome]:
    """Record entries, each of another conversation, by one append; return what became of each.

    Only a StorageError is raised, for the whole. InvalidInput where two entries are of one conversation:
    what happened in it is one entry.
    """
    keys = [entry.conversation.key for entry in entries]
    if len(set(keys)) < len(keys):
        raise InvalidInput("two entries are of one conversation: make them one")
    prepared = [_prepared(entry) for entry in entries]
    sound = [each for each in prepared if isinstance(each, _Prepared)]
    appends = [each.append() for each in sound]
    verdicts = iter(zip(appends, backend.append(appends), strict=True)) if appends else iter(())
    outcomes: list[Outcome] = []
    for each in prepared:
        if isinstance(each, OnrecordError):
            outcomes.append(each)
            continue
        try:
            outcomes.append(done_of(*next(verdicts)))
        except OnrecordError as error:
            outcomes.append(each.outcome_after(error))
    return outcomes


def _prepared(entry: BatchEntry) -> _Prepared | OnrecordError:
    try:
        stream = stream_of(entry.conversation)
        seed = _seed(stream, entry.id)
        beginning = stream.beginning()
        facts = tuple(
            event
            for number, fact in enumerate(entry.facts)
            for event in fact(stream, seed and seed + b"%d" % number)
        )
        begun = tuple(stream.draft(event) for event in beginning)
        return _Prepared(stream, begun, facts, entry.expected_version)
    except OnrecordError as error:
        return _told(error)


def _told(error: OnrecordError) -> OnrecordError:
    """Return an error that is about one conversation; raise one that is about the store."""
    if isinstance(error, StorageError) and not isinstance(error, CorruptRecord):
        raise error
    return error


def _seed(stream: Stream, named: str | None) -> bytes:
    if named is None:
        return b""
    return stream.backend.digest(f"batch:{stream.tenant}:{stream.conversation_id}:{named}")


# The kinds of facts: each is looked through as the verb of a conversation does.


def user_message(content: Sequence[PromptPart], message_id: str | None) -> Fact:
    """Return that a user said something."""

    def drafted(stream: Stream, seed: bytes) -> tuple[NewEvent, ...]:
        blocks = stored_prompt(prompt(content, ()), stream)
        once = text_if_given("message_id", message_id)
        return _drafted(
            stream, seed, conversation.say(stream.known_head(), blocks, message_id=once)
        )

    return drafted


def program_message(
    text: str | None, calls: Iterable[AssistantCall], message_id: str | None
) -> Fact:
    """Return that a program said something for the model."""

    def drafted(stream: Stream, seed: bytes) -> tuple[NewEvent, ...]:
        return program_answer(stream, text, tuple(calls), message_id, seed).drafted()

    return drafted


def outside_signal(content: object, name: str | None, message_id: str | None) -> Fact:
    """Return that a signal came, which waits for the results of open calls."""

    def drafted(stream: Stream, seed: bytes) -> tuple[NewEvent, ...]:
        named = text_if_given("the name of a signal", name)
        once = text_if_given("message_id", message_id)
        received = new_signal(signal_content(content), stream, named, once)
        return _drafted(stream, seed, conversation.receive(stream.known_head(), (received,)))

    return drafted


def new_instructions(text: str) -> Fact:
    """Return that other instructions are in force."""

    def drafted(stream: Stream, seed: bytes) -> tuple[NewEvent, ...]:
        checked = text_given("an instruction", text)
        return _drafted(stream, seed, conversation.instruct(stream.known_head(), checked))

    return drafted


def tool_result(call_id: str, content: object, *, is_error: bool) -> Fact:
    """Return what a tool gave; one of a call that has another result makes its entry a mismatch."""

    def drafted(stream: Stream, seed: bytes) -> tuple[NewEvent, ...]:
        output = tool_output(content)
        result, found = stored_result(stream, call_given(call_id), output, is_error=is_error)
        return _drafted(stream, seed, (result, *found))

    return drafted


def _drafted(stream: Stream, seed: bytes, events: Iterable[Event]) -> tuple[NewEvent, ...]:
    return tuple(
        stream.draft(event, event_id=lasting_id(seed, b"e:%d" % number) if seed else None)
        for number, event in enumerate(events)
    )
