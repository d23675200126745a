"""What a request on the wire means for a conversation: what of it is new, and where it belongs.

A request goes on from the main branch, which is the conversation's history, or it stands on a line of
its own: an edit, a sample, a view that the program cut itself, another call altogether. Either way
nothing of it is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.recording.state import ConversationState, SideBranch
from onrecord.adapters.streams.lineage import LineSegment
from onrecord.adapters.wire import respelling
from onrecord.adapters.wire.blocks import Recording
from onrecord.adapters.wire.requests import WireRequest, instructions_set, tools_declared
from onrecord.adapters.wire.secrets import without_digests
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    LineAdopted,
    Relation,
    RequestSent,
    ToolsDeclared,
)
from onrecord.domain.jsontext import read_bounded_object
from onrecord.domain.new_events import NOBODY, Attribution
from onrecord.domain.request_template import Template
from onrecord.domain.tools import tools_digest
from onrecord.projections.api import known_api
from onrecord.projections.matching.align import Alignment, align
from onrecord.projections.matching.recorded_units import same_instructions, same_tools
from onrecord.projections.matching.sources import Source
from onrecord.projections.matching.template import RenderedRequest, compare
from onrecord.projections.matching.units import Piece, digest_of, unit_of_piece

if TYPE_CHECKING:
    from onrecord.adapters.recording.bodies import Reading

_TOOLS: Final = frozenset({"tools", "toolConfig"})
_INSTRUCTIONS: Final = frozenset({"system", "instructions", "systemInstruction"})
"""The members that hold a request's tools, and its instructions, whatever its API."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is about to go out; its body is without secrets, `cut` says where they were.

    `account` is a keyed digest of the key it goes out under. `compacts` says that it asks for a
    summary alone: its endpoint says so, its body does not. `by` is who sends it.
    """

    api: str
    endpoint: str
    body: bytes
    cut: tuple[str, ...] = ()
    account: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    compacts: bool = field(kw_only=True)
    by: Attribution = field(default=NOBODY, kw_only=True)

    @property
    def path(self) -> str:
        """The path of the URL that it goes to."""
        return self.endpoint.partition("?")[0]


@dataclass(frozen=True, slots=True)
class Match:
    """How a request goes on from what is recorded; `new` are its blocks that no line holds yet.

    It is on the line `side`, or begins one (`is_new`, at `after` and `as_of`), else on the main
    line, which `adopts` what it went on from: then the line is made of `segments`. Where that
    cannot be, it stays on the line `otherwise`. `sources` are events that it was compared with.
    `is_unknown`: it names what it goes on from, and that was never recorded here.
    """

    relation: Relation
    new: tuple[Piece, ...] = ()
    side: SideBranch | None = None
    is_new: bool = False
    parent: UUID | None = None
    after: int = 0
    as_of: int | None = None
    adopts: tuple[LineAdopted, ...] = ()
    segments: tuple[LineSegment, ...] = ()
    otherwise: SideBranch | None = None
    sources: tuple[Source, ...] = ()
    is_unknown: bool = False


UNRELATED: Final = Match("unrelated", is_new=True)


def branch(
    parent: UUID | None,
    after: int,
    as_of: int | None,
    new: tuple[Piece, ...] = (),
    relation: Relation = "branches",
) -> Match:
    """Return the place of a side branch that begins with the request."""
    return Match(relation, new=new, parent=parent, is_new=True, after=after, as_of=as_of)


def beside(match: Match, state: ConversationState) -> Match:
    """Return where a request goes that cannot be on the main branch: to a line at its end."""
    if match.side is not None or match.is_new:
        return match
    if match.otherwise is not None:
        return replace(match, side=match.otherwise, adopts=(), segments=())
    after = max((unit.until for unit in state.since), default=state.last_version)
    as_of = None
    if match.adopts:
        after, as_of = match.adopts[-1].after, match.adopts[-1].as_of
    elif after < state.head.adopted:
        as_of = state.head.version
    return branch(match.parent, after, as_of, match.new, "branches" if after else "unrelated")


def apart(match: Match, state: ConversationState, sent: WireRequest | None) -> Match:
    """Return where a request of a batch goes: to a line of its own, whatever others say.

    It leaves the main branch where it can, so that what it repeats is not recorded again; it goes on
    from no other side branch, for the next request of the batch may as well.
    """
    match = beside(match, state)
    if match.side is None:
        return match
    return replace(UNRELATED, new=() if sent is None else sent.pieces)


def new_pieces(pieces: Sequence[Piece], alignment: Alignment) -> tuple[Piece, ...]:
    """Return those of the pieces that are new, results under the ids of their recorded calls."""
    return tuple(
        pieces[place]._replace(call=alignment.calls[place])
        if place in alignment.calls
        else pieces[place]
        for place in alignment.new
    )


def after_last(sent: WireRequest, start: int, state: ConversationState) -> Match | None:
    """Return how a request extends the main branch; None if it does not.

    Its blocks from `start` on are those behind what the last request of that line said.
    """
    rest = sent.pieces[start:]
    alignment = align([unit_of_piece(sent.api, piece) for piece in rest], state.since)
    if alignment.how not in ("extends", "repeats"):
        return None
    return Match("extends", new=new_pieces(rest, alignment), parent=state.last_id)


def has_answers(pieces: Iterable[Piece]) -> bool:
    """Whether some of the pieces are said by the model."""
    return any(piece.role == "assistant" for piece in pieces)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to record before a request goes out: the new events, then it itself, under `request`.

    `line` is the side branch that the request is on, if it is on one. `blobs` are the bytes, by
    digest, that the events refer to. `request_event` makes the event of the request, which is
    given its template; what that may repeat of earlier events are the `sources`.
    """

    request: UUID
    events: tuple[Event, ...]
    blobs: Mapping[str, bytes]
    line: UUID | None
    request_event: Callable[[Template, Digests], RequestSent]
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Digests:
    """What the answer to a request is bound to, and how its messages are known again."""

    prefix: str | None = None
    history: str | None = None
    blocks: int = 0


def plan(reading: Reading, state: ConversationState, match: Match) -> Plan:
    """Decide what to record of a request that goes on so; on its line, what it says anew."""
    request = uuid7()
    side = match.side
    line = request if match.is_new else side.line if side else None
    outgoing, rendered, sent = reading.outgoing, reading.rendered, reading.sent
    events, blobs = _new_events(reading, sent, state, match, line)
    seen = None if line or rendered is None else rendered.recipe.version

    def request_event(template: Template, digests: Digests) -> RequestSent:
        return RequestSent(
            seen=seen if seen is not None and seen < state.said_at else None,
            api=outgoing.api,
            endpoint=outgoing.endpoint,
            model=sent.model,
            parent=match.parent,
            after=side.after if side else match.after or None,
            as_of=side.as_of if side else match.as_of,
            begun=side.begun if side else None,
            relation=match.relation,
            template=template,
            recipe=rendered.recipe if rendered else None,
            prefix=digests.prefix,
            history=digests.history,
            blocks=digests.blocks,
            account=outgoing.account,
            headers=dict(outgoing.headers),
            line=line,
        )

    return Plan(request, events, blobs, line, request_event, (*match.sources, *state.sources))


def matching(body: bytes, rendered: Sequence[RenderedRequest]) -> RenderedRequest | None:
    """Return the rendered request whose messages a body holds, the latest first.

    Byte for byte, unless the SDK of the API spells what it sends otherwise.
    """
    for request in reversed(rendered):
        name = known_api(request.recipe.api).messages
        messages = request.parts.get(name)
        if messages is not None and b'"%s":%s' % (name.encode(), messages) in body:
            return request
    return respelled(body, rendered)


def respelled(body: bytes, rendered: Sequence[RenderedRequest]) -> RenderedRequest | None:
    """Return the rendered request whose messages a body says as an SDK spells them."""
    requests = [made for made in reversed(rendered) if respelling.by_sdk(made.recipe.api)]
    with suppress(MalformedJson):
        sent = read_bounded_object(body) if requests else {}
        same = (
            request
            for request in requests
            if respelling.is_respelled(request.recipe.api, sent, request.parts)
        )
        return next(same, None)
    return None


def goes_on(sent: WireRequest, state: ConversationState, version: int) -> bool:
    """Whether a request that was rendered at a version goes on from the main branch's last one.

    It does if it saw that request, or repeats it since that has no answer and awaits none; not if
    it missed the answer. What says more without having seen it may go on from what another request
    had left out.
    """
    if state.answered_at > version:
        return False
    if state.head.request <= version:
        return True
    last = state.last
    is_over = not state.in_flight and not state.answered_at
    return (
        is_over
        and last is not None
        and len(sent.pieces) == last.blocks
        and digest_of(sent.pieces) == last.history
    )


def in_force_anew(
    sent: WireRequest, instructions: InstructionsSet | None, tools: ToolsDeclared | None
) -> list[Recording]:
    """Return what puts a request's instructions and tools in force, as far as these are not."""
    recordings: list[Recording] = []
    if sent.system is not None or not sent.keeps_in_force:
        recordings.append(instructions_set(sent))
    if sent.tools is not None or not sent.keeps_in_force:
        recordings.append(tools_declared(sent))
    return [it for it in recordings if not _is_in_force(it, instructions, tools)]


def _is_in_force(
    asking: Recording, instructions: InstructionsSet | None, tools: ToolsDeclared | None
) -> bool:
    return all(
        (isinstance(event, InstructionsSet) and same_instructions(instructions, event))
        or (isinstance(event, ToolsDeclared) and same_tools(tools, event))
        for event in asking[0]
    )


def _new_events(
    reading: Reading, sent: WireRequest, state: ConversationState, match: Match, line: UUID | None
) -> Recording:
    """Return the events of what a request says for the first time; side branches put nothing in force."""
    recordings: list[Recording] = [(match.adopts, {})]
    if line is None:
        recordings += (
            recording
            for recording in in_force_anew(sent, state.instructions, state.tools)
            if not _is_as_rendered(recording, sent, reading.outgoing, reading.rendered)
        )
    recordings.append(WIRES[sent.api].request_events(sent, match.new, _ids(), line))
    events = tuple(with_digest(event) for new, _ in recordings for event in new)
    return events, {digest: data for _, blobs in recordings for digest, data in blobs.items()}


def with_digest(event: Event) -> Event:
    """Return the event; a declaration of tools with the digest of these."""
    if isinstance(event, ToolsDeclared):
        return event.model_copy(update={"sha256": tools_digest(event.tools)})
    return event


def _is_as_rendered(
    recording: Recording, sent: WireRequest, outgoing: Outgoing, rendered: RenderedRequest | None
) -> bool:
    """Whether a request holds instructions, or tools, just as they were rendered."""
    if rendered is None:
        return False
    is_tools = any(isinstance(event, ToolsDeclared) for event in recording[0])
    members, value = (_TOOLS, sent.tools) if is_tools else (_INSTRUCTIONS, sent.system)
    parts: Mapping[str, bytes] = {
        name: part for name, part in rendered.parts.items() if name in members
    }
    if not parts:
        return value is None
    body = outgoing.body
    if outgoing.cut:  # A secret that was renewed makes no other tool.
        body, parts = without_digests(body, parts)
    if compare(body, parts):
        return True
    return respelling.by_sdk(sent.api) and respelling.holds(read_bounded_object(body), parts)


def _ids() -> Iterator[UUID]:
    while True:
        yield uuid7()


_UNKNOWN: Final = (
    "a request goes on from what the provider holds and this conversation does not: its history "
    "lacks what came before; record the client from the first request on, or say all of it again"
)
_HELD: Final = "a request names {}, which the provider holds: what that says is not recorded"


def unrecorded_references(match: Match, sent: WireRequest) -> Iterator[str]:
    """Yield what to warn of where a request names what the provider holds and nobody recorded."""
    if match.is_unknown:
        yield _UNKNOWN
    for member, what in WIRES[sent.api].held_by_provider.items():
        if sent.body.get(member) is not None:
            yield _HELD.format(what)
