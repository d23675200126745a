"""The bodies of the last requests, and how little of the next one has to be read beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast
from urllib.parse import unquote
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.recording.plan import (
    Digests,
    Match,
    Outgoing,
    after_last,
    goes_on,
)
from onrecord.adapters.recording.state import ConversationState
from onrecord.adapters.wire.requests import WireRequest
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, OnrecordError
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.domain.request_template import Prefix
from onrecord.projections.api import known_api
from onrecord.projections.matching.template import Parent, RenderedRequest, common_start

# The tail of a request: what it says behind the bytes that it shares with the one before it.
#
# A program that keeps its own list sends all of it each time. Where a body begins with the very
# bytes of the last one, up to the end of its last message, only what follows has to be read.

_COMMA: Final = ord(",")
_MODELS: Final = ("assistant", "model")


@dataclass(frozen=True, slots=True)
class ParsedBody:
    """A body that was read, of which a later one may be the continuation.

    Its messages, but for those that are instructions, are bytes [start, end), the last of them of
    `role`; `history` and `prefix` are their digests, without and with instructions and tools.
    """

    body: bytes
    start: int
    end: int
    role: object
    sent: WireRequest
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

    before: ParsedBody
    short: bytes
    sent: WireRequest


def read_tail(before: ParsedBody, body: bytes, read: Callable[[bytes], WireRequest]) -> Tail | None:
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


def _leans_back(before: ParsedBody, sent: WireRequest) -> bool:
    """Whether a tail begins amid a turn: with results, or with more of what the model said."""
    role = sent.messages[0].get("role")
    return sent.answers_earlier or (role == before.role and role in _MODELS)


def parsed_body(
    body: bytes, sent: WireRequest, history: Prefix, prefix: Prefix
) -> ParsedBody | None:
    """Return what the next body is compared with; None where the messages are not found in this."""
    span = _span(body, sent)
    if span is None:
        return None
    return ParsedBody(body, *span, _last_role(sent), _head(sent), history, prefix)


def parsed_after_tail(
    tail: Tail, body: bytes, history: Prefix, prefix: Prefix
) -> ParsedBody | None:
    """Return the same of a body that is another one and a tail, without reading all of it."""
    before, span = tail.before, _span(tail.short, tail.sent)
    if span is None or span[0] != before.start:
        return None
    end = span[1] + len(body) - len(tail.short)
    role = _last_role(tail.sent)
    return ParsedBody(body, before.start, end, role, before.sent, history, prefix)


def _last_role(sent: WireRequest) -> object:
    return sent.messages[-1].get("role")


def _head(sent: WireRequest) -> WireRequest:
    """Return what is to be the same the next time; the rest is let go of."""
    return WireRequest(sent.api, {}, system=sent.system, tools=sent.tools)


def _span(body: bytes, sent: WireRequest) -> tuple[int, int] | None:
    """Return where a body's messages begin and end, if they are JSON as SDKs write it.

    That is compact, or spaced as Python's `json.dumps` does: botocore and google-genai have that.
    """
    name = known_api(sent.api).messages
    if not isinstance(sent.body.get(name), list) or not sent.messages:
        return None
    items = cast("list[Any]", sent.body[name])
    leading = items[: len(items) - len(sent.messages)]
    last, without = sent.messages[-1], {**sent.body, name: leading}
    opening = b'"%s":[' % name.encode() + b"".join(jsontext.write(item) + b"," for item in leading)
    span = _between(body, opening, jsontext.write(last), without, bool(leading))
    if span is not None or leading:
        return span
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
        return read_bounded_object(text) == value
    except OnrecordError:
        return False


_DEEPEST: Final = 32
_BLOCKS_A_REQUEST: Final = 4
"""How many requests a template may go back to: so many, or one for so many of its blocks. Then one
stands on what events say alone, whose size is that of the whole list: on a long one, rarely.
"""

_REMEMBERED: Final = 3
"""How many bodies are kept: a program's own calls, and what it asks for in between."""


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The body of a request that is recorded; `parsed` is None where none may go on from it."""

    parent: Parent
    parsed: ParsedBody | None


class RecentBodies:
    """The bodies of the last requests, the last one at the end."""

    def __init__(self) -> None:
        """Begin with none."""
        self._bodies: Newest[UUID, RequestBody] = Newest(_REMEMBERED)

    def copy(self) -> RecentBodies:
        """Return the same bodies, kept apart from here on."""
        other = RecentBodies()
        other._bodies.update(self._bodies)
        return other

    def keep(self, body: RequestBody) -> None:
        """Take note of a request that is recorded."""
        self._bodies[body.parent.request] = body

    def parent_of(self, body: bytes) -> Parent | None:
        """Return the request whose body shares most of its beginning with another one."""
        parents = [request_body.parent for request_body in reversed(list(self._bodies.values()))]
        return max(parents, key=lambda parent: common_start(body, parent.body), default=None)

    def shortened(self, api: str, body: bytes) -> bytes | None:
        """Return a body without what it shares with one of these; None if it shares nothing."""
        parsed_bodies = (request_body.parsed for request_body in list(self._bodies.values()))
        of_api = [parsed for parsed in parsed_bodies if parsed and parsed.sent.api == api]
        of_api.sort(key=lambda parsed: parsed.end - parsed.start, reverse=True)
        shorter = (parsed.shortened(body) for parsed in of_api)
        return next((short for short in shorter if short is not None), None)

    def of(self, request: UUID | None) -> RequestBody | None:
        """Return the body of a request, if it is one of these."""
        return None if request is None else self._bodies.get(request)


class Reading:
    """What one body says, read as far as it has to be."""

    def __init__(
        self, outgoing: Outgoing, bodies: RecentBodies, rendered: RenderedRequest | None
    ) -> None:
        """Read a request that is about to go out, beside those before it.

        `rendered` is the same request as it was rendered here, if it was.
        """
        self.outgoing = outgoing
        self.rendered = rendered
        self._bodies = bodies
        self._tail: Tail | None = None
        self._parent: Parent | None = None
        self._depth = 0
        self._whole: WireRequest | None = None
        self._is_read = False
        self._prefixes: tuple[Prefix, Prefix] | None = None

    @property
    def sent(self) -> WireRequest:
        """What the request asks: of its messages only the last, if the others are known."""
        sent = self._tail.sent if self._tail else self.whole()
        return sent or WireRequest(self.outgoing.api, read_bounded_object(self.outgoing.body))

    def whole(self) -> WireRequest | None:
        """Return all that the request asks; None where it makes no sense."""
        if self._tail is not None:
            self._tail = self._prefixes = None
        if not self._is_read:
            self._is_read = True
            try:
                read, compacts = self._read(self.outgoing.body), self.outgoing.compacts
                is_read_so = read.compacts == compacts
                self._whole = read if is_read_so else replace(read, compacts=compacts)
            except InvalidContent:
                self._whole = None
        return self._whole

    def after_last(self, state: ConversationState) -> Match | None:
        """Return how the request extends the main branch's last one, read no further than it has to be.

        None where it does not, or where more has to be read to tell. If it has answers that the main
        branch does not have, a side branch may have them: it goes on so if there is none.
        """
        if self.rendered is not None:
            for read in (partial(self.tail, state), self.whole):
                sent = read()
                if sent is not None and goes_on(sent, state, self.rendered.version):
                    return Match("extends", parent=state.last_id)
            return None
        tail = self.tail(state)
        return None if tail is None else after_last(tail, 0, state)

    def tail(self, state: ConversationState) -> WireRequest | None:
        """Return what the request asks behind the messages of the main branch's last one.

        None where it does not begin with these. Then, and once `whole` is asked for, all is read.
        """
        self._tail = self._prefixes = None
        last = self._bodies.of(state.last_id)
        before = None if last is None else last.parsed
        if last is None or before is None or before.sent.api != self.outgoing.api:
            return None
        if self.outgoing.compacts:
            return None
        self._tail, self._parent = read_tail(before, self.outgoing.body, self._read), last.parent
        return None if self._tail is None else self._tail.sent

    def parent(self) -> Parent | None:
        """Return the request whose body this one shares most of its beginning with.

        None where that goes back to too many others: a single one is to be joined soon enough.
        """
        is_known = self._tail is not None
        parent = self._parent if is_known else self._bodies.parent_of(self.outgoing.body)
        deepest = max(_DEEPEST, self._blocks // _BLOCKS_A_REQUEST)
        self._depth = 0 if parent is None or parent.depth >= deepest else parent.depth + 1
        return parent if self._depth else None

    def digests(self) -> Digests:
        """Return the digests of all that the request says.

        None of one that goes on by reference: what stands before it is the provider's.
        """
        whole = self._whole
        if self._tail is None and (
            whole is None or not whole.pieces or whole.refers_to is not None
        ):
            return Digests()
        history, prefix = self._running()
        return Digests(prefix.digest(), history.digest(), history.blocks)

    def body(self, request: UUID) -> RequestBody:
        """Return what is to be kept of the body, for what goes on from it."""
        outgoing = self.outgoing
        parent = Parent(request, outgoing.body, self._depth)
        if outgoing.cut or outgoing.compacts:
            return RequestBody(parent, None)
        if self._tail is not None:
            return RequestBody(
                parent, parsed_after_tail(self._tail, outgoing.body, *self._running())
            )
        if self._whole is None:
            return RequestBody(parent, None)
        return RequestBody(parent, parsed_body(outgoing.body, self._whole, *self._running()))

    def _read(self, body: bytes) -> WireRequest:
        return WIRES[self.outgoing.api].read_request(body, unquote(self.outgoing.path))

    @property
    def _blocks(self) -> int:
        """How many blocks the request has."""
        if self._tail is not None:
            return self._tail.before.history.blocks + len(self._tail.sent.pieces)
        return 0 if self._whole is None else len(self._whole.pieces)

    def _running(self) -> tuple[Prefix, Prefix]:
        """Return the digests of the messages, without and with what is in force.

        The messages of a request for a summary are no beginning that others would share.
        """
        if self._prefixes is None:
            self._prefixes = self._run()
        return self._prefixes

    def _run(self) -> tuple[Prefix, Prefix]:
        if self._tail is not None:
            before = self._tail.before
            history, prefix = before.history.copy(), before.prefix.copy()
            pieces, is_beginning = self._tail.sent.pieces, True
        else:
            whole = self._whole or WireRequest(self.outgoing.api, {})
            history, prefix = Prefix(), Prefix(whole.system, whole.tools)
            pieces, is_beginning = whole.pieces, not whole.compacts
        for piece in pieces:
            prefix.add_encoded(piece.encoded)
            if is_beginning:
                history.add_encoded(piece.encoded)
        return history, prefix
