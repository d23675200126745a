"""What a replay proves of a request: that its bytes are all there, and that they come about again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from onrecord.domain.content import Blob
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import RequestSent
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import BlobSpan, EncodedSpan
from onrecord.projections.matching.template import Stored, join, references_of


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
    """Yield the requests among recorded events, those on side lines too."""
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


def held_blobs(sent: Sent) -> tuple[Blob, ...]:
    """Return the blobs that a request's template is joined from."""
    spans = sent.event.template.spans
    return tuple(span.blob for span in spans if isinstance(span, BlobSpan | EncodedSpan))


def replay(sent: Sent, stored: Stored) -> tuple[Outcome, bytes]:
    """Join a request again; return whether it is whole, and its body (empty if it is not)."""
    try:
        return Outcome(sent, True), join(sent.event.template, stored)
    except CorruptRecord as exc:
        return Outcome(sent, False, remark=str(exc)), b""


def compare(body: bytes, rendered: Mapping[str, bytes]) -> bool:
    """Whether a body holds each part of a request, by its name, as it is rendered."""
    return all(f'"{part}":'.encode() + data in body for part, data in rendered.items())
