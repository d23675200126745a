"""Requests made from what a store holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, cast
from uuid import UUID

from pydantic import ValidationError

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.item_turns import turn_events
from onrecord.adapters.streams.event_reading import blob_among, events_for
from onrecord.adapters.streams.lineage import LineSegment
from onrecord.adapters.wire.respelling import are_respelled
from onrecord.adapters.wire.secrets import (
    PLACEHOLDER,
    Digest,
    cut,
    stand_ins,
    why_uncut,
    without_digests,
)
from onrecord.adapters.wire.wires import wire_of
from onrecord.domain import request_template
from onrecord.domain.errors import (
    CorruptRecord,
    InvalidInput,
    MalformedJson,
    OnrecordError,
    SecretMissing,
)
from onrecord.domain.jsontext import (
    JsonObject,
    pointer_step,
    read_bounded,
    read_bounded_object,
    write,
)
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.request_template import Recipe
from onrecord.projections.api import FOLDERS, known_api
from onrecord.projections.apis.documents import needed_blobs
from onrecord.projections.apis.request import (
    Options,
    Request,
    options_of,
    render,
    renderer_digest,
    report_of,
)
from onrecord.projections.history.history import History, Note
from onrecord.projections.history.windows import exchanges_of
from onrecord.projections.matching.sources import Source, sources_in
from onrecord.projections.matching.template import (
    Outcome,
    RenderedRequest,
    RequestReplay,
    Sent,
    compare,
    held_blobs,
    references_of,
    sent_in,
)

_TAKEN: Final = MappingProxyType(
    {
        "api": "the name of an API",
        "model": "the name of a model",
        "window": "an onrecord.Window(...) or an onrecord.MessageWindow(...)",
        "thinking": '"keep" or "drop"',
        "cache": "True or False",
        "missing": '"cancel", "refuse" or "drop"',
        "tags": '"short-id" or "doc-reference"',
        "capability_override": "an onrecord.CapabilityOverride(...)",
    }
)
"""What a request takes under each name."""


def options_given(matrix: Mapping[str, JsonObject], **wishes: Any) -> Options:
    """Return the options of a request; InvalidInput where one is of the wrong kind.

    Of `matrix`, which says by API what models take, they keep what is said of theirs.
    """
    try:
        options = _options(**wishes)
        said = matrix.get(options.api)
        return options if said is None else options.model_copy(update={"matrix": said})
    except ValidationError as exc:
        wrong = str(exc.errors(include_url=False, include_input=False)[0]["loc"][0])
    wrong = "capability_override" if wrong == "capabilities" else wrong
    raise InvalidInput(f"{wrong} is not what a request takes: give {_TAKEN[wrong]}")


def _options(**wishes: Any) -> Options:
    """Return the options of these wishes: in a loop they are the same for each request."""
    wishes["rules"] = request_template.RULES
    try:
        return _known_options(**wishes)
    except TypeError:  # A wish has no hash: it is a capability override, or of the wrong kind.
        return Options(**wishes)


_known_options: Final = lru_cache(maxsize=64, typed=True)(Options)


def ask(backend: Backend, segments: tuple[LineSegment, ...], options: Options) -> RenderedRequest:
    """Return the request that these segments of events make, under these options."""
    request = request_of(backend, segments, options)
    sources = sources_of(backend, lambda: segments, options)
    return RenderedRequest(request, segments[-1].until, sources)


def sources_of(
    backend: Backend, lineage: Callable[[], tuple[LineSegment, ...]], options: Options
) -> Callable[[], tuple[Source, ...]]:
    """Return what reads the events that a request is made of; `lineage` tells where they are."""
    return lambda: sources_in(events_for(backend, lineage(), exchanges_of(options.window)))


OF_OTHER_SHAPE: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What goes wrong where a value is not of the type that its event gives it."""


def request_of(backend: Backend, segments: tuple[LineSegment, ...], options: Options) -> Request:
    """Return the request alone; CorruptRecord where an event that it is made of has not its shape."""
    try:
        read = turn_events(backend, segments, exchanges_of(options.window))
        folded = read.history(options.missing)
        return request_from(backend, segments, folded, options, read.blobs)
    except OF_OTHER_SHAPE:
        # Events are folded without a look at each member: one of them may be damaged.
        for told in events_for(backend, segments, exchanges_of(options.window)):
            told.event()
        raise


def request_from(
    backend: Backend,
    segments: tuple[LineSegment, ...],
    folded: History,
    options: Options,
    blobs: Mapping[str, bytes] = MappingProxyType({}),
) -> Request:
    """Return the request of a history that was folded from these segments already.

    `blobs` are bytes that it refers to and that need not be in the store.
    """
    data = {
        blob.sha256: blobs[blob.sha256]
        if blob.sha256 in blobs
        else blob_among(backend, segments, blob)
        for blob in needed_blobs(folded, options)
    }
    return render(folded, options, data)


# The secrets of a request: the record has none, so the caller gives them each time.

_HALF: Final = re.compile("[\ud800-\udfff]")

_CUT: Final = "{} is cut: a digest stands in its place; give it with secrets="


def with_secrets(request: Request, secrets: object, digest: Digest) -> Request:
    """Return a request with the members that the caller gives where secrets were cut.

    SecretMissing where one is not given; InvalidInput where one would be recorded in clear, or is
    the one that was recorded at another place. One that stays as it was recorded is noted.
    """
    if not isinstance(secrets, Mapping | None):
        raise InvalidInput(
            "secrets are a mapping of JSON pointers to the members that are to be sent"
        )
    if not _may_hold_mark(request):
        return request
    wire, body = wire_of(request.api), dict(request.body)
    marks = {} if wire is None else stand_ins(body, wire)
    if wire is None or not marks:
        return request
    offered = cast("Mapping[str, object]", secrets or {})
    members = {place: offered[place] for place in marks if place in offered}
    if len(members) < len(marks):
        raise SecretMissing({place: marks[place] for place in marks if place not in members})
    filled = _filled(body, "", members)
    new = [place for place, member in members.items() if member != marks[place]]
    for place in new:
        _must_be_sendable(place, members[place])
        alone = _filled(body, "", {place: members[place]})
        if why := why_uncut(body, alone, place, members[place], wire):
            raise InvalidInput(f"what is given for {place} would be recorded in clear: {why}")
        # Tools that a later call declared may stand in another order.
        mark = stand_ins(cut(alone, wire, digest)[0], wire).get(place)
        if mark != marks[place] and mark in marks.values():
            other = next(at for at in marks if marks[at] == mark)
            raise InvalidInput(f"what is given for {place} is what was cut at {other}")
    notes = [Note("noted", "secret", None, _CUT.format(at)) for at in marks if at not in new]
    report = report_of((*request.report, *notes), request.report.routes)
    if request.is_body:
        return Request(filled, request.options, report)
    return Request(_as_filled({**request}, body, filled), request.options, report, filled)


def _must_be_sendable(place: str, member: object) -> None:
    """Raise InvalidInput where a text, or a list or an object, is none that JSON can hold."""
    if isinstance(member, str) and _HALF.search(member):
        raise InvalidInput(f"what is given for {place} has half of a surrogate pair")
    if not isinstance(member, int | list | dict):
        return
    try:
        read_bounded(write(cast("object", member)))
    except MalformedJson as exc:
        raise InvalidInput(f"what is given for {place}: {exc}") from None


def _may_hold_mark(request: Request) -> bool:
    """Whether anything but what was said may be a mark: few requests need a wire to be looked at.

    Our wires hold what was said, and the definitions of tools in it, in these places alone.
    """
    if request.api not in FOLDERS:
        return PLACEHOLDER in str(dict(request.body))
    said = known_api(request.api).messages
    others = [value for name, value in request.body.items() if name != said]
    # A message may hold the definitions of tools that were found.
    others += [each["tools"] for each in request.body.get(said, ()) if "tools" in each]
    return PLACEHOLDER in str(others)


def _filled(value: Any, place: str, members: Mapping[str, object]) -> Any:
    """Return a value with what is given for its members, by their places."""
    if place in members:
        return members[place]
    match value:
        case dict():
            items = cast("JsonObject", value).items()
            return {
                name: _filled(item, f"{place}{pointer_step(name)}", members) for name, item in items
            }
        case list():
            elements = enumerate(cast("list[Any]", value))
            return [_filled(element, f"{place}/{at}", members) for at, element in elements]
        case _:
            return value


def _as_filled(argument: Any, body: Any, filled: Any) -> Any:
    """Return an argument with what was filled into the part of the body that it is made of.

    An SDK may want bytes for base64, a part of the body under another name, or to know nothing of a
    member. What the body has not is made of the body as a whole.
    """
    if argument == body:
        return filled
    match argument, body:
        case dict(), dict():
            whole, full = cast("JsonObject", body), cast("JsonObject", filled)
            return {
                name: _as_filled(item, whole.get(name, whole), full.get(name, full))
                for name, item in cast("JsonObject", argument).items()
            }
        case list(), list():
            items = cast("list[Any]", argument)
            bodies = zip(cast("list[Any]", body), cast("list[Any]", filled), strict=True)
            return list(_items_as_filled(items, [*bodies]))
        case _:
            return argument


def _items_as_filled(items: list[Any], bodies: list[tuple[Any, Any]]) -> Iterator[Any]:
    """Yield items of an argument, in order; one that nothing in the body matches stays as it is."""
    start = 0
    for item in items:
        places = range(start, len(bodies))
        place = next((place for place in places if _is_made_of(item, bodies[place][0])), None)
        if place is None:
            yield item
        else:
            yield _as_filled(item, *bodies[place])
            start = place + 1


def _is_made_of(argument: Any, body: Any) -> bool:
    """Whether an item of an argument is an item of the body, or what an SDK knows of one."""
    if not isinstance(argument, dict) or not isinstance(body, dict):
        return bool(argument == body)
    whole = cast("JsonObject", body)
    known = cast("JsonObject", argument).items()
    return all(name in whole and whole[name] == item for name, item in known)


# The replay of a conversation's requests, one after the other, with what its store holds.


def replays(conversation: Conversation) -> Iterator[Outcome]:
    """Yield what the replay of each request proves, in the order in which they were sent.

    Of a fork, only what was sent in it; its origin is read for what its requests refer to.
    """
    until = conversation.head().version
    proofs = _Proofs(conversation, sent_in(stream_of(conversation).read_through(until)))
    for event in stream_of(conversation).read_through(until):
        outcome = proofs.take(event)
        if outcome is not None and event.conversation_id == conversation.conversation_id:
            yield outcome


def request_behind(conversation: Conversation, version: int) -> tuple[Sent, bytes]:
    """Return the request that an answer's event came from, or that it is, and the exact bytes of it.

    Secrets are cut, as they were before it was recorded. InvalidInput where the event came from no
    recorded request, CorruptRecord where its bytes have not the digest that was taken as it was sent.
    """
    stream = stream_of(conversation)
    place = conversation.conversation_id, version
    events = stream.read_through(version)
    asked = next((one for one in events if (one.conversation_id, one.version) == place), None)
    if asked is None:
        raise InvalidInput(f"the conversation has no event {version}")
    request = asked.event_id
    if asked.type != "request.sent":
        request = asked.client_header().causation_id or request
    replay = RequestReplay(sent_in(stream.read_through(version)), conversation.blob)
    for event in stream.read_through(version):
        replayed = replay.take(event)
        if replayed is None or event.event_id != request:
            continue
        outcome, body = replayed
        if not outcome.is_whole:
            raise CorruptRecord(outcome.remark or "the request is not as it was sent")
        return outcome.sent, body
    raise InvalidInput(f"event {version} came from no recorded request: `onrecord why` says more")


_FORGOTTEN: Final = (
    "the conversation that this one was forked from was forgotten, and with it what the request"
)


class _Proofs:
    """What the replay of each request proves, and why where it proves less."""

    def __init__(self, conversation: Conversation, sent: Iterable[Sent]) -> None:
        self._conversation = conversation
        self._replay = RequestReplay(sent, conversation.blob)
        self._forgotten: set[UUID] = set()
        """Events of origins that were erased, and the requests that cannot be joined without them."""

    def take(self, event: RecordedEvent) -> Outcome | None:
        """Return what the replay of the next event proves, if it is a request."""
        if event.body is None and event.conversation_id != self._conversation.conversation_id:
            self._forgotten.add(event.event_id)
        replayed = self._replay.take(event)
        if replayed is None:
            return None
        outcome, body = replayed
        recipe = outcome.sent.event.recipe
        if recipe is not None and outcome.is_whole:
            outcome = self._rendered(outcome, recipe, body)
        return self._blamed(outcome)

    def _blamed(self, outcome: Outcome) -> Outcome:
        """Say of what cannot be proven that an origin was forgotten, where that is why."""
        if outcome.is_proven or not self._forgotten:
            return outcome
        if outcome.is_whole:
            return replace(outcome, remark=f"{_FORGOTTEN} was rendered from")
        sent = outcome.sent
        if not (references_of(sent.event.template) & self._forgotten or held_blobs(sent)):
            return outcome
        self._forgotten.add(sent.request)
        return replace(outcome, remark=f"{_FORGOTTEN} repeats of it")

    def _rendered(self, outcome: Outcome, recipe: Recipe, body: bytes) -> Outcome:
        try:
            request = self._conversation.log.render(recipe.version, options_of(recipe))
        except OnrecordError as exc:
            return replace(outcome, is_rendered=False, remark=outcome.remark or str(exc))
        parts: Mapping[str, bytes] = request.body_parts()
        if outcome.sent.event.template.cut:  # Which secrets were sent is not what is proven.
            body, parts = without_digests(body, parts)
        if compare(body, parts):
            return replace(outcome, is_rendered=True)
        if are_respelled(recipe.api, read_bounded_object(body), parts):
            remark = "the SDK spelled it otherwise: record(client, splice=True) keeps our spelling"
            return replace(outcome, remark=outcome.remark or remark)
        if recipe.renderer != renderer_digest(recipe.api):
            remark = "another release rendered it; this one does so otherwise"
            return replace(outcome, remark=outcome.remark or remark)
        remark = "it is rendered otherwise now"
        return replace(outcome, is_rendered=False, remark=outcome.remark or remark)
