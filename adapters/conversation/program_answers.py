"""Answers that a program gives for the model: a greeting, a rule's answer, calls of tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from uuid_utils.compat import uuid7

from onrecord.adapters.inputs.arguments import (
    json_given,
    kind_of,
    several,
    text_given,
    text_if_given,
    version_if_given,
)
from onrecord.adapters.streams.knowledge import recorded_before
from onrecord.adapters.streams.stream import Done, Stream, append_first
from onrecord.domain import conversation, jsontext
from onrecord.domain.content import ToolCall
from onrecord.domain.errors import InvalidContent
from onrecord.domain.head import Head
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import NewEvent
from onrecord.domain.new_events import Attribution, lasting_id

_RANDOM_DIGITS: Final = 24
"""How many hex digits an id of a call has that was given none."""


@dataclass(frozen=True, slots=True)
class AssistantCall:
    """A call of a tool that a program makes for the model: `AssistantCall("track", {"id": 4711})`.

    `id` is what its result is given under; None: one is made up, and `open_calls` tells it.
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    id: str | None = None


def record_program_answer(
    stream: Stream, text: object, calls: object, message_id: object, expected_version: object
) -> Done:
    """Record what a program says for the model; with a `message_id` the same again changes nothing.

    InvalidContent where no record can hold it, IdempotencyMismatch where the message id stands for
    something else, VersionConflict where another version was expected.
    """
    version = version_if_given(expected_version)
    return program_answer(stream, text, calls, message_id).record(version)


def program_answer(
    stream: Stream, text: object, calls: object, message_id: object, seed: bytes = b""
) -> ProgramAnswer:
    """Return what a program says for the model, looked through: InvalidContent where it cannot be.

    Without a `message_id` its ids are made of the `seed`, if there is one.
    """
    once = text_if_given("message_id", message_id)
    said = text_if_given("what the assistant says", text)
    return ProgramAnswer(stream, said, _calls(calls), once, seed)


def _calls(calls: object) -> tuple[AssistantCall | ToolCall, ...]:
    """Return the calls, looked through: InvalidContent where one is none, or two have one id."""
    taken = tuple(_call(call) for call in several("calls", calls))
    ids = [call.id for call in taken if call.id is not None]
    if len(set(ids)) < len(ids):
        raise InvalidContent("two of the calls have one id: give each one of its own, or none")
    return taken


def _call(call: object) -> AssistantCall | ToolCall:
    if not isinstance(call, AssistantCall | ToolCall):
        raise InvalidContent(
            f"a call is an onrecord.AssistantCall(name, arguments), not {kind_of(call)}"
        )
    if not text_given("the name of a tool", call.name).strip():
        raise InvalidContent("a call names no tool: give it a name")
    if call.id is not None and not text_given("the id of a call", call.id).strip():
        raise InvalidContent("the id of a call is blank: give it another, or none")
    if not isinstance(call.arguments, Mapping):
        raise InvalidContent("the arguments of a call are a mapping of names to values")
    return call


class ProgramAnswer:
    """An answer on its way into the log; with a `message_id` all its ids are made of that.

    The id of the response stands for all that is said: so the same message id with more or less in
    it is told from the same again.
    """

    def __init__(
        self,
        stream: Stream,
        text: str | None,
        calls: Sequence[AssistantCall | ToolCall],
        message_id: str | None,
        seed: bytes = b"",
    ) -> None:
        """Take what is said, of which the calls without an id are given one."""
        self._stream = stream
        self._message_id = message_id
        self._seed = seed if message_id is None else self._seed_of(message_id)
        self._calls = tuple(self._with_ids(calls))
        has_words = text is not None and bool(text.strip())
        if text is not None and not (has_words or self._calls):
            raise InvalidContent("the answer is blank: give it text or a call")
        self._text = text if has_words else None

    def record(self, expected_version: int | None) -> Done:
        """Record it; where the same was recorded before, nothing changes."""
        stream = self._stream
        # Their names are written once nothing refuses the answer.
        who = stream.attribution()
        nameless = who._replace(names=())
        drafted = self.drafted(nameless)
        head, has_names = stream.head(), not stream.names.are_kept(who)
        known = self._known(drafted, head, has_names=has_names)
        if known is not None:
            return known
        if expected_version in (None, head.version):
            stream.names.keep(who)
        done = append_first(stream, drafted, expected_version, nameless)
        stream.names.keep(who)
        return done

    def drafted(self, by: Attribution | None = None) -> tuple[NewEvent, ...]:
        """Return its events, ready for the log; `by` is who says it, if not who uses the stream."""
        stream = self._stream
        said = [self._text, *([call.id, call.name, call.arguments] for call in self._calls)]
        content = jsontext.write_canonical(said)
        response = uuid7() if not self._seed else lasting_id(self._seed + content, b"response")
        events = conversation.speak(
            stream.known_head(), response, self._text, self._calls, message_id=self._message_id
        )
        ids = [
            lasting_id(self._seed, b"e:%d" % n) if self._seed else None for n in range(len(events))
        ]
        return tuple(
            stream.draft(event, event_id=id_, by=by) for event, id_ in zip(events, ids, strict=True)
        )

    def _known(self, drafted: tuple[NewEvent, ...], head: Head, *, has_names: bool) -> Done | None:
        """Return where the same answer is recorded: looked for where its calls are open, or names are new.

        InvalidContent where it is another call that has the id, IdempotencyMismatch where the message
        id stands for something else.
        """
        is_open = not {call.id for call in self._calls}.isdisjoint(head.open_calls)
        known: Done | None = None
        if self._seed and head.version and (is_open or has_names):
            known = recorded_before(self._stream, drafted)
        if is_open and known is None:
            raise InvalidContent("a call of one of these ids is open: give another id, or none")
        return known

    def _seed_of(self, message_id: str) -> bytes:
        stream = self._stream
        named = f"program's answer:{stream.tenant}:{stream.conversation_id}:{message_id}"
        return stream.backend.digest(named)

    def _with_ids(self, calls: Sequence[AssistantCall | ToolCall]) -> Iterator[ToolCall]:
        for number, call in enumerate(calls):
            arguments: JsonObject = dict(call.arguments)
            json_given("an argument of a call", arguments)
            yield ToolCall(id=call.id or self._id_of(number), name=call.name, arguments=arguments)

    def _id_of(self, number: int) -> str:
        drawn = lasting_id(self._seed, b"call:%d" % number) if self._seed else uuid7()
        return f"call_{drawn.hex[-_RANDOM_DIGITS:]}"
