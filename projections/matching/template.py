"""The body of a request as a template: what is stored of it, and how it comes back.

A body repeats what is stored already: what the request before it held, and what events hold. Those
spans are references, the rest is kept as it is; joined in order they are the body, byte for byte,
and the digest proves it. No rule of rendering has a part in it, so any release can join it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never
from uuid import UUID

from onrecord.domain import jsontext
from onrecord.domain.blobs import LIMIT, blob_of
from onrecord.domain.content import Blob
from onrecord.domain.errors import CorruptRecord, MalformedJson, OnrecordError
from onrecord.domain.events import RequestSent
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import (
    BlobSpan,
    ContentSpan,
    EncodedSpan,
    LiteralSpan,
    Recipe,
    SharedSpan,
    Span,
    Template,
)
from onrecord.projections.matching.sources import (
    WORTH_SHARING,
    Place,
    Source,
    Sources,
    pointed,
    sources,
)

if TYPE_CHECKING:
    from onrecord.projections.apis.request import Request

# How much two texts have in common at their ends, in whole UTF-8 characters.


def common_start(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts share at their start, by halves: comparing is in C."""
    low, high = 0, min(len(one), len(other))
    seen = memoryview(other)  # Not copied to be compared: a body may have many megabytes.
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(seen[low:middle], low):
            low = middle
        else:
            high = middle - 1
    while 0 < low < len(one) and _is_inside(one[low]):
        low -= 1
    return low


def common_end(one: bytes, other: bytes, most: int) -> int:
    """Return how many bytes, at the most so many, two texts share at their end."""
    low, high = 0, most
    seen = memoryview(other)
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(seen[len(other) - middle : len(other) - low], len(one) - middle):
            low = middle
        else:
            high = middle - 1
    while low and _is_inside(one[len(one) - low]):
        low -= 1
    return low


def _is_inside(byte: int) -> bool:
    """Whether a byte continues a character (RFC 3629)."""
    return byte & 0b1100_0000 == 0b1000_0000


_FEW: Final = 32
"""How many events are looked for in a body as it is; for more, the body is read."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The body of an earlier request, as it was sent (secrets cut).

    `depth` is how many requests its own template goes back to, one behind the other.
    """

    request: UUID
    body: bytes
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What a template is joined from, each by its id or digest.

    `bodies` are those of events, `requests` those of earlier requests.
    """

    bodies: Mapping[UUID, bytes] = field(default_factory=dict[UUID, bytes])
    requests: Mapping[UUID, bytes] = field(default_factory=dict[UUID, bytes])
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def split(
    body: bytes,
    *,
    known: Iterable[Source] = (),
    parent: Parent | None = None,
    cut: tuple[str, ...] = (),
) -> tuple[Template, dict[str, bytes]]:
    """Return the template of a body (UTF-8), and the bytes that it keeps in blobs, by digest.

    `known` are events whose content the body may repeat, `parent` is a request whose template is
    stored already. Where that is much, a body that is not compact JSON refers to its parent only.
    """
    head, tail = _shared(body, parent)
    known_sources = tuple(known)
    index = sources(known_sources)
    end = len(body) - tail
    if len(known_sources) > _FEW:
        whole = _places(body, index)
        places = [place for place in whole if place.start >= head and place.end <= end]
    else:
        places = index.search(body, head, end)
    spans = [*_between(body, places, head, end)]
    if parent is not None and head:
        spans.insert(0, SharedSpan(request=parent.request, start=0, size=head))
    if parent is not None and tail:
        start = len(parent.body) - tail
        spans.append(SharedSpan(request=parent.request, start=start, size=tail))
    shortened, blobs = _out_of_line(spans)
    return Template(spans=shortened, sha256=_digest(body), size=len(body), cut=cut), blobs


def join(template: Template, stored: Stored) -> bytes:
    """Return the body that a template stands for, proven by its digest.

    CorruptRecord where a span refers to what was not given, or the digest is another.
    """
    try:
        body = b"".join(_bytes_of(span, stored) for span in template.spans)
    except (LookupError, ValueError) as exc:
        raise CorruptRecord("a part of a request's template is missing") from exc
    if _digest(body) != template.sha256:
        raise CorruptRecord("a request's template joins to other bytes than were sent")
    return body


def references_of(template: Template) -> frozenset[UUID]:
    """Return the events that a template refers to: requests before it, and what was said."""
    requests = (span.request for span in template.spans if isinstance(span, SharedSpan))
    events = (span.event for span in template.spans if isinstance(span, ContentSpan))
    return frozenset((*requests, *events))


def _bytes_of(span: Span, stored: Stored) -> bytes:
    match span:
        case LiteralSpan():
            return span.text.encode()
        case ContentSpan():
            return jsontext.write(pointed(stored.bodies[span.event], span.pointer))
        case SharedSpan():
            return stored.requests[span.request][span.start : span.start + span.size]
        case BlobSpan():
            return stored.blobs[span.blob.sha256]
        case EncodedSpan():
            return base64.b64encode(stored.blobs[span.blob.sha256])
        case _:
            assert_never(span)


def _shared(body: bytes, parent: Parent | None) -> tuple[int, int]:
    """Return how many bytes the body shares with its parent at its start and at its end."""
    if parent is None:
        return 0, 0
    head = common_start(body, parent.body)
    tail = common_end(body, parent.body, min(len(body), len(parent.body)) - head)
    return head if head >= WORTH_SHARING else 0, tail if tail >= WORTH_SHARING else 0


def _places(body: bytes, index: Sources) -> list[Place]:
    """Return where the body repeats what events hold, in order."""
    if index.is_empty:
        return []
    try:
        text, places = index.find(jsontext.read(body))
    except MalformedJson:
        return []
    return places if text == body else []


def _between(body: bytes, places: Sequence[Place], start: int, end: int) -> Iterator[Span]:
    for place in places:
        yield from _literal(body[start : place.start])
        yield place.span
        start = place.end
    yield from _literal(body[start:end])


def _literal(data: bytes) -> Iterator[LiteralSpan]:
    if data:
        yield LiteralSpan(text=data.decode())


def _out_of_line(spans: Sequence[Span]) -> tuple[tuple[Span, ...], dict[str, bytes]]:
    """Move long literals into blobs."""
    shortened: list[Span] = []
    blobs: dict[str, bytes] = {}
    for span in spans:
        data = span.text.encode() if isinstance(span, LiteralSpan) else b""
        if len(data) <= LIMIT:
            shortened.append(span)
            continue
        blob = blob_of(data)
        blobs[blob.sha256] = data
        shortened.append(BlobSpan(blob=blob))
    return tuple(shortened), blobs


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


# What a replay proves of a request: that its bytes are all there, and that they come about again.


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that was sent: its event, where it stands, and what happened."""

    version: int
    request: UUID
    event: RequestSent


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the replay of one request came to.

    `is_whole`: the template joins to bytes of the digest that was taken when they were sent.
    `is_rendered`: rendering again, as the recipe says, gives the same bytes; None where that says
    nothing, because the program made its request itself or another release rendered it. `remark`
    says what went wrong, or why nothing is said.
    """

    sent: Sent
    is_whole: bool
    is_rendered: bool | None = None
    remark: str | None = None

    @property
    def is_proven(self) -> bool:
        """Whether nothing is left to doubt."""
        return self.is_whole and self.is_rendered is not False


def sent_in(recorded: Iterable[RecordedEvent]) -> Iterator[Sent]:
    """Yield the requests among recorded events, those on side branches too."""
    for event in recorded:
        if event.type == "request.sent":
            happened = event.event()
            if isinstance(happened, RequestSent):
                yield Sent(event.version, event.event_id, happened)


def last_uses(sent: Iterable[Sent]) -> dict[UUID, UUID]:
    """Return for each event that a template refers to the last request that does so.

    Until then its body has to be held, or, of a request, the body that was sent.
    """
    return {used: item.request for item in sent for used in references_of(item.event.template)}


def needed_requests(sent: Iterable[Sent], request: UUID) -> dict[UUID, Sent]:
    """Return a request and those that it is joined from, in the order in which they were sent."""
    by_id = {item.request: item for item in sent}
    needed, undecided = set[UUID](), [request]
    while undecided:
        item = by_id.get(undecided.pop())
        if item is not None and item.request not in needed:
            needed.add(item.request)
            undecided += references_of(item.event.template)
    return {each: item for each, item in by_id.items() if each in needed}


def held_blobs(sent: Sent) -> tuple[Blob, ...]:
    """Return the blobs that a request's template is joined from."""
    return blobs_in(sent.event.template)


def blobs_in(template: Template) -> tuple[Blob, ...]:
    """Return the blobs that stand in a template itself, and in no event that it refers to."""
    spans = (span for span in template.spans if isinstance(span, BlobSpan | EncodedSpan))
    return tuple(span.blob for span in spans)


def replay(sent: Sent, stored: Stored) -> tuple[Outcome, bytes]:
    """Join a request again; return whether it is whole, and its body (empty if it is not)."""
    try:
        return Outcome(sent, True), join(sent.event.template, stored)
    except CorruptRecord as exc:
        return Outcome(sent, False, remark=str(exc)), b""


class RequestReplay:
    """The replay of requests in the order in which they were sent.

    The bytes that later requests refer to are held no longer than until the last of them.
    """

    def __init__(self, sent: Iterable[Sent], blob_of: Callable[[Blob], bytes]) -> None:
        """Begin before the first of the requests that are `sent`."""
        self._blob_of = blob_of
        self._bodies: dict[UUID, bytes] = {}
        self._requests: dict[UUID, bytes] = {}
        self._needed = last_uses(sent)
        self._last_used: dict[UUID, list[UUID]] = {}
        """What each request is the last one to refer to."""
        for event, request in self._needed.items():
            self._last_used.setdefault(request, []).append(event)

    def take(self, recorded: RecordedEvent) -> tuple[Outcome, bytes] | None:
        """Return what the replay of the next event comes to, and its body, if it is a request."""
        if recorded.event_id in self._needed and recorded.body is not None:
            self._bodies[recorded.event_id] = recorded.body
        for sent in sent_in((recorded,)):
            outcome, body = self._replay(sent)
            if outcome.is_whole and sent.request in self._needed:
                self._requests[sent.request] = body
            for used in self._last_used.pop(sent.request, ()):
                self._bodies.pop(used, None)
                self._requests.pop(used, None)
            return outcome, body
        return None

    def _replay(self, sent: Sent) -> tuple[Outcome, bytes]:
        try:
            blobs = {blob.sha256: self._blob_of(blob) for blob in held_blobs(sent)}
        except OnrecordError as exc:
            return Outcome(sent, False, remark=str(exc)), b""
        return replay(sent, Stored(self._bodies, self._requests, blobs))


@dataclass(frozen=True)
class RenderedRequest:
    """A request, the version it was made at, and what reads the events that it was made of."""

    request: Request
    version: int
    sources: Callable[[], tuple[Source, ...]]

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe to make it again; made once, if at all: most requests are sent by other means."""
        # Late: what joins bodies needs nothing that renders.
        from onrecord.projections.apis.request import recipe_of

        return recipe_of(self.request.options, self.version)

    @cached_property
    def parts(self) -> Mapping[str, bytes]:
        """The parts that the recipe makes again, by name, as compact JSON; made once, if at all."""
        return self.request.body_parts()


def compare(body: bytes, rendered: Mapping[str, bytes]) -> bool:
    """Whether a body holds each part of a request, by its name, as it is rendered."""
    return all(f'"{part}":'.encode() + data in body for part, data in rendered.items())
