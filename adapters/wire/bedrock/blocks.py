"""A block of a Bedrock stream while it arrives: what it began as, and its deltas since.

Rules: docs.aws.amazon.com, "ContentBlockStart", "ContentBlockDelta". Only calls, results and
pictures have a start; text and reasoning begin with their first delta. Texts, the JSON of an input
and binary data are joined; a citation is one more of the text at the same place, which is a block
of cited text then.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from onrecord.adapters.wire.answer import named
from onrecord.adapters.wire.stream_reader import OpenBlock, in_whole_characters
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject, read_bounded


class OpenBedrockBlock(OpenBlock, Protocol):
    """A block that has begun and not yet stopped."""

    def add(self, member: str, piece: Any) -> str | None:
        """Take a delta in; return why it could not be, and then the block stays as it was."""
        ...

    @property
    def may_stay_open(self) -> bool:
        """Whether all that came of it counts though nothing says that it stopped."""
        ...


def begun(start: JsonObject) -> OpenBedrockBlock | None:
    """Return the block of a start event; None where it says nothing of its kind."""
    if not start:
        return None
    member, value = next(iter(start.items()))
    if member in _STARTED and isinstance(value, dict):
        return _STARTED[member](cast("JsonObject", value))
    return _Whole(start)


def begun_by(member: str) -> OpenBedrockBlock | None:
    """Return the block that begins with a delta; None where no block is known to grow by it."""
    if member in ("text", "citation"):
        return _Spoken()
    if member == "reasoningContent":
        return _Thought()
    return _STARTED[member]({}) if member in _STARTED else None


class _Whole:
    """A block of an unknown kind: what it began as is all that can be kept."""

    may_stay_open = False

    def __init__(self, start: JsonObject) -> None:
        self._start = start

    def add(self, member: str, piece: Any) -> str | None:
        return _misfit(member)

    def stop(self) -> JsonObject:
        return self._start

    def unfinished(self, index: int) -> Unfinished:
        return Unfinished(index=index, value=self._start, partial="")


class _Spoken:
    """Text, and what it cites."""

    may_stay_open = True

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._citations: list[Any] = []

    def add(self, member: str, piece: Any) -> str | None:
        match member, piece:
            case "text", str():
                self._pieces.append(piece)
            case "citation", dict():
                self._citations.append(piece)
            case _:
                return _misfit(member)
        return None

    def stop(self) -> JsonObject:
        return self._holding(_joined(self._pieces))

    def unfinished(self, index: int) -> Unfinished:
        return Unfinished(index=index, value=self._holding(""), partial=_joined(self._pieces))

    def _holding(self, text: str) -> JsonObject:
        if not self._citations:
            return {"text": text}
        return {"citationsContent": {"content": [{"text": text}], "citations": self._citations}}


class _Thought:
    """Reasoning, with the signature that proves it, or encrypted."""

    may_stay_open = False

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._sealed: list[str] = []
        self._signature: str | None = None

    def add(self, member: str, piece: Any) -> str | None:
        match piece:
            case _ if member != "reasoningContent":
                return _misfit(member)
            case {"text": str(text), **more} if not (more or self._sealed):
                self._pieces.append(text)
            case {"signature": str(signature), **more} if not (more or self._sealed):
                return self._sign(signature)
            case {"redactedContent": str(data), **more} if not (more or self._is_plain):
                self._sealed.append(data)
            case _:
                return _misfit(member)
        return None

    def stop(self) -> JsonObject:
        return self._holding(_joined(self._pieces))

    def unfinished(self, index: int) -> Unfinished:
        return Unfinished(index=index, value=self._holding(""), partial=_joined(self._pieces))

    @property
    def _is_plain(self) -> bool:
        return bool(self._pieces) or self._signature is not None

    def _sign(self, signature: str) -> str | None:
        """Sign it; a second signature replaces the first, as Anthropic's do."""
        before, self._signature = self._signature, signature
        return None if before in (None, signature) else "a second signature of a block"

    def _holding(self, text: str) -> JsonObject:
        if self._sealed:
            return {"reasoningContent": {"redactedContent": _joined_data(self._sealed)}}
        signature = {} if self._signature is None else {"signature": self._signature}
        return {"reasoningContent": {"reasoningText": {"text": text, **signature}}}


class _Call:
    """A call of a tool, whose input arrives as the pieces of a JSON text."""

    may_stay_open = False

    def __init__(self, start: JsonObject) -> None:
        self._start = start
        self._pieces: list[str] = []

    def add(self, member: str, piece: Any) -> str | None:
        match piece:
            case {"input": str(text), **more} if member == "toolUse" and not more:
                self._pieces.append(text)
                return None
            case _:
                return _misfit(member)

    def stop(self) -> JsonObject:
        text = _joined(self._pieces)
        return {"toolUse": {**self._start, "input": read_bounded(text) if text.strip() else {}}}

    def unfinished(self, index: int) -> Unfinished:
        partial = _joined(self._pieces)
        return Unfinished(index=index, value={"toolUse": self._start}, partial=partial)


class _Result:
    """What a tool gave that Bedrock runs: parts, of which neighbouring texts are one."""

    may_stay_open = False

    def __init__(self, start: JsonObject) -> None:
        self._start = start
        self._content: list[Any] = []

    def add(self, member: str, piece: Any) -> str | None:
        if member != "toolResult" or not isinstance(piece, list):
            return _misfit(member)
        for part in cast("list[Any]", piece):
            match self._content[-1:], part:
                case [{"text": str(before), **others}], {"text": str(text), **more} if not (
                    others or more
                ):
                    self._content[-1] = {"text": _joined([before, text])}
                case _:
                    self._content.append(part)
        return None

    def stop(self) -> JsonObject:
        return {"toolResult": {**self._start, "content": self._content}}

    def unfinished(self, index: int) -> Unfinished:
        return Unfinished(index=index, value=self.stop(), partial="")


class _Picture:
    """A picture, whose bytes may arrive in pieces."""

    may_stay_open = False

    def __init__(self, start: JsonObject) -> None:
        self._value = dict(start)
        self._data: list[str] = []

    def add(self, member: str, piece: Any) -> str | None:
        match piece:
            case {"source": {"bytes": str(data), **others}, **more} if member == "image" and not (
                others or more
            ):
                self._data.append(data)
            case {"source": {"bytes": _, **others}} if others:
                return _misfit(member)
            case dict() if member == "image" and not self._value.keys() & piece.keys():
                self._value.update(cast("JsonObject", piece))
            case _:
                return _misfit(member)
        return None

    def stop(self) -> JsonObject:
        source = {"source": {"bytes": _joined_data(self._data)}} if self._data else {}
        return {"image": {**self._value, **source}}

    def unfinished(self, index: int) -> Unfinished:
        return Unfinished(index=index, value=self.stop(), partial="")


_STARTED: Final[Mapping[str, Callable[[JsonObject], OpenBedrockBlock]]] = {
    "toolUse": _Call,
    "toolResult": _Result,
    "image": _Picture,
}


def _misfit(member: str) -> str:
    return f"a delta of {named(member)} that does not fit its block"


def _joined(pieces: list[str]) -> str:
    return in_whole_characters("".join(pieces))


def _joined_data(pieces: list[str]) -> str:
    """Return base64 in pieces as one; each piece may end with padding of its own."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        data = b"".join(base64.b64decode(piece, validate=True) for piece in pieces)
    except (binascii.Error, ValueError):
        return "".join(pieces)
    return base64.b64encode(data).decode()
