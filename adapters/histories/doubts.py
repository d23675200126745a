"""What is dubious in a history: what no recorder would have seen like that on a wire."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.histories.foreign_history import Doubt, Entry, Transcript
from onrecord.adapters.wire.answer import named
from onrecord.domain import events, jsontext
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Opaque, Text
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Event
from onrecord.projections.api import neutral_of

_CUT: Final = re.compile(r"(?:\[|<|\()?(?:\.{3}|…)?\s*truncated\W*$", re.IGNORECASE)
_CUT_AT_MOST: Final = 40
_DATA_URL: Final = re.compile(r"data:[^,]{0,200};base64,")
_TEXT_TYPES: Final = frozenset({"text", "input_text", "output_text"})


def doubts_of(transcript: Transcript) -> tuple[Doubt, ...]:
    """Return what is dubious in a transcript, in its order; no two lines of a place are alike."""
    doubts = [
        *_unpaired(transcript.entries),
        *_out_of_turn(transcript.entries),
        *_blank(transcript.entries),
        *_unknown(transcript.entries, transcript.blobs),
        *_truncated(transcript.entries, transcript.blobs),
    ]
    order = {entry.place: at for at, entry in reversed(list(enumerate(transcript.entries)))}
    return tuple(sorted(dict.fromkeys(doubts), key=lambda doubt: order[doubt.place]))


def _unpaired(entries: Iterable[Entry]) -> Iterator[Doubt]:
    waiting: dict[str, str] = {}
    for event, place, _ in entries:
        match event:
            case events.ToolCallRecorded(awaited=True):
                waiting[event.call_id] = place
            case events.ToolResultRecorded(line=None):
                if waiting.pop(event.call_id, None) is None:
                    yield Doubt("no call", place, "a result of no call before it")
            case _:
                continue
    for place in waiting.values():
        yield Doubt("no result", place, "a call without a result: it is open")


def _out_of_turn(entries: Iterable[Entry]) -> Iterator[Doubt]:
    """Yield where a speaker follows himself, or the assistant speaks first."""
    speaker, last = "nobody", ""
    for event, place, _ in entries:
        match event:
            case events.MessageRecorded(role="user"):
                if speaker == "user" and place != last:
                    yield Doubt("alternation", place, "the user speaks twice in a row")
                speaker, last = "user", place
            case events.MessageRecorded(role="system") | events.InstructionsSet():
                continue
            case events.ToolResultRecorded():
                speaker = "tool"
            case _ if (response := _response(event)) is not None:
                if speaker == "nobody":
                    yield Doubt("alternation", place, "the assistant speaks first")
                elif speaker == "assistant" and last != str(response):
                    yield Doubt("alternation", place, "the assistant speaks twice in a row")
                speaker, last = "assistant", str(response)
            case _:
                continue


def _blank(entries: Iterable[Entry]) -> Iterator[Doubt]:
    messages = list(entries)
    says_more = {
        _response(entry.event)
        for entry in messages
        if not isinstance(entry.event, events.MessageRecorded)
    }
    for event, place, _ in messages:
        match event:
            case events.MessageRecorded(content=content):
                blank = any(_is_blank_block(block) for block in content)
                empty = event.response not in says_more and any(map(_is_blank_message, content))
                if blank or empty:
                    yield Doubt("blank", place, "a text is blank")
            case _:
                continue


def _unknown(entries: Iterable[Entry], blobs: Mapping[str, bytes]) -> Iterator[Doubt]:
    for event, place, _ in entries:
        match event:
            case events.OpaqueRecorded():
                yield _opaque(place, event.type)
            case events.MessageRecorded(content=content):
                for block in content:
                    if isinstance(block, Native) and (kind := _opaque_kind(block, blobs)):
                        yield _opaque(place, kind)
            case _:
                continue


def _truncated(entries: Iterable[Entry], blobs: Mapping[str, bytes]) -> Iterator[Doubt]:
    for event, place, _ in entries:
        is_call = isinstance(event, events.ToolCallRecorded)
        for block in _blocks(event):
            match block:
                case Text(text=text) if not is_call and _is_cut(text):
                    yield Doubt("truncated", place, "a text or a document seems to be cut")
                case Native(value=value) if is_call and _has_cut_arguments(restore(value, blobs)):
                    yield Doubt("truncated", place, "the arguments of a call are no whole JSON")
                case Native(value=value) if not is_call and _holds_cut(restore(value, blobs)):
                    yield Doubt("truncated", place, "a text or a document seems to be cut")
                case _:
                    continue


def _blocks(event: Event) -> tuple[object, ...]:
    content: object = getattr(event, "content", None)
    return cast("tuple[object, ...]", content) if isinstance(content, tuple) else (content,)


def _response(event: Event) -> UUID | None:
    return getattr(event, "response", None)


def _is_blank_block(block: object) -> bool:
    match block:
        case Text(text=text):
            return not text.strip()
        case Native(value={"type": str(kind), "text": str(text)}) if kind in _TEXT_TYPES:
            return not text.strip()
        case _:
            return False


def _is_blank_message(block: object) -> bool:
    """Whether a block that is a whole message says nothing, or only blank text."""
    match block.value if isinstance(block, Native) else None:
        case {"role": str(), "content": str(text), **more}:
            return not text.strip() and not more.get("refusal") and not more.get("audio")
        case {"role": str(), "content": [*parts]}:
            return all(map(_is_blank_part, parts))
        case _:
            return False


def _is_blank_part(part: object) -> bool:
    match part:
        case {"text": str(text)}:
            return not text.strip()
        case _:
            return False


def _opaque(place: str, kind: str) -> Doubt:
    return Doubt(
        "opaque", place, f"a block of type {named(kind)}: kept as it is, for its API alone"
    )


def _opaque_kind(block: Native, blobs: Mapping[str, bytes]) -> str | None:
    entry = neutral_of(block.api, restore(block.value, blobs))
    return (entry.type or "none") if isinstance(entry, Opaque) else None


def _holds_cut(value: Any) -> bool:
    match value:
        case str():
            return _is_cut(value)
        case {"type": "base64", "data": str(data)} if not _is_base64(data):
            return True
        case dict():
            return any(map(_holds_cut, cast("dict[str, Any]", value).values()))
        case list():
            return any(map(_holds_cut, cast("list[Any]", value)))
        case _:
            return False


def _is_cut(text: str) -> bool:
    if (beginning := _DATA_URL.match(text)) is not None:
        return not _is_base64(text[beginning.end() :])
    return _CUT.search(text[-_CUT_AT_MOST:]) is not None


def _is_base64(data: str) -> bool:
    try:
        binascii.a2b_base64(data.encode(), strict_mode=True)
    except ValueError:
        return False
    return True


def _has_cut_arguments(call: dict[str, Any]) -> bool:
    """Whether the arguments of a call are the beginning of a JSON text (OpenAI's are a text)."""
    match call:
        case {"function": {"arguments": str(text)}} | {"arguments": str(text)} if text.strip():
            pass
        case _:
            return False
    try:
        jsontext.read(text)
    except MalformedJson:
        return True
    return False
