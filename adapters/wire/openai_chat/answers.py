"""The choices of a completion as an answer: the first one, and its alternatives.

`n` choices are samples of the same request; only one of them can be history (platform.openai.com,
"Create chat completion").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, cast

from onrecord.adapters.wire.answer import Anomaly, Answer, body_reader
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.blocks import AnswerBlock, BlockContext, UnnamedCalls, calls_of
from onrecord.adapters.wire.openai_chat.calls import is_whole
from onrecord.adapters.wire.openai_chat.merging import says
from onrecord.domain.events import Event, Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.read import arguments_in
from onrecord.projections.members import list_of, members_of, token_count

# The blocks of an assistant's message: its reasoning, what it says, each of its calls.
#
# The API has one object for all of these, of which they are taken apart here; put together again
# they are the message: its value, with the members of the reasoning, and the calls as
# `tool_calls`.

REASONING: Final = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
"""The members in which servers bring what a model thought: none of the API's own."""

_OLD_CALL: Final = "function_call"
_OF_A_CALL: Final = frozenset({"function", "custom", "type", "id"})
_OF_A_MESSAGE: Final = frozenset({"role", "content"})


class Called(NamedTuple):
    """The id of a call, and the name of what it calls."""

    id: str
    name: str


def blocks_of(message: JsonObject, made: UnnamedCalls) -> list[AnswerBlock]:
    """Return the blocks of a message; what of it is not as the API says stays in what it says.

    Calls are taken note of in `made`, which gives those an id that have none.
    """
    thought = {name: value for name, value in message.items() if name in REASONING and says(value)}
    calls = calls_of(message)
    old = {_OLD_CALL: message[_OLD_CALL]} if _is_old_call(message.get(_OLD_CALL)) else {}
    apart = {*thought, *old, *(() if calls is None else ("tool_calls",))}
    spoken = {name: value for name, value in message.items() if name not in apart}
    values = [*([thought] if thought else []), spoken, *(calls or []), *([old] if old else [])]
    return [
        AnswerBlock(index, value, _made_id(value, made) if is_call(value) else None)
        for index, value in enumerate(values)
    ]


def _made_id(call: JsonObject, made: UnnamedCalls) -> str | None:
    """Return the id that a call is recorded under, where it has none; None where it has one.

    Servers leave it out, or give null or an empty text. The old spelling never has one.
    """
    own = call.get("id")
    if own not in (None, ""):
        if (named_call := called(call)) is not None:
            made.call(named_call.name, None, named_call.id)
        return None
    for member, arguments in (("function", "arguments"), ("custom", "input")):
        match call.get(member):
            case {"name": str(name), **rest} if name:
                return made.call(name, arguments_in(rest.get(arguments)))
            case _:
                continue
    return None


def _is_old_call(value: Any) -> bool:
    """Whether a `function_call` calls anything: Snowflake's answers hold one of blank members."""
    return isinstance(value, dict) and any(map(says, cast("JsonObject", value).values()))


def is_reasoning(block: JsonObject) -> bool:
    """Whether a block is what a model thought; blank members of it stay in the message."""
    return bool(block) and block.keys() <= REASONING and all(map(says, block.values()))


def is_call(block: JsonObject) -> bool:
    """Whether a block is a call, in the old spelling or the new one."""
    if block.keys() == {_OLD_CALL}:
        return True
    return not block.keys() & _OF_A_MESSAGE and bool(block.keys() & _OF_A_CALL)


def called(block: JsonObject, made: str | None = None) -> Called | None:
    """Return what a call calls; None for one that nobody could give the result of.

    `made` is the id that it is recorded under, if it has none of its own.
    """
    call = block.get("id") or made
    for member in ("function", "custom"):
        match block.get(member):
            case {"name": str(name)} if isinstance(call, str) and call:
                return Called(call, name)
            case _:
                continue
    return None


def kind_of_call(block: JsonObject) -> str:
    """Return the type of a call as the API spells it; the old one has none."""
    kind = block.get("type", _OLD_CALL if _OLD_CALL in block else "function")
    return kind if isinstance(kind, str) else ""


API: Final = "openai-chat"
"""The name of this wire format, in events and requests."""

_AMID_A_CALL: Final = ("length", "content_filter")
"""Reasons to stop that may come at any moment, amid a call too; results are refused then."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice: its message, its other members, and whether all of it came."""

    message: JsonObject
    members: JsonObject
    came_whole: bool = True

    @property
    def stop(self) -> str | None:
        """Why it stopped; None where it did not say."""
        reason = self.members.get("finish_reason")
        return reason if isinstance(reason, str) and reason else None


def completed(answer: Answer, choices: Sequence[Choice]) -> Answer:
    """Return an answer with what its choices say; the first is the answer, unless it has none."""
    read = [_read(choice, answer) for choice in choices]
    first, *others = read or [answer]
    read_tokens, written_tokens = _tokens(answer.envelope)
    return replace(
        first,
        envelope=answer.envelope,
        anomalies=answer.anomalies,
        interruption=answer.interruption or first.interruption,
        detail=answer.detail if answer.interruption else first.detail,
        error=first.error if answer.error is None else answer.error,
        awaits_results=first.awaits_results and answer.is_complete,
        input_tokens=read_tokens,
        output_tokens=written_tokens,
        alternatives=tuple(others),
    )


def _read(choice: Choice, answer: Answer) -> Answer:
    """Return what a choice says, and how it ended; one that was not whole, as the answer did."""
    parts = blocks_of(choice.message, UnnamedCalls())
    whole = tuple(part for part in parts if _is_whole(part, choice, last=part is parts[-1]))
    read = Answer(
        api=API,
        blocks=whole,
        stop_reason=choice.stop,
        unfinished=tuple(
            Unfinished(index=part.index, value=part.value, partial="")
            for part in parts
            if part not in whole
        ),
    )
    if not choice.came_whole:
        return replace(read, interruption=answer.interruption, detail=answer.detail)
    return _ended(read, choice.members.get("error"))


def _ended(read: Answer, error: Any) -> Answer:
    """Return a whole choice with what its end means: an error, a call that is none, or calls."""
    stop = read.stop_reason
    if says(error) or stop == "error":
        return replace(read, interruption="error", error=error, detail=error_kind(error))
    if stop in _AMID_A_CALL:
        return read
    if read.unfinished:
        why = "ended with a call that is not whole"
        return replace(read, interruption="malformed", detail=why)
    return replace(
        read, awaits_results=any(called(block.value, block.call) for block in read.blocks)
    )


def _is_whole(part: AnswerBlock, choice: Choice, *, last: bool) -> bool:
    """Whether a block came whole: nobody says where a call ends but the reason to stop."""
    if not choice.came_whole:
        return False
    stopped_there = choice.stop is None or choice.stop in _AMID_A_CALL
    if not (stopped_there and is_call(part.value)):
        return True
    match part.value:
        case {"function": function} | {"function_call": function}:
            return is_whole(members_of(function).get("arguments", ""))
        case {"custom": _}:
            return not last
        case _:
            return True


def _tokens(envelope: JsonObject) -> tuple[int | None, int | None]:
    """Return the tokens that the model read and wrote; Groq's streams have them apart."""
    for usage in (envelope.get("usage"), members_of(envelope.get("x_groq")).get("usage")):
        if isinstance(usage, dict):
            counted = cast("JsonObject", usage)
            read, written = counted.get("prompt_tokens"), counted.get("completion_tokens")
            return token_count(read), token_count(written)
    return None, None


# Which event records a block of OpenAI's Chat Completions API.


def event_of(block: BlockContext) -> Event:
    """Return the event of a block; a call that lacks what its event needs is opaque.

    So is a `function_call`, which has no id: nobody could give its result.
    """
    if is_reasoning(block.value):
        return block.reasoning()
    if not is_call(block.value):
        return block.message()
    call = called(block.value, block.call)
    return block.opaque(kind_of_call(block.value)) if call is None else block.tool_call(*call)


# The answers of OpenAI's Chat Completions API, read from the bytes of a JSON body.


def _answer_of(completion: JsonObject) -> Answer:
    """Return what a body said; gateways answer with an `error` under status 200 too."""
    listed = list_of(completion.get("choices"))
    read = [choice for choice in map(_choice, listed) if choice is not None]
    answer = Answer(api=API, envelope=_envelope(completion), anomalies=_oddities(read))
    return completed(_finished(answer, completion, len(listed) - len(read)), read)


read_body: Final = body_reader(API, _answer_of)


def _finished(answer: Answer, completion: JsonObject, broken: int) -> Answer:
    error = completion.get("error")
    if says(error):
        return Answer(
            api=API,
            envelope=answer.envelope,
            interruption="error",
            error=error,
            detail=error_kind(error),
        )
    if broken or not says(completion.get("choices")):
        why = f"{broken} of the choices have no message" if broken else "a completion of no choice"
        return Answer(api=API, envelope=answer.envelope, interruption="malformed", detail=why)
    return answer


def _choice(choice: Any) -> Choice | None:
    """Return a choice; None for what is none."""
    if not isinstance(choice, dict):
        return None
    members = cast("JsonObject", choice)
    message = members.get("message")
    if not isinstance(message, dict):
        return None
    return Choice(cast("JsonObject", message), _without(members, "message"))


def _oddities(choices: list[Choice]) -> tuple[Anomaly, ...]:
    silent = any(choice.stop is None for choice in choices)
    return (Anomaly("a choice without a finish reason"),) if silent else ()


def _envelope(completion: JsonObject) -> JsonObject:
    """Return the body without messages, and without an error, which is kept by itself."""
    choices = completion.get("choices")
    error = "error" if says(completion.get("error")) else ""
    envelope = _without(completion, error)
    if isinstance(choices, list):
        envelope["choices"] = [_without_message(choice) for choice in cast("list[Any]", choices)]
    return envelope


def _without_message(choice: Any) -> Any:
    return choice if _choice(choice) is None else _without(choice, "message")


def _without(members: JsonObject, name: str) -> JsonObject:
    return {member: value for member, value in members.items() if member != name}
