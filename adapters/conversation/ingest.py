"""What happened since an agent was last asked, taken in as one: results of its calls, and signals.

So process engines hand it over: a list of entries with an `id` (the call's; none: a signal), a
`name` and a `content`. All that calls still await is recorded in one commit with the signals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from onrecord.adapters.conversation.history_edits import settle
from onrecord.adapters.conversation.signals import (
    as_recorded,
    given_up,
    new_signal,
    signal_content,
    with_call_of_reused_id,
)
from onrecord.adapters.conversation.tails import calls_open, tail_of
from onrecord.adapters.conversation.tool_results import (
    ToolOutput,
    stored_result,
    summarise,
    tool_output,
)
from onrecord.adapters.inputs.arguments import kind_of, several, text_if_given
from onrecord.adapters.inputs.document_inputs import UnstoredPart, stored_prompt
from onrecord.adapters.streams.knowledge import knowledge_of
from onrecord.adapters.streams.results import record_result, was_called
from onrecord.adapters.streams.stream import Stream, stored_again
from onrecord.domain import conversation
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.errors import IdempotencyMismatch, InvalidContent, ResultsWithoutConversation
from onrecord.domain.events import DocumentExtracted, Event, SignalReceived, ToolResultRecorded
from onrecord.domain.head import Head
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history.history import NextInput, next_input

# What comes back from a process: the collection of what its tools gave and of what else happened.

_OWN: Final = frozenset({"id", "name", "content", "properties"})


@dataclass(frozen=True, slots=True)
class EngineInput:
    """The result of a call by its id; without one, a signal: something that happened meanwhile.

    `properties` is what else was said: `interrupted`, `completedAt`, `elementId`...
    """

    id: str | None
    name: str | None = None
    content: Any = None
    properties: JsonObject = field(default_factory=dict[str, Any])

    @property
    def is_signal(self) -> bool:
        """Whether it answers no call."""
        return self.id is None

    @property
    def is_interrupted(self) -> bool:
        """Whether its call was cancelled; only `true` itself says so."""
        return self.properties.get("interrupted") is True


def inputs_of(inputs: object) -> tuple[EngineInput, ...]:
    """Return the entries `{id, name, content}` of a collection, in order; InvalidContent for others.

    An entry is a mapping, or any object that has these members. What else a mapping has are its
    properties; those in a member `properties` win.
    """
    entries = enumerate(several("inputs", inputs))
    return tuple(_input(entry, f"entry {at} of the inputs") for at, entry in entries)


def _input(entry: object, where: str) -> EngineInput:
    members = _members(entry, where)
    others = {name: value for name, value in members.items() if name not in _OWN}
    return EngineInput(
        id=text_if_given(f"the id of {where}", members.get("id")),
        name=text_if_given(f"the name of {where}", members.get("name")),
        content=members.get("content"),
        properties=others | _properties(members.get("properties"), where),
    )


def _members(entry: object, where: str) -> Mapping[str, Any]:
    if isinstance(entry, Mapping):
        return cast("Mapping[str, Any]", entry)
    if hasattr(entry, "id") and hasattr(entry, "content"):
        return {name: getattr(entry, name, None) for name in _OWN}
    raise InvalidContent(
        f'{where} is a mapping such as {{"id": ..., "name": ..., "content": ...}}, '
        f"not {kind_of(entry)}"
    )


def _properties(value: object, where: str) -> JsonObject:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise InvalidContent(f"the properties of {where} are a mapping, not {kind_of(value)}")


# What of it is recorded, and what the model is asked next.

Behaviour: TypeAlias = Literal["wait", "interrupt"]
"""What signals do amid a round: they wait for the results, or the calls are given up for them."""


class _Entry(NamedTuple):
    """An entry as it was handed over, nothing of it stored yet.

    `interrupted` says that its call was given up, `is_bare` that it gave nothing till then.
    """

    id: str | None
    name: str | None
    output: ToolOutput
    interrupted: bool
    is_bare: bool
    message_id: str | None


class _Result(NamedTuple):
    """A result that may be recorded, and the documents that were found in it."""

    event: ToolResultRecorded
    documents: tuple[DocumentExtracted, ...]


@dataclass(frozen=True, slots=True)
class _Taken:
    """What is to be recorded, as far as a conversation still awaits it."""

    stream: Stream
    prompt: tuple[Event, ...]
    results: Sequence[_Result]
    signals: Sequence[SignalReceived]
    interrupts: bool

    def decide(self, head: Head) -> tuple[Event, ...]:
        """Return what goes in one commit.

        Results of open calls, or else the prompt if it is an input; then calls that are given up,
        then the signals.
        """
        awaited = self._awaited(head)
        answers = self._answers(head, awaited)
        is_no_input = awaited or self._is_of_a_round(head) or self._has_prompt(head)
        prompt = () if is_no_input else self.prompt
        new = [each for each in self.signals if as_recorded(self.stream, head, each) is None]
        open_calls = given_up(self.stream, head) if new and self.interrupts else ()
        given_up_calls = [result for result in open_calls if result.call_id not in answers]
        events: list[Event] = []
        for result in answers.values():
            events += (result.event, *result.documents)
        return (*events, *prompt, *conversation.receive(head, new, given_up_calls))

    def _awaited(self, head: Head) -> frozenset[str]:
        """Return the ids of the calls that are open, as far as anything here depends on them."""
        if not (self.results or self.prompt) or not head.version:
            return frozenset()
        stream = self.stream
        opened = calls_open(stream.backend, stream.lineage(head.version, head), head)
        return frozenset(call.call_id for call in opened)

    def _is_of_a_round(self, head: Head) -> bool:
        """Whether the prompt came with results of calls of this conversation, answered before too.

        An engine hands over its prompt with each result. Where it tries again what has closed a round,
        no call is open any more, and the prompt is no input still.
        """
        if not (self.prompt and head.version):
            return False
        ids = {result.event.call_id for result in self.results}
        return any(was_called(self.stream, call_id, head.version) for call_id in ids)

    def _has_prompt(self, head: Head) -> bool:
        """Whether the prompt was recorded before, under its message id."""
        if not head.version:
            return False
        match [knowledge_of(self.stream, event) for event in self.prompt]:
            case ["other"]:
                raise IdempotencyMismatch(
                    "the message_id of the prompt was recorded before, of a message or signal with "
                    "other content: use a new message_id for a new prompt"
                )
            case known:
                return known == ["same"]

    def _answers(self, head: Head, awaited: Collection[str]) -> dict[str, _Result]:
        """Return the first result of each call that is open."""
        answers: dict[str, _Result] = {}
        for result in self.results:
            if result.event.call_id in awaited:
                answers.setdefault(result.event.call_id, result)
        return {
            call_id: result._replace(event=with_call_of_reused_id(self.stream, head, result.event))
            for call_id, result in answers.items()
        }


class Prompt(NamedTuple):
    """What a user says beside the entries, nothing of it stored yet; without parts it is none."""

    parts: tuple[UnstoredPart, ...]
    message_id: str | None


def ingest(stream: Stream, inputs: object, prompt: Prompt, behaviour: object) -> NextInput:
    """Record entries, and return whether the model is to be asked now.

    The prompt is recorded where no call is open, and no result is of a call of the conversation.
    Results that no open call awaits are recorded for themselves: late ones, those of no call, and
    those that came twice. ResultsWithoutConversation where nothing was said yet, though tools or
    instructions may be in force; InvalidContent for what is no entry; then nothing is recorded.
    """
    if behaviour not in ("wait", "interrupt"):
        raise InvalidContent('the behaviour of signals is "wait" or "interrupt"')
    entries = [_entry(each, at) for at, each in enumerate(inputs_of(inputs))]
    _must_have_own_id(prompt, entries)
    results = [entry for entry in entries if entry.id is not None]
    head = stream.head()
    conversation.receive(head, ())
    if results and not _is_begun(stream, head):
        raise ResultsWithoutConversation
    interrupts = behaviour == "interrupt"
    # Each is stored again by itself: what was committed before a sweep is not recorded twice.
    beside = stored_again(lambda: _record(stream, prompt, entries, results, interrupts=interrupts))
    for entry in beside:
        stored_again(partial(_record_beside, stream, entry))
    return next_input_of(stream)


def _must_have_own_id(prompt: Prompt, entries: Iterable[_Entry]) -> None:
    """Raise InvalidContent where the prompt has the message id of a signal beside it."""
    if not prompt.parts or prompt.message_id is None:
        return
    for at, entry in enumerate(entries):
        if entry.id is None and entry.message_id == prompt.message_id:
            raise InvalidContent(
                f"the prompt and entry {at} of the inputs have the same message_id: give each its own"
            )


def _is_begun(stream: Stream, head: Head) -> bool:
    """Whether somebody said something, here or in what the conversation was forked from."""
    if head.exchange or head.request or head.open_calls:
        return True
    if not head.version:
        return False
    tail = tail_of(stream.backend, stream.lineage(head.version, head))
    return tail.is_said or bool(tail.open_calls)


def _record(
    stream: Stream,
    prompt: Prompt,
    entries: Sequence[_Entry],
    results: Sequence[_Entry],
    *,
    interrupts: bool,
) -> list[_Entry]:
    """Record a prompt and entries, of which some are `results`, their documents stored first.

    Return those of the results that no open call awaits.
    """
    taken = _Taken(
        stream,
        _prompt_event(stream, prompt),
        [_result(stream, entry) for entry in results],
        list(_once(_signal(stream, entry) for entry in entries if entry.id is None)),
        interrupts,
    )
    recorded = settle(stream, taken.decide).events
    answered = {event.call_id for event in recorded if isinstance(event, ToolResultRecorded)}
    beside: list[_Entry] = []
    for entry, result in zip(results, taken.results, strict=True):
        if result.event.call_id in answered:
            answered.remove(result.event.call_id)
            summarise(result.event.call_id, result.documents)
        else:
            beside.append(entry)
    return beside


def _record_beside(stream: Stream, entry: _Entry) -> None:
    """Record a result that no open call awaits: late, of no call, or the second of one."""
    record_result(stream, *_result(stream, entry))


def next_input_of(stream: Stream) -> NextInput:
    """Return whether the model is to be asked now, or what is waited for."""
    head = stream.head()
    if head.closed or not head.version:
        return "nothing"
    tail = tail_of(stream.backend, stream.lineage(head.version, head))
    return next_input(awaited=len(tail.open_calls), unanswered=tail.is_said and not tail.is_over)


def _prompt_event(stream: Stream, prompt: Prompt) -> tuple[Event, ...]:
    """Return the event of a prompt; none where there is no prompt."""
    if not prompt.parts:
        return ()
    blocks = stored_prompt(prompt.parts, stream)
    return conversation.say(stream.known_head(), blocks, message_id=prompt.message_id)


def _result(stream: Stream, entry: _Entry) -> _Result:
    call_id = entry.id or ""
    if entry.interrupted and entry.is_bare:
        return _Result(*conversation.cancel_call(stream.known_head(), call_id), ())
    event, documents = stored_result(stream, call_id, entry.output, is_error=entry.interrupted)
    return _Result(event.model_copy(update={"cancelled": entry.interrupted}), documents)


def _signal(stream: Stream, entry: _Entry) -> SignalReceived:
    return new_signal(entry.output, stream, entry.name, entry.message_id)


def _once(signals: Iterable[SignalReceived]) -> Iterator[SignalReceived]:
    """Yield signals, those that have a message id once."""
    seen_signals: set[SignalReceived] = set()
    for signal in signals:
        if signal.message_id is None or signal not in seen_signals:
            yield signal
        seen_signals.add(signal)


def _entry(entry: EngineInput, at: int) -> _Entry:
    """Return an entry that a record can hold; InvalidContent, which says why not, for any other."""
    where = f"entry {at} of the inputs"
    if entry.id == "":
        raise InvalidContent(
            f"the id of {where} is empty: a result has the id of its call, and a signal None"
        )
    try:
        output = signal_content(entry.content) if entry.is_signal else tool_output(entry.content)
    except InvalidContent as exc:
        raise InvalidContent(f"the content of {where}: {exc}") from None
    message_id = entry.properties.get("message_id")
    return _Entry(
        id=entry.id,
        name=entry.name,
        output=output,
        interrupted=entry.is_interrupted,
        is_bare=entry.content is None or entry.content in ("", CANCELLED),
        message_id=text_if_given(f"the message_id of {where}", message_id),
    )
