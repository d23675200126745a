"""An answer of Ollama's chat API, put together from its lines.

Each line of the body is a JSON object: pieces of what the model thinks and says, calls that come
whole, and in the last one, which is `done`, why it stopped and what it took. A failure amid the
answer is a line {"error": ...} under status 200 (Ollama's `server/routes.go`, `streamResponse`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Answer, Loss, named, text_or_none
from onrecord.adapters.wire.blocks import AnswerBlock, BlockContext, UnnamedCalls, calls_of
from onrecord.adapters.wire.stream_reader import StreamReader, broken_off
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Event, Unfinished
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.members import nonempty_text, token_count

# The blocks of a message: what the model thought, what it says, each of its calls.
#
# Shapes: Ollama's `api/types.go`, "Message". The API has one object for all of these; put together
# again they are the message: its value, with the `thinking`, and the calls as `tool_calls`.

API: Final = "ollama"

THINKING: Final = "thinking"
CALLS: Final = "tool_calls"


def blocks_of(message: JsonObject, made: UnnamedCalls) -> list[AnswerBlock]:
    """Return the blocks of a message; what of it is not as the API says stays in what it says.

    Calls are taken note of in `made`, which gives those an id that have none.
    """
    thought = message.get(THINKING)
    thinking = {THINKING: thought} if isinstance(thought, str) and thought else {}
    calls = calls_of(message)
    apart = {*thinking, *(() if calls is None else (CALLS,))}
    spoken = {name: value for name, value in message.items() if name not in apart}
    values: list[JsonObject] = [*([thinking] if thinking else []), spoken, *(calls or [])]
    return [
        AnswerBlock(index, value, _call_id(value, made) if is_call(value) else None)
        for index, value in enumerate(values)
    ]


def event_of(block: BlockContext) -> Event:
    """Return the event of a block; a call without a name is opaque."""
    value = block.value
    if is_thinking(value):
        return block.reasoning()
    if not is_call(value):
        return block.message()
    name, call_id = _name(value), value.get("id") or block.call
    if name is None or not isinstance(call_id, str):
        return block.opaque("function")
    return block.tool_call(call_id, name)


def is_thinking(block: JsonObject) -> bool:
    """Whether a block is what a model thought."""
    return block.keys() == {THINKING} and isinstance(block[THINKING], str)


def is_call(block: JsonObject) -> bool:
    """Whether a block is a call."""
    return "function" in block and "role" not in block


def _name(call: JsonObject) -> str | None:
    match call:
        case {"function": {"name": str(name)}} if name:
            return name
        case _:
            return None


def _call_id(call: JsonObject, made: UnnamedCalls) -> str | None:
    """Return the id that a call is recorded under, where it has none; None where it has one."""
    name, own_id = _name(call), nonempty_text(call.get("id"))
    if name is None:
        return None
    call_id = made.call(name, call["function"].get("arguments"), own_id)
    return None if own_id else call_id


# The answer, line by line.

_TEXTS: Final = ("content", THINKING)
_OF_A_LINE: Final = frozenset({"created_at", "done"})
"""Members that differ from line to line."""
_LISTS: Final = (CALLS, "images", "logprobs")


class ChatStream(StreamReader):
    """Reads one answer, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_envelope", "_message", "_pieces")

    def __init__(self) -> None:
        """Begin an answer."""
        super().__init__()
        self._pieces: list[bytes] = []
        self._envelope: JsonObject = {}
        self._message: dict[str, list[Any]] = {}

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the answer's last line has been seen.

        That is the line that is `done`, or an error. Once seen, it stays seen.
        """
        first, *rest = chunk.split(b"\n")
        self._pieces.append(first)
        if rest:
            self._take(b"".join(self._pieces))
            self._pieces = [rest.pop()]
            for line in rest:
                self._take(line)
        return self._over

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the answer said; `loss` is why, if its last line has not been seen."""
        tail = b"".join(self._pieces).strip()
        self._pieces = []
        if tail and self._over:
            self._take(tail)
        elif tail and not self._ends_with(tail):
            detail = detail or broken_off("line", tail)
        ending = self._ending(loss, detail)
        message = {name: _joined(name, values) for name, values in self._message.items()}
        blocks, unfinished = _parts(message, came_whole=ending[0] is None)
        return replace(
            self._answer(API, self._envelope, ending),
            blocks=blocks,
            unfinished=unfinished,
            stop_reason=text_or_none(self._envelope.get("done_reason")),
            input_tokens=token_count(self._envelope.get("prompt_eval_count")),
            output_tokens=token_count(self._envelope.get("eval_count")),
            awaits_results=ending[0] is None and bool(calls_of(message)),
        )

    def _ends_with(self, tail: bytes) -> bool:
        """Whether what stands behind the last line end is a line: the body need not end in one."""
        try:
            read_bounded_object(tail)
        except MalformedJson:
            return False
        self._take(tail)
        return self._over

    def _take(self, line: bytes) -> None:
        self._raw = line
        data = self._read(line, "a line") if line.strip() else None
        if data is None:
            return
        if self._over:
            self._note("a line after the last one")
        elif self._interruption is None:
            self._follow(data)

    def _follow(self, data: JsonObject) -> None:
        if "error" in data and "message" not in data:
            self._fail(data["error"])
            return
        message = data.get("message")
        if isinstance(message, dict):
            self._add(cast("JsonObject", message))
        elif message is not None:
            self._note("a message that is no object")
        # Each line repeats the envelope; what the last one says holds.
        envelope = {name: value for name, value in data.items() if name not in ("message", *_LISTS)}
        for name in envelope.keys() - _OF_A_LINE:
            if self._envelope.get(name, envelope[name]) != envelope[name]:
                self._note(f"more than one value of {named(name)}")
        self._envelope.update(envelope)
        if "logprobs" in data:
            self._envelope["logprobs"] = _joined(
                "logprobs", [self._envelope.get("logprobs"), data["logprobs"]]
            )
        self._over = data.get("done") is True

    def _add(self, message: JsonObject) -> None:
        for name, value in message.items():
            values = self._message.setdefault(name, [])
            if values == [None]:
                values.clear()
            if not values or (_is_piece(name, value) and _is_piece(name, values[0])):
                values.append(value)
            elif values[-1] != value and value is not None:
                self._note(f"more than one value of {named(name)}")


def _is_piece(name: str, value: Any) -> bool:
    """Whether a value goes on with the one before it."""
    return (name in _TEXTS and isinstance(value, str)) or (
        name in _LISTS and isinstance(value, list)
    )


def _joined(name: str, values: list[Any]) -> Any:
    """Return the pieces of a member as one; what is none of its kind stays alone."""
    known = [value for value in values if value is not None]
    if name in _TEXTS and known and all(isinstance(value, str) for value in known):
        return "".join(known)
    if name in _LISTS and known and all(isinstance(value, list) for value in known):
        return [item for value in known for item in value]
    return known[0] if known else None


def _parts(
    message: JsonObject, *, came_whole: bool
) -> tuple[tuple[AnswerBlock, ...], tuple[Unfinished, ...]]:
    """Return the blocks of a message; of one that broke off only calls, which come whole."""
    if not message:
        return (), ()
    blocks = blocks_of(message, UnnamedCalls())
    if came_whole:
        return tuple(blocks), ()
    calls = len(calls_of(message) or ())
    whole = blocks[len(blocks) - calls :] if calls else []
    broken = blocks[: len(blocks) - calls]
    return tuple(whole), tuple(
        Unfinished(index=block.index, value=block.value, partial="") for block in broken
    )


# The answers of Ollama's chat API, read from the bytes of a JSON body.


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole. Never raises.

    A body is a stream of one line; a proxy that does not name a stream sends several.
    """
    stream = ChatStream()
    stream.feed(body)
    return stream.finish(loss, detail)
