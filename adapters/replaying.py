"""The replay of a conversation's requests, one after the other, with what its store holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from uuid import UUID

from onrecord.adapters.capture.nesting import read_object
from onrecord.adapters.capture.respelling import are_respelled
from onrecord.adapters.talk import Talk
from onrecord.domain.errors import OnrecordError
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import Recipe
from onrecord.projections.matching.replay import Outcome
from onrecord.projections.matching.replay import Sent
from onrecord.projections.matching.replay import compare
from onrecord.projections.matching.replay import held_blobs
from onrecord.projections.matching.replay import last_uses
from onrecord.projections.matching.replay import replay
from onrecord.projections.matching.replay import sent_in
from onrecord.projections.apis.rendering import renderer_digest
from onrecord.projections.apis.request import options_of
from onrecord.projections.matching.template import Stored
from onrecord.projections.matching.template import references_of


def replays(talk: Talk) -> Iterator[Outcome]:
    """Yield what the replay of each request proves, in the order in which they were sent.

    Of a fork, only what was sent in it; its origin is read for what its requests refer to.
    """
    until = talk.head().version
    replayed = _Replay(talk, last_uses(sent_in(talk.stream.read_through(until))))
    for event in talk.stream.read_through(until):
        outcome = replayed.take(event)
        if outcome is not None and event.conversation_id == talk.conversation_id:
            yield outcome


_FORGOTTEN: Final = (
    "the conversation that this one was forked from was forgotten, and with it what the request "
    "repeats of it"
)


class _Replay:
    """The bytes that later requests refer to; each is held no longer than until the last of them."""

    def __init__(self, talk: Talk, needed: dict[UUID, UUID]) -> None:
        self._talk = talk
        self._needed = needed
        self._bodies: dict[UUID, bytes] = {}
        self._requests: dict[UUID, bytes] = {}
        self._forgotten: set[UUID] = set()
        """Events of origins that were erased, and the requests that cannot be joined without them."""

    def take(self, event: RecordedEvent) -> Outcome | None:
        """Return what the replay of the next event proves, if it is a request."""
        if event.event_id in self._needed and event.body is not None:
            self._bodies[event.event_id] = event.body
        if event.body is None and event.conversation_id != self._talk.conversation_id:
            self._forgotten.add(event.event_id)
        for sent in sent_in((event,)):
            return self._blamed(self._replay(sent))
        return None

    def _blamed(self, outcome: Outcome) -> Outcome:
        """Say of what cannot be proven that an origin was forgotten, where that is why."""
        if outcome.is_proven or not self._forgotten:
            return outcome
        sent = outcome.sent
        lacks = references_of(sent.event.template) & self._forgotten or held_blobs(sent)
        if not outcome.is_whole and not lacks:
            return outcome
        if not outcome.is_whole:
            self._forgotten.add(sent.request)
        return replace(outcome, remark=_FORGOTTEN)

    def _replay(self, sent: Sent) -> Outcome:
        try:
            blobs = {blob.sha256: self._talk.blob(blob) for blob in held_blobs(sent)}
        except OnrecordError as exc:
            return Outcome(sent, False, remark=str(exc))
        outcome, body = replay(sent, Stored(self._bodies, self._requests, blobs))
        if sent.request in self._needed:
            self._requests[sent.request] = body
        for held in (self._bodies, self._requests):
            for used in [used for used in held if self._needed[used] == sent.request]:
                del held[used]
        recipe = sent.event.recipe
        return outcome if recipe is None else self._rendered(outcome, recipe, body)

    def _rendered(self, outcome: Outcome, recipe: Recipe, body: bytes) -> Outcome:
        try:
            made = self._talk.render(recipe.version, options_of(recipe.options))
        except OnrecordError as exc:
            return replace(outcome, is_rendered=False, remark=outcome.remark or str(exc))
        if compare(body, made.body_parts()):
            return replace(outcome, is_rendered=True)
        if are_respelled(recipe.api, read_object(body), made.body_parts()):
            remark = "the SDK spelled it otherwise: record(client, splice=True) keeps our spelling"
            return replace(outcome, remark=outcome.remark or remark)
        if recipe.renderer != renderer_digest():
            remark = "another release rendered it; this one does so otherwise"
            return replace(outcome, remark=outcome.remark or remark)
        remark = "it is rendered otherwise now"
        return replace(outcome, is_rendered=False, remark=outcome.remark or remark)
