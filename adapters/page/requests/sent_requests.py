"""The requests of a conversation that were sent, as the page names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.rendering import proof_of
from onrecord.adapters.page.requests.sent_redactions import SentRedactions, redactions_in
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.events import RequestSent
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import Recipe
from onrecord.projections.matching.template import Outcome

MARKED: Final = 50
"""So many requests, the last ones, are marked at the slider."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that was sent; without a recipe, the program made it itself.

    `size` counts its bytes. `is_aside` says that it was sent on a side branch.
    """

    version: int
    api: str
    recipe: Recipe | None
    size: int
    is_aside: bool = False


def requests_sent(
    conversation: Conversation, until: int | None = None, count: int = MARKED
) -> tuple[SentRequest, ...]:
    """Return the last requests of the main branch that were sent up to a version, the last one first.

    They are `count` at most. They are read by their type: no other event is.
    """
    stream = stream_of(conversation)
    last = stream.head().version if until is None else until
    return tuple(islice(_on_main(stream, last), count))


def _on_main(stream: Stream, last: int) -> Iterator[SentRequest]:
    """Yield the requests of the main branch up to a version, the last one first."""
    while last > 0:
        recorded = stream.backend.pointed(stream.conversation_id, "request", last, MARKED)
        yield from (each for each in map(_sent, recorded) if each and not each.is_aside)
        last = recorded[-1].version - 1 if len(recorded) == MARKED else 0


def request_at(conversation: Conversation, version: int) -> SentRequest | None:
    """Return the request that was sent at a version, on any branch; None where none was."""
    stream = stream_of(conversation)
    read = stream.backend.read(stream.conversation_id, after=version - 1, until=version)
    return next((sent for sent in map(_sent, read) if sent), None)


def _sent(recorded: RecordedEvent) -> SentRequest | None:
    event = recorded.event() if recorded.type == "request.sent" else None
    if not isinstance(event, RequestSent):
        return None
    size, is_aside = event.template.size, event.line is not None
    return SentRequest(recorded.version, event.api, event.recipe, size, is_aside)


SHOWN: Final = 200_000
"""So many characters of a recorded request are shown."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it was sent, secrets cut: its bytes as text, their digest, and what is proved.

    `cut` counts the characters of the text that are not shown. `redacted` is what was redacted of it.
    """

    version: int
    api: str
    model: str | None
    size: int
    sha256: str
    text: str
    cut: int
    is_whole: bool
    is_proven: bool
    proofs: tuple[str, ...]
    redacted: SentRedactions


def recorded_request(conversation: Conversation, version: int) -> RecordedRequest:
    """Return the request that was sent at a version; InvalidInput where none was."""
    outcome, body = proof_of(conversation, version)
    event = outcome.sent.event
    text = body.decode(errors="replace")
    return RecordedRequest(
        version=version,
        api=event.api,
        model=event.model,
        size=event.template.size,
        sha256=event.template.sha256,
        text=text[:SHOWN],
        cut=max(0, len(text) - SHOWN),
        is_whole=outcome.is_whole,
        is_proven=outcome.is_proven,
        proofs=tuple(_proofs(outcome)),
        redacted=redactions_in(conversation, version, outcome),
    )


@dataclass(frozen=True, slots=True)
class Replay:
    """Whether a request that was made again by its recipe is the one that was sent, and how it is not."""

    is_same: bool
    remark: str


def replay_of(conversation: Conversation, version: int) -> Replay:
    """Return how the request that was sent at a version compares with the one that its recipe makes."""
    outcome, _ = proof_of(conversation, version)
    is_same = outcome.is_rendered is True and outcome.remark is None
    return Replay(is_same, "" if is_same else tuple(_proofs(outcome))[-1])


def _proofs(outcome: Outcome) -> Iterator[str]:
    """Yield what a replay proves, in words."""
    if not outcome.is_whole:
        yield f"The record does not hold its exact bytes: {outcome.remark}."
        return
    yield "The record holds its exact bytes: they have the digest that was taken as it was sent."
    if outcome.sent.event.template.cut:
        yield "Secrets were cut before that."
    if outcome.sent.event.recipe is None:
        yield "The program made it itself, so it is not rendered again."
    elif outcome.is_rendered and outcome.remark is None:
        yield "Rendered again, it has the same bytes."
    elif outcome.is_rendered is False:
        yield f"Rendered again, it has other bytes: {outcome.remark}."
    else:
        yield f"Rendering it again proves nothing: {outcome.remark}."
