"""Requests made from what a store holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from pydantic import ValidationError

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.item_turns import turn_events
from onrecord.adapters.streams.event_reading import blob_among, events_for
from onrecord.adapters.streams.lineage import LineSegment
from onrecord.adapters.wire.respelling import are_respelled
from onrecord.adapters.wire.secrets import (
    without_digests,
)
from onrecord.domain import request_template
from onrecord.domain.errors import (
    CorruptRecord,
    InvalidInput,
    OnrecordError,
)
from onrecord.domain.jsontext import (
    JsonObject,
    read_bounded_object,
)
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.request_template import Recipe
from onrecord.projections.apis.documents import needed_blobs
from onrecord.projections.apis.request import (
    Options,
    Request,
    options_of,
    render,
    renderer_digest,
)
from onrecord.projections.history.history import History
from onrecord.projections.history.windows import exchanges_of
from onrecord.projections.matching.sources import Source, sources_in
from onrecord.projections.matching.template import (
    Outcome,
    RenderedRequest,
    RequestReplay,
    Sent,
    compare,
    held_blobs,
    needed_requests,
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


# The replay of a conversation's requests, one after the other, with what its store holds.

_REQUEST: Final = "request.sent"


def replays(conversation: Conversation) -> Iterator[Outcome]:
    """Yield what the replay of each request proves, in the order in which they were sent.

    Of a fork, only what was sent in it; its origin is read for what its requests refer to.
    """
    until = conversation.head().version
    proofs = _Proofs(conversation, sent_in(stream_of(conversation).read_through(until)))
    for event in stream_of(conversation).read_through(until):
        proved = proofs.take(event)
        if proved is not None and event.conversation_id == conversation.conversation_id:
            yield proved[0]


def proof_of(conversation: Conversation, version: int) -> tuple[Outcome, bytes]:
    """Return what the replay of the request at a version proves, and the exact bytes of it.

    InvalidInput where no request was sent at the version.
    """
    stream, place = stream_of(conversation), (conversation.conversation_id, version)
    asked = next(iter(stream.backend.read(place[0], after=version - 1, until=version)), None)
    if asked is None or asked.type != _REQUEST:
        raise InvalidInput(f"no request was sent at version {version}")
    needed = needed_requests(sent_in(stream.read_through(version)), asked.event_id)
    proofs = _Proofs(conversation, needed.values())
    for event in stream.read_through(version):
        if event.type == _REQUEST and event.event_id not in needed:
            continue
        is_asked = (event.conversation_id, event.version) == place
        proved = proofs.take(event, is_rendered=is_asked)
        if is_asked and proved is not None:
            return proved
    raise CorruptRecord("the request cannot be read: run `onrecord verify`")


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

    def take(
        self, event: RecordedEvent, *, is_rendered: bool = True
    ) -> tuple[Outcome, bytes] | None:
        """Return what the replay of the next event proves, and its bytes, if it is a request.

        `is_rendered` says that it is rendered again, too.
        """
        if event.body is None and event.conversation_id != self._conversation.conversation_id:
            self._forgotten.add(event.event_id)
        replayed = self._replay.take(event)
        if replayed is None:
            return None
        outcome, body = replayed
        recipe = outcome.sent.event.recipe
        if is_rendered and recipe is not None and outcome.is_whole:
            outcome = self._rendered(outcome, recipe, body)
        return self._blamed(outcome), body

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
