"""The body of a request as a template: what is stored of it, and how it comes back.

A body repeats what is stored already: what the recipe renders, what the request before it held.
Those spans are references, the rest is kept as it is; joined in order they are the body, byte for
byte, and the digest proves it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never
from uuid import UUID

from hansard.domain.blobs import LIMIT, blob_of
from hansard.domain.errors import CorruptRecord
from hansard.domain.events import (
    BlobSpan,
    LiteralSpan,
    RenderedSpan,
    SharedSpan,
    Span,
    Template,
)

Part: TypeAlias = Literal["messages", "system", "tools"]
"""A part of a request that a recipe renders."""

PARTS: Final[tuple[Part, ...]] = ("messages", "system", "tools")
WORTH_SHARING: Final = 128
"""A span of fewer bytes costs less as it is than as a reference."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The body of an earlier request, as it was sent (secrets cut)."""

    request: UUID
    body: bytes


_NO_BYTES: Final[Mapping[str, bytes]] = {}
_NO_BODIES: Final[Mapping[UUID, bytes]] = {}


def split(
    body: bytes,
    *,
    rendered: Mapping[Part, bytes] | None = None,
    parent: Parent | None = None,
    cut: tuple[str, ...] = (),
) -> tuple[Template, dict[str, bytes]]:
    """Return the template of a body (UTF-8), and the bytes that it keeps in blobs, by digest.

    `rendered` are the compact JSON of the parts that a recipe makes again, `parent` is a request
    whose template is stored already. The template is verified: where references do not join to the
    body, it holds the body itself.
    """
    for spans in _candidates(body, rendered, parent):
        kept, blobs = _out_of_line(spans)
        template = Template(spans=kept, sha256=_digest(body), size=len(body), cut=cut)
        parents = {parent.request: parent.body} if parent else _NO_BODIES
        if _joins(template, body, rendered or {}, parents, blobs):
            return template, blobs
    raise AssertionError("a body does not equal itself")  # pragma: no cover


def join(
    template: Template,
    *,
    rendered: Mapping[Part, bytes] | None = None,
    parents: Mapping[UUID, bytes] = _NO_BODIES,
    blobs: Mapping[str, bytes] = _NO_BYTES,
) -> bytes:
    """Return the body that a template stands for, proven by its digest.

    CorruptRecord where a span refers to what was not given, or the digest is another.
    """
    body = _joined(template.spans, rendered or {}, parents, blobs)
    if _digest(body) != template.sha256:
        raise CorruptRecord("a request's template joins to other bytes than were sent")
    return body


def parents_of(template: Template) -> frozenset[UUID]:
    """Return the requests whose bodies a template refers to."""
    return frozenset(span.request for span in template.spans if isinstance(span, SharedSpan))


def parts_of(template: Template) -> frozenset[Part]:
    """Return the parts that a template leaves to its recipe."""
    return frozenset(span.part for span in template.spans if isinstance(span, RenderedSpan))


def _candidates(
    body: bytes, rendered: Mapping[Part, bytes] | None, parent: Parent | None
) -> Iterator[tuple[Span, ...]]:
    """Yield templates, the shortest first; the last one is the body itself."""
    if rendered:
        yield _with_rendered(body, rendered)
    if parent:
        yield _with_shared(body, parent)
    yield (_literal(body),)


def _joins(
    template: Template,
    body: bytes,
    rendered: Mapping[Part, bytes],
    parents: Mapping[UUID, bytes],
    blobs: Mapping[str, bytes],
) -> bool:
    try:
        return _joined(template.spans, rendered, parents, blobs) == body
    except CorruptRecord:
        return False


def _joined(
    spans: Sequence[Span],
    rendered: Mapping[Part, bytes],
    parents: Mapping[UUID, bytes],
    blobs: Mapping[str, bytes],
) -> bytes:
    try:
        return b"".join(_bytes_of(span, rendered, parents, blobs) for span in spans)
    except KeyError as exc:
        raise CorruptRecord("a part of a request's template is missing") from exc


def _bytes_of(
    span: Span,
    rendered: Mapping[Part, bytes],
    parents: Mapping[UUID, bytes],
    blobs: Mapping[str, bytes],
) -> bytes:
    match span:
        case LiteralSpan():
            return span.text.encode()
        case RenderedSpan():
            return rendered[span.part]
        case SharedSpan():
            return parents[span.request][span.start : span.start + span.size]
        case BlobSpan():
            return blobs[span.blob.sha256]
        case _:
            assert_never(span)


def _with_rendered(body: bytes, rendered: Mapping[Part, bytes]) -> tuple[Span, ...]:
    """Cut the body around the members that the recipe renders, wherever they stand in it."""
    found = sorted(_places(body, rendered))
    spans: list[Span] = []
    at = 0
    for start, part in found:
        if start < at:
            continue
        spans += _literals(body[at:start])
        spans.append(RenderedSpan(part=part))
        at = start + len(rendered[part])
    return (*spans, *_literals(body[at:]))


def _places(body: bytes, rendered: Mapping[Part, bytes]) -> Iterator[tuple[int, Part]]:
    for part, data in rendered.items():
        name = f'"{part}":'.encode()
        start = body.find(name + data)
        if start >= 0:
            yield start + len(name), part


def _with_shared(body: bytes, parent: Parent) -> tuple[Span, ...]:
    """Refer to the parent for what both begin and end with, where that is worth it."""
    head = _back_to_character(body, _common_start(body, parent.body))
    most = min(len(body), len(parent.body)) - head
    tail = _on_to_character(body, _common_end(body, parent.body, most))
    head = head if head >= WORTH_SHARING else 0
    tail = tail if tail >= WORTH_SHARING else 0
    shared = parent.request
    return (
        *([SharedSpan(request=shared, start=0, size=head)] if head else []),
        *_literals(body[head : len(body) - tail]),
        *([SharedSpan(request=shared, start=len(parent.body) - tail, size=tail)] if tail else []),
    )


def _common_start(one: bytes, other: bytes) -> int:
    """Return how many bytes two bodies share at their start, by halves: comparing is in C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: bytes, other: bytes, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if _slice_back(one, low, middle) == _slice_back(other, low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _slice_back(data: bytes, near: int, far: int) -> bytes:
    return data[len(data) - far : len(data) - near]


def _back_to_character(body: bytes, at: int) -> int:
    while 0 < at < len(body) and _is_inside(body[at]):
        at -= 1
    return at


def _on_to_character(body: bytes, tail: int) -> int:
    """Shorten a tail until it begins with a whole character."""
    while tail and _is_inside(body[len(body) - tail]):
        tail -= 1
    return tail


def _is_inside(byte: int) -> bool:
    return byte & 0b1100_0000 == 0b1000_0000


def _literal(data: bytes) -> LiteralSpan:
    return LiteralSpan(text=data.decode())


def _literals(data: bytes) -> list[LiteralSpan]:
    return [_literal(data)] if data else []


def _out_of_line(spans: Sequence[Span]) -> tuple[tuple[Span, ...], dict[str, bytes]]:
    """Move long literals into blobs."""
    kept: list[Span] = []
    blobs: dict[str, bytes] = {}
    for span in spans:
        data = span.text.encode() if isinstance(span, LiteralSpan) else b""
        if len(data) <= LIMIT:
            kept.append(span)
            continue
        blob = blob_of(data)
        blobs[blob.sha256] = data
        kept.append(BlobSpan(blob=blob))
    return tuple(kept), blobs


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
