"""What a request on the wire means for a conversation: what of it is new, and where it belongs.

A request goes on from the main line, which is the conversation's history, or it stands on a line of
its own: an edit, a sample, a view that the program cut itself, another call altogether. Either way
nothing of it is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from hansard.adapters.capture.place import Recording
from hansard.adapters.capture.sent import Sent
from hansard.adapters.capture.wires import WIRES
from hansard.domain.events import (
    Event,
    InstructionsSet,
    Recipe,
    RequestSent,
    Template,
    ToolsDefined,
)
from hansard.domain.head import Head
from hansard.domain.prefix import Prefix
from hansard.projections.continuation import (
    Piece,
    Since,
    digest_of,
    new_pieces,
    same_instructions,
    same_tools,
)
from hansard.projections.sources import Source


class Rendered:
    """A request that this conversation rendered: its recipe, and its parts as compact JSON.

    `sources` gives the events that it was made of.
    """

    def __init__(
        self,
        recipe: Recipe,
        parts: Callable[[], Mapping[str, bytes]],
        sources: Callable[[], Iterable[Source]],
    ) -> None:
        """Hold a recipe and what gives the parts; they are asked for once, if at all."""
        self.recipe = recipe
        self.sources = sources
        self._parts = parts

    @cached_property
    def parts(self) -> Mapping[str, bytes]:
        """The parts that a recipe makes again, by name."""
        return self._parts()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is about to go out; its body is without secrets, `cut` says where they were.

    `account` is a keyed digest of the key it goes out under.
    """

    api: str
    endpoint: str
    body: bytes
    cut: tuple[str, ...] = ()
    account: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a conversation stands when a request goes out.

    `last` is the main line's last request, by `last_id`; `since` what came after it; `in_flight`
    that its answer is being read right now, in this process. `answered` is the version of a
    complete response to it, `said` that of the last event since that said something (0: none).
    `blobs` are the bytes that native blocks refer to, `sources` the events since that request,
    whose content the next one repeats.
    """

    head: Head = field(default_factory=Head)
    last: RequestSent | None = None
    last_id: UUID | None = None
    since: Since = field(default_factory=Since)
    in_flight: bool = False
    answered: int = 0
    said: int = 0
    instructions: InstructionsSet | None = None
    tools: ToolsDefined | None = None
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What to record before a request goes out: the new events, then it itself, under `request`.

    `line` is the side line that the request is on, if it is on one. `blobs` are the bytes, by
    digest, that the events refer to. `sent` makes the request's event of its template.
    """

    request: UUID
    events: tuple[Event, ...]
    blobs: Mapping[str, bytes]
    line: UUID | None
    sent: Callable[[Template], RequestSent]


def plan(
    outgoing: Outgoing,
    asked: Sent,
    standing: Standing,
    *,
    rendered: Rendered | None = None,
    aside: bool = False,
) -> Plan:
    """Decide what a request means; `aside` puts it on a line of its own whatever it says."""
    request = uuid7()
    found = None if aside else _continuation(asked.pieces, standing, rendered)
    line = request if found is None else None
    events, blobs = ((), {}) if found is None else _news(outgoing, asked, standing, found, rendered)
    seen = None if line or rendered is None else rendered.recipe.version

    def sent(template: Template) -> RequestSent:
        said = RequestSent(
            seen=seen if seen is not None and seen < standing.said else None,
            api=outgoing.api,
            endpoint=outgoing.endpoint,
            model=asked.model,
            parent=None if line else standing.last_id,
            template=template,
            recipe=rendered.recipe if rendered else None,
            account=outgoing.account,
            headers=dict(outgoing.headers),
            line=line,
        )
        return _with_digests(said, asked) if asked.pieces else said

    return Plan(request, events, blobs, line, sent)


def matching(body: bytes, rendered: Sequence[Rendered]) -> Rendered | None:
    """Return the rendered request whose messages a body holds byte for byte, the latest first."""
    for made in reversed(rendered):
        messages = made.parts.get("messages")
        if messages is not None and b'"messages":' + messages in body:
            return made
    return None


def _continuation(
    sent: Sequence[Piece], standing: Standing, rendered: Rendered | None
) -> list[Piece] | None:
    """Return the blocks that are new on the main line; None if the request is not of it.

    What goes on supersedes a request that is still out: its answer will be on a side line.
    """
    if rendered is not None:
        return [] if _goes_on(sent, standing, rendered.recipe.version) else None
    known = standing.last.blocks if standing.last else 0
    is_sample = len(sent) == known and (standing.in_flight or standing.answered > 0)
    if is_sample or not _begins_as_last(sent, standing):
        return None
    return new_pieces(sent[known:], standing.since, standing.blobs)


def _goes_on(sent: Sequence[Piece], standing: Standing, version: int) -> bool:
    """Whether a request that was rendered at a version goes on from the main line's last one.

    It does if it saw that request, or repeats it since that has no answer and awaits none; not if
    it missed the answer. What says more without having seen it may go on from what another request
    had left out.
    """
    if standing.answered > version:
        return False
    if standing.head.request <= version:
        return True
    is_same = standing.last is not None and len(sent) == standing.last.blocks
    is_over = not standing.in_flight and not standing.answered
    return is_over and is_same and _begins_as_last(sent, standing)


def _begins_as_last(sent: Sequence[Piece], standing: Standing) -> bool:
    last = standing.last
    if last is None:
        return True
    return len(sent) >= last.blocks and digest_of(sent[: last.blocks]) == last.history


def _news(
    outgoing: Outgoing,
    asked: Sent,
    standing: Standing,
    new: Sequence[Piece],
    rendered: Rendered | None,
) -> Recording:
    """Return the events of what a request of the main line says for the first time."""
    wire = WIRES[asked.api]
    recordings: list[Recording] = []
    if not (
        _is_as_rendered("system", asked.system, outgoing.body, rendered)
        or same_instructions(standing.instructions, asked.system, standing.blobs)
    ):
        recordings.append(wire.instructions(asked, None))
    if not (
        _is_as_rendered("tools", asked.tools, outgoing.body, rendered)
        or same_tools(standing.tools, asked.tools, standing.blobs)
    ):
        recordings.append(wire.tools(asked, None))
    recordings.append(wire.said(asked, new, _ids(), None))
    events = tuple(event for said, _ in recordings for event in said)
    return events, {digest: data for _, blobs in recordings for digest, data in blobs.items()}


def _is_as_rendered(part: str, value: Any, body: bytes, rendered: Rendered | None) -> bool:
    if rendered is None:
        return False
    made = rendered.parts.get(part)
    return value is None if made is None else f'"{part}":'.encode() + made in body


def _with_digests(said: RequestSent, asked: Sent) -> RequestSent:
    """Return the request with the digests of what its answer is bound to."""
    digests: dict[str, Any] = {
        "prefix": digest_of(asked.pieces, Prefix(asked.system, asked.tools)),
        "history": digest_of(asked.pieces),
        "blocks": len(asked.pieces),
    }
    return said.model_copy(update=digests)


def _ids() -> Iterator[UUID]:
    while True:
        yield uuid7()
