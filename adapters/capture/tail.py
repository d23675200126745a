"""The tail of a request: what it says behind the bytes that it shares with the one before it.

A program that keeps its own list sends all of it each time. Where a body begins with the very bytes
of the last one, up to the end of its last message, only what follows has to be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from onrecord.adapters.capture.nesting import read_object
from onrecord.adapters.capture.sent import Sent
from onrecord.domain import jsontext
from onrecord.domain.errors import OnrecordError
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import Prefix
from onrecord.projections.api import known_api

_COMMA: Final = ord(",")
_MODELS: Final = ("assistant", "model")


@dataclass(frozen=True, slots=True)
class ReadBody:
    """A body that was read, of which a later one may be the continuation.

    Its messages, but for those that are instructions, are bytes [start, end), the last of them of
    `role`; `history` and `prefix` are their digests, without and with instructions and tools.
    """

    body: bytes
    start: int
    end: int
    role: object
    sent: Sent
    history: Prefix
    prefix: Prefix

    def shortened(self, body: bytes) -> bytes | None:
        """Return a body without the messages that it shares with this one; None if it does not."""
        # Not copied to be compared: a body may have many megabytes.
        if not body.startswith(memoryview(self.body)[: self.end]):
            return None
        match body[self.end : self.end + 1]:
            case b",":
                return body[: self.start] + body[self.end + 1 :]
            case b"]":
                # Nothing follows: instructions that lead the list stand before a comma.
                start = self.start - (body[self.start - 1] == _COMMA)
                return body[:start] + body[self.end :]
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Tail:
    """What a body says behind the messages of the one before it; `short` is it without them."""

    before: ReadBody
    short: bytes
    sent: Sent


def read_tail(before: ReadBody, body: bytes, read: Callable[[bytes], Sent]) -> Tail | None:
    """Return what a body says behind the messages of another one, if it goes on from that.

    None where it does not, where nothing follows, where instructions or tools are others, or where
    what follows is read otherwise behind the messages before it.
    """
    short = before.shortened(body)
    if short is None:
        return None
    try:
        sent = read(short)
    except OnrecordError:
        return None
    is_same = sent.system == before.sent.system and sent.tools == before.sent.tools
    is_plain = sent.refers_to is None and sent.thread is None
    if not (sent.pieces and is_same and is_plain) or _leans_back(before, sent):
        return None
    return Tail(before, short, sent)


def _leans_back(before: ReadBody, sent: Sent) -> bool:
    """Whether a tail begins amid a turn: with results, or with more of what the model said."""
    role = sent.messages[0].get("role")
    return sent.answers_earlier or (role == before.role and role in _MODELS)


def begun_with(body: bytes, sent: Sent, history: Prefix, prefix: Prefix) -> ReadBody | None:
    """Return what is to be known of a body to go on from it; None where that cannot be told."""
    span = _span(body, sent)
    if span is None:
        return None
    return ReadBody(body, *span, _last_role(sent), _head(sent), history, prefix)


def gone_on(tail: Tail, body: bytes, history: Prefix, prefix: Prefix) -> ReadBody | None:
    """Return the same of a body that goes on from another one with a tail."""
    before, span = tail.before, _span(tail.short, tail.sent)
    if span is None or span[0] != before.start:
        return None
    end = span[1] + len(body) - len(tail.short)
    role = _last_role(tail.sent)
    return ReadBody(body, before.start, end, role, before.sent, history, prefix)


def _last_role(sent: Sent) -> object:
    return sent.messages[-1].get("role")


def _head(sent: Sent) -> Sent:
    """Return what is to be the same the next time; the rest is let go of."""
    return Sent(sent.api, {}, system=sent.system, tools=sent.tools)


def _span(body: bytes, sent: Sent) -> tuple[int, int] | None:
    """Return where a body's messages begin and end, if they are JSON as SDKs write it.

    That is compact, or spaced as Python's `json.dumps` does: botocore and google-genai have that.
    """
    name = known_api(sent.api).messages
    if not isinstance(sent.body.get(name), list) or not sent.messages:
        return None
    items = cast("list[Any]", sent.body[name])
    leading = items[: len(items) - len(sent.messages)]
    last, without = sent.messages[-1], {**sent.body, name: leading}
    opening = b'"%s":[' % name.encode() + b"".join(jsontext.write(it) + b"," for it in leading)
    found = _between(body, opening, jsontext.write(last), without, bool(leading))
    if found is not None or leading:
        return found
    return _between(body, b'"%s": [' % name.encode(), json.dumps(last).encode(), without)


def _between(
    body: bytes, opening: bytes, last: bytes, without: JsonObject, comma: bool = False
) -> tuple[int, int] | None:
    """Return where messages begin and end between two texts.

    That is proven: without these bytes it is the same request, without messages.
    """
    start, at = body.find(opening), body.rfind(last + b"]")
    if start < 0 or at < start + len(opening):
        return None
    start, end = start + len(opening), at + len(last)
    return (start, end) if _is_object(body[: start - comma] + body[end:], without) else None


def _is_object(text: bytes, value: JsonObject) -> bool:
    try:
        return read_object(text) == value
    except OnrecordError:
        return False
