"""The JSON that programs keep: a list of messages, a request, or a file of many of either.

JSON lines (jsonlines.org) hold a message a line, or a conversation a line as files for fine-tuning
do. Which of these a file is, its shape says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from pydantic import ValidationError

from onrecord.adapters.histories.foreign_history import (
    Doubt,
    Entry,
    Histories,
    History,
    Transcript,
    TranscriptContext,
)
from onrecord.adapters.recording.plan import with_digest
from onrecord.adapters.wire import secrets
from onrecord.adapters.wire.requests import (
    WireRequest,
    instructions_set,
    placed,
    tools_declared,
)
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput, MalformedJson, UnknownApi
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject, read_bounded
from onrecord.projections.api import known_api

# What a request's history says, read as the recorder reads it on the wire.

_NOBODY: Final = UUID(int=0)
_ROLES: Final = frozenset({"user", "assistant", "model", "system", "developer", "tool", "function"})


def transcribe(
    api: str, request: JsonObject, context: TranscriptContext, times: Sequence[int | None] = ()
) -> Transcript:
    """Return what a request of an API says; secrets beside what was said are cut.

    `times` tells when each message was said, if that is known. Raises InvalidInput, with the number
    of the message, where it is no request of this API, UnknownApi where no wire of it is read.
    """
    if api not in WIRES:
        raise UnknownApi(
            f"{api} is no API whose wire is read: the known ones are {', '.join(WIRES)}"
        )
    clean, _ = secrets.cut(request, WIRES[api], context.digest)
    try:
        return _transcript(api, clean, context, times)
    except (InvalidInput, ValidationError) as exc:
        number = _first_wrong(api, clean)
        place = "" if number is None else f"{_noun(api)} {number}: "
        raise InvalidInput(f"{place}{_reason(exc)}") from exc


def _transcript(
    api: str, request: JsonObject, context: TranscriptContext, times: Sequence[int | None]
) -> Transcript:
    wire = WIRES[api]
    sent = wire.read_request(jsontext.write(request))
    settings: tuple[Event, ...] = ()
    blobs: dict[str, bytes] = {}
    for is_set, events_of in ((sent.system, instructions_set), (sent.tools, tools_declared)):
        if is_set is not None:
            events, spilled = events_of(sent)
            settings += tuple(map(with_digest, events))
            blobs.update(spilled)
    events, spilled = wire.request_events(sent, sent.pieces, context.responses, None)
    blobs.update(spilled)
    skipped = _length(request.get(known_api(api).messages)) - len(sent.messages)
    entries = _placed(sent, events, skipped, times)
    return Transcript(tuple(entries), settings, blobs, tuple(_doubts(sent, skipped)))


def _placed(
    sent: WireRequest, events: Sequence[Event], skipped: int, times: Sequence[int | None]
) -> Iterator[Entry]:
    """Yield each event with the place of its message: a message of the caller's has many blocks."""
    for event, piece in placed(sent, events):
        at = sent.pieces[piece].message + skipped
        yield Entry(event, f"{_noun(sent.api)} {at + 1}", _time(times, at))


def _time(times: Sequence[int | None], at: int) -> int | None:
    return times[at] if at < len(times) else None


def _doubts(sent: WireRequest, skipped: int) -> Iterator[Doubt]:
    transcript = {piece.message for piece in sent.pieces}
    for at, message in enumerate(sent.messages):
        place = f"{_noun(sent.api)} {at + skipped + 1}"
        role = message.get("role")
        if at not in transcript:
            yield Doubt("left out", place, "it holds no block: there is nothing to record")
        if isinstance(role, str) and role not in _ROLES:
            yield Doubt("opaque", place, "its role is none that is known: kept as it is")


def _first_wrong(api: str, request: JsonObject) -> int | None:
    """Return the number, from 1, of the first message that cannot be read even on its own."""
    messages = request.get(known_api(api).messages)
    if not isinstance(messages, list):
        return None
    for number, message in enumerate(cast("list[Any]", messages), 1):
        try:
            sent = WIRES[api].read_request(jsontext.write({known_api(api).messages: [message]}))
            WIRES[api].request_events(sent, sent.pieces, repeat(_NOBODY), None)
        except (InvalidInput, ValidationError):
            return number
    return None


def _length(messages: object) -> int:
    return len(cast("list[Any]", messages)) if isinstance(messages, list) else 1


def _noun(api: str) -> str:
    return "item" if known_api(api).messages == "input" else "message"


def _reason(exc: InvalidInput | ValidationError) -> str:
    """Say what is wrong, but nothing of the content."""
    return str(exc) if isinstance(exc, InvalidInput) else "a text or an id is not of its kind"


_BOM: Final = b"\xef\xbb\xbf"
_LINES: Final = frozenset({".jsonl", ".ndjson"})


class _Held(NamedTuple):
    """A value of a file, and its place there: its number, from 1, and what is counted.

    `fault` says what is wrong with a line that is no value.
    """

    number: int
    place: str
    value: Any
    fault: str | None = None


def histories_in(path: Path, api: str) -> Histories:
    """Return the histories of a file of an API's JSON.

    Raises InvalidInput, with the line or the number, where it is none of the shapes.
    """
    lines = partial(_lines, path)
    if not _has_lines(path):
        return _of_value(path, api)
    first = next((held for held in lines() if held.fault is None), None)
    if first is not None and _is_message(first.value):
        messages = [_message(held) for held in lines()]
        return _one(api, {known_api(api).messages: messages})
    return _several(api, lines, sum(1 for _ in lines()))


def _of_value(path: Path, api: str) -> Histories:
    """Return the histories of a file that holds one value."""
    value = _whole(path)
    match value:
        case []:
            raise InvalidInput("there is no message in it")
        case [first, *_]:
            held = cast("list[Any]", value)
            if not _is_message(first):
                return _several(api, partial(_items, held), len(held))
            return _one(api, {known_api(api).messages: [_message(item) for item in _items(held)]})
        case _ if _is_message(value):
            return _one(api, {known_api(api).messages: [value]})
        case _ if path.suffix.lower() in _LINES:
            line = _Held(1, "line 1", value)
            return _several(api, lambda: iter((line,)), 1)
        case _:
            return _one(api, value)


def _several(api: str, held: Callable[[], Iterator[_Held]], count: int) -> Histories:
    def read_all() -> Iterator[History]:
        for each in held():
            yield _history(api, each, _name(each))

    return Histories(count, are_several=True, read=read_all)


def _one(api: str, value: Any) -> Histories:
    history = _history(api, _Held(1, "the file", value), None)
    return Histories(1, are_several=False, read=lambda: iter((history,)))


def _history(api: str, held: _Held, name: str | None) -> History:
    def transcript(context: TranscriptContext) -> Transcript:
        if held.fault is not None:
            raise InvalidInput(held.fault)
        return transcribe(api, _request(held.value, api), context)

    return History(held.place, name, transcript)


def _name(held: _Held) -> str:
    """Return what a conversation is called among others: its own id, else its number."""
    match held.value:
        case {"id": str(name)} | {"custom_id": str(name)} if name.strip():
            return name
        case _:
            return str(held.number)


def _request(value: Any, api: str) -> JsonObject:
    """Return the request that a value is: itself, or one of the messages that it lists."""
    member = known_api(api).messages
    match value:
        case {**request} if member in request:
            return cast("JsonObject", request)
        case [first, *_] if _is_message(first):
            return {member: value}
        case _:
            raise InvalidInput(
                f"neither a list of messages nor an object with `{member}`, as {api} spells them"
            )


def _message(held: _Held) -> JsonObject:
    if _is_message(held.value):
        return cast("JsonObject", held.value)
    if held.fault is not None:
        raise InvalidInput(f"{held.place}: {held.fault}")
    raise InvalidInput(f"{held.place}: no message: it has neither `role` nor `type`")


def _is_message(value: Any) -> bool:
    match value:
        case {"messages": _}:
            return False
        case {"type": _, "input": str()}:  # A call of OpenAI's has an `input` of its own.
            return True
        case {"input": _}:
            return False
        case {"role": _} | {"type": _}:
            return True
        case _:
            return False


def _items(values: list[Any]) -> Iterator[_Held]:
    return (_Held(number, f"number {number}", value) for number, value in enumerate(values, 1))


def _lines(path: Path) -> Iterator[_Held]:
    """Yield the values of a file's lines; blank ones do not count, but have a number."""
    with path.open("rb") as file:
        for number, line in _filled(file):
            try:
                yield _Held(number, f"line {number}", read_bounded(line))
            except MalformedJson as exc:
                yield _Held(number, f"line {number}", None, str(exc))


def _has_lines(path: Path) -> bool:
    """Whether a file's first line is a value of its own, and not its only one.

    In a file named for lines the first may be damaged, if the second one is an object.
    """
    with path.open("rb") as file:
        lines = [line for _, line in islice(_filled(file), 2)]
    if len(lines) < 2:
        return False
    first, second = lines
    if _is_value(first):
        return True
    is_pretty = first.strip() in (b"[", b"{")
    return path.suffix.lower() in _LINES and not is_pretty and _is_value(second)


def _is_value(line: bytes) -> bool:
    try:
        read_bounded(line)
    except MalformedJson:
        return False
    return True


def _filled(file: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(file, 1):
        text = line.removeprefix(_BOM) if number == 1 else line
        if text.strip():
            yield number, text


def _whole(path: Path) -> Any:
    text = path.read_bytes().removeprefix(_BOM)
    if not text.strip():
        raise InvalidInput("the file is empty")
    try:
        return read_bounded(text)
    except MalformedJson as exc:
        raise InvalidInput(f"the file is neither JSON nor JSON lines: {exc}") from exc
