"""What a replay proves of a request: that its bytes are all there, and that they come about again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from hansard.domain.content import Blob
from hansard.domain.errors import CorruptRecord
from hansard.domain.events import BlobSpan, RequestSent
from hansard.domain.log import RecordedEvent
from hansard.projections.template import Part, join, parents_of


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
    `is_rendered`: rendering again, as the recipe says, gave the same bytes; None where there is no
    recipe, since the program made its request itself. `problem` says what went wrong.
    """

    sent: Sent
    is_whole: bool
    is_rendered: bool | None = None
    problem: str | None = None

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


def last_uses(sent: Iterable[Sent]) -> dict[UUID, int]:
    """Return for each request that others refer to the version of the last one that does.

    A body has to be held until then, and no longer.
    """
    return {parent: item.version for item in sent for parent in parents_of(item.event.template)}


def held_blobs(sent: Sent) -> tuple[Blob, ...]:
    """Return the blobs that a request's template is joined from."""
    return tuple(span.blob for span in sent.event.template.spans if isinstance(span, BlobSpan))


def replay(
    sent: Sent,
    *,
    rendered: Mapping[Part, bytes] | None,
    parents: Mapping[UUID, bytes],
    blobs: Mapping[str, bytes],
) -> tuple[Outcome, bytes]:
    """Join a request again; return what that proves, and the body (empty if it is not whole).

    `rendered` are the parts that its recipe gives now, None where it has none.
    """
    try:
        body = join(sent.event.template, rendered=rendered, parents=parents, blobs=blobs)
    except CorruptRecord as exc:
        again = None if sent.event.recipe is None else False
        return Outcome(sent, False, again, str(exc)), b""
    if rendered is None:
        return Outcome(sent, True), body
    if all(f'"{part}":'.encode() + data in body for part, data in rendered.items()):
        return Outcome(sent, True, True), body
    return Outcome(sent, True, False, "it is rendered otherwise now"), body
