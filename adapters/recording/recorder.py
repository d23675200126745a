"""Writes what goes over a client's wire into one conversation, as it goes.

A request is durable before it is sent, in one commit with all that it says for the first time; an
answer in one commit with its blocks. What cannot be stored after a request was sent is spooled.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.recording.answers import record_answer
from onrecord.adapters.recording.bodies import Bodies, Reading
from onrecord.adapters.recording.compare import Comparison, ReferenceWarnings
from onrecord.adapters.recording.match import Matcher
from onrecord.adapters.recording.paths import Paths, SideBranch, SideBranches, last_request
from onrecord.adapters.recording.plan import (
    UNRELATED,
    ConversationState,
    Match,
    Outgoing,
    Plan,
    RenderedRequest,
    apart,
    beside,
    goes_on,
    matching,
    plan,
)
from onrecord.adapters.recording.spool import RecordingWarning, Spool, say_dropped, say_oversized
from onrecord.adapters.recording.state import (
    IN_FLIGHT,
    DeferredAnswers,
    OpenRequest,
    StateReader,
    find_among,
    open_request,
)
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.streams.results import told_apart
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.streams.writing import Done, append_first, append_to, stored_again
from onrecord.adapters.wire.answer import Conclusion
from onrecord.adapters.wire.answer_events import is_oversized
from onrecord.adapters.wire.raw_bytes import Content, pieces_of
from onrecord.domain import conversation
from onrecord.domain.errors import (
    ConversationForgotten,
    DocumentMissing,
    IdempotencyMismatch,
    InvalidContent,
    InvalidInput,
    NotRecorded,
    OnrecordError,
    VersionConflict,
)
from onrecord.domain.events import RequestSent, ToolResultRecorded
from onrecord.domain.head import Head
from onrecord.domain.log import Append, NewEvent
from onrecord.projections.matching.sources import Source
from onrecord.projections.matching.template import split

if TYPE_CHECKING:
    from onrecord.adapters.conversation.requests import Asked

logger = logging.getLogger("onrecord")

_TRIES: Final = 8
_DEFERRED_AT_MOST: Final = 64
_REMEMBERED: Final = 8


class Journal:
    """The wire's side of one conversation; safe to share between threads and clients.

    It knows the latest requests that were rendered here, and the body of the last one.
    """

    def __init__(self, talk: Stream, spool: Spool) -> None:
        """Write into a conversation; what its store cannot take waits in the spool."""
        self.talk = talk
        self.spool = spool
        self._lock = threading.Lock()
        self._remembering = threading.Lock()
        self._rendered: deque[RenderedRequest] = deque(maxlen=_REMEMBERED)
        self._accounts: set[tuple[str, str]] = set()
        self._bodies = Bodies()
        self._standings = StateReader(talk)
        self._sides = SideBranches()
        # Not the requests themselves: one is in flight for as long as it is held.
        self._deferred = DeferredAnswers[tuple[UUID, UUID | None, int]](_DEFERRED_AT_MOST)
        self._held_elsewhere = ReferenceWarnings()

    def remember(self, asked: Asked) -> None:
        """Take note of a request that was rendered here: it may go out next."""
        rendered = RenderedRequest(asked.recipe, asked.request.body_parts, asked.sources)
        with self._remembering:
            self._rendered.append(rendered)

    def expect(self, api: str, key: str) -> None:
        """Take note of the key under which a recorded client sends requests of an API."""
        self._know(api, self.digest(key).hex())

    def account(self, api: str) -> str | None:
        """Return the account that an API's next request goes out under, if only one is known."""
        with self._remembering:
            known = [account for named, account in self._accounts if named == api]
        return known[0] if len(known) == 1 else None

    def digest(self, text: str) -> bytes:
        """Return the store's keyed digest of a text."""
        return self.talk.backend.digest(text)

    def shortened(self, api: str, body: bytes) -> bytes | None:
        """Return a body without the messages that it shares with one that was recorded here.

        None if it shares none, or if a secret was cut out of that one.
        """
        return self._bodies.shortened(api, body)

    def begin(self, outgoing: Outgoing, *, after: int | None = None) -> OpenRequest:
        """Make a request durable, and all that it says for the first time.

        `after` says which version of the main line it goes on from, where its sender knows: what
        came after that is history no more. Raises an OnrecordError where that cannot be done: then
        nothing is recorded.
        """
        if outgoing.account is not None:
            self._know(outgoing.api, outgoing.account)
        with self._lock:
            # The log says it as well: where warnings are errors, it is no reason to refuse a call.
            with contextlib.suppress(RecordingWarning):
                self.spool.take_in(self.talk.backend)
            return self._record(outgoing, after)

    def begin_batch(self, entries: Sequence[Outgoing]) -> list[OpenRequest]:
        """Make the requests of a batch durable, in one commit: each begins a side line.

        Raises an OnrecordError where that cannot be done: then nothing is recorded.
        """
        with self._lock:
            with contextlib.suppress(RecordingWarning):
                self.spool.take_in(self.talk.backend)
            return stored_again(partial(self._record_batch, entries))

    def find_response(self, provider_id: str) -> OpenRequest | None:
        """Return the request that awaits the rest of a response, by the provider's id; None if none.

        It is known here if this journal recorded it, or if it is among the last events: another
        process may have asked for what is read now.
        """
        talk = self.talk
        known = self._deferred.find(provider_id)
        found = None if known is None else open_request(*known)
        if found is None:
            paths = Paths(talk.backend, talk.lineages(), talk.conversation_id, talk.head().version)
            found = find_among(paths.recent(), provider_id)
        return found

    def resume(self, begun: OpenRequest) -> None:
        """Take note that another attempt of a request is in flight."""
        IN_FLIGHT[begun.request] = begun

    def conclude(self, begun: OpenRequest, recording: Conclusion) -> None:
        """Make an answer, or a failed attempt, durable; spool it where the store cannot take it.

        It is history as long as its request is the main line's last one, else it is kept on a side
        line. It is dropped if the conversation was forgotten meanwhile. Raises nothing of its own:
        the answer is on its way to the caller.
        """
        try:
            self._conclude(begun, recording)
            if is_oversized(recording):
                say_oversized()
        finally:
            # Not before: until the log has the answer, the request still awaits it.
            IN_FLIGHT.pop(begun.request, None)

    def _conclude(self, begun: OpenRequest, recording: Conclusion) -> None:
        events, blobs = recording
        self._deferred.note((begun.request, begun.line, begun.version), events)
        talk = self.talk
        try:
            drafted = tuple(talk.draft(event, begun.request) for event in events)
        except OnrecordError:
            logger.critical(
                "an answer cannot be recorded: a value in it has no form", exc_info=True
            )
            return
        append = Append(talk.tenant, talk.conversation_id, drafted)

        def write() -> None:
            if begun.line is None:
                record_answer(talk.backend, append, begun.request, begun.version)
            else:
                append_to(talk.backend, append)

        self.store(PendingAppend(append, blobs), write)

    def store(
        self,
        pending: PendingAppend,
        write: Callable[[], object],
        raised: tuple[type[Exception], ...] = (),
    ) -> None:
        """Make an answer durable with `write`; spool it where that cannot be.

        It is dropped if the conversation was forgotten meanwhile. Only what is to be `raised` is.
        """
        try:
            self._put(pending.blobs)
            write()
        except raised:
            raise
        except ConversationForgotten:
            say_dropped()
        except BaseException as exc:
            # Interrupted or not, the log may have it: what is spooled is recorded once.
            self.spool.put(pending, exc)
            if not isinstance(exc, Exception):
                raise

    def _record(self, outgoing: Outgoing, after: int | None) -> OpenRequest:
        """Record a request where it belongs; decide again when another writer was quicker."""
        rendered = matching(outgoing.body, self.remembered())
        reading = Reading(outgoing, self._bodies)
        aside = is_reused = False
        for tries_left in reversed(range(_TRIES)):
            aside = aside or not tries_left
            standing = self._standings.now()
            related = self._related(reading, standing, rendered, after)
            if aside:
                related = beside(related, standing)
            standing = self._in_force(standing, related)
            decided = plan(outgoing, reading.asked, standing, related, rendered=rendered)
            if is_reused:
                decided = self._told_apart(decided, standing.head)
            version = standing.head.version
            expected = None if aside and version else version
            drafted, blobs, event = self._drafted(decided, standing, reading, rendered)
            start = conversation.start(standing.head, self.talk.key)
            drafted = (*map(self.talk.draft, start), *drafted)
            begun = IN_FLIGHT[decided.request] = OpenRequest(decided.request, decided.line)
            try:
                self._put(blobs)
                done = self.talk.append_drafted(drafted, expected)
            except (VersionConflict, DocumentMissing):
                continue
            except IdempotencyMismatch:
                # It says something else under an id that is recorded: of another call, or else it
                # has a line of its own.
                aside, is_reused = is_reused, True
                continue
            begun.version = done.last
            self._held_elsewhere.say(related, reading.asked)
            self._keep(related, decided, event, done)
            self._bodies.keep(reading.body(decided.request))
            return begun
        raise NotRecorded("other writers of the conversation were quicker each time: call again")

    def _record_batch(self, entries: Sequence[Outgoing]) -> list[OpenRequest]:
        """Record each request beside what is said now: none of them has seen another."""
        standing, bodies = self._standings.now(), self._bodies.copy()
        drafted: list[NewEvent] = []
        begun: list[OpenRequest] = []
        for place, outgoing in enumerate(entries, 1):
            reading = Reading(outgoing, bodies)
            try:
                decided, events, blobs = self._planned_apart(reading, standing)
            except InvalidInput as exc:
                raise InvalidContent(f"request {place} of the batch: {exc}") from exc
            self._put(blobs)
            drafted += events
            begun.append(OpenRequest(decided.request, decided.line))
            if len(begun) == 1:
                bodies.keep(reading.body(decided.request))  # The others share what it says.
        append_first(self.talk, tuple(drafted), None)
        return begun

    def _planned_apart(
        self, reading: Reading, standing: ConversationState
    ) -> tuple[Plan, tuple[NewEvent, ...], Mapping[str, bytes]]:
        """Return what is recorded of a request beside what is said now."""
        outgoing = reading.outgoing
        rendered = matching(outgoing.body, self.remembered())
        related = self._related(reading, standing, rendered, None)
        related = apart(related, standing, reading.whole())
        decided = plan(outgoing, reading.asked, standing, related, rendered=rendered)
        events, blobs, _ = self._drafted(decided, standing, reading, rendered)
        return decided, events, blobs

    def _told_apart(self, decided: Plan, head: Head) -> Plan:
        """Return a plan whose results say which of the calls of their id they are of."""
        log, own = self.talk.backend, self.talk.conversation_id
        apart = tuple(
            told_apart(log, own, head, event)
            if isinstance(event, ToolResultRecorded) and event.line is None
            else event
            for event in decided.events
        )
        return replace(decided, events=apart)

    def _related(
        self,
        reading: Reading,
        standing: ConversationState,
        rendered: RenderedRequest | None,
        after: int | None,
    ) -> Match:
        """Return how a request goes on; what was rendered here says nothing anew."""
        if after is None:
            related = _after_last(reading, standing, rendered)
            if related is not None:
                return related
        asked = reading.whole()
        if asked is None:
            return UNRELATED
        own, lineages = self.talk.conversation_id, self.talk.lineages()
        compared = Comparison(self.talk.backend, lineages, own, self._sides, standing, asked)
        relating = Matcher(compared)
        if after is not None:
            related = relating.going_on(after)
            return related if rendered is None else replace(related, new=())
        related = relating.related()
        if rendered is None:
            return related
        return replace(beside(related, standing), new=(), adopts=())

    def _in_force(self, standing: ConversationState, related: Match) -> ConversationState:
        """Return where the conversation stands once a line is adopted."""
        if not related.adopts:
            return standing
        found = self._standings.in_force(standing.head, related.stretches)
        return replace(standing, instructions=found[0], tools=found[1])

    def _drafted(
        self,
        decided: Plan,
        standing: ConversationState,
        reading: Reading,
        rendered: RenderedRequest | None,
    ) -> tuple[tuple[NewEvent, ...], Mapping[str, bytes], RequestSent]:
        """Draft what a plan records; the request last, as a template of what is stored then."""
        before = [self.talk.draft(event) for event in decided.events]
        known = [*decided.sources, *(Source(event.event_id, event.body) for event in before)]
        outgoing = reading.outgoing
        parent = reading.parent()
        if parent is None:
            known = [*self._said_before(standing, reading, rendered), *known]
        template, spans = split(outgoing.body, known=known, parent=parent, cut=outgoing.cut)
        event = decided.sent(template, reading.digests())
        sent = self.talk.draft(event, event_id=decided.request)
        return (*before, sent), {**decided.blobs, **spans}, event

    def _said_before(
        self, standing: ConversationState, reading: Reading, rendered: RenderedRequest | None
    ) -> Iterable[Source]:
        """Return what a request may repeat that has no other one to refer to."""
        if rendered is not None:
            return rendered.sources()
        talk, version = self.talk, standing.head.version
        if not standing.last_version:
            return ()
        paths = Paths(talk.backend, talk.lineages(), talk.conversation_id, version)
        return paths.read(paths.main(), reading.digests().blocks).sources

    def _keep(self, related: Match, decided: Plan, event: RequestSent, done: Done) -> None:
        """Keep in mind what goes on on a side line."""
        for adoption in related.adopts:
            self._sides.adopt(adoption.adopted)
        last = last_request(decided.request, done.last, event)
        if related.side is not None:
            self._sides.keep(replace(related.side, last=last))
        elif related.is_new:
            line, begun = decided.request, done.first
            self._sides.keep(SideBranch(line, begun, begun, event.after, event.as_of, last))

    def _know(self, api: str, account: str) -> None:
        with self._remembering:
            self._accounts.add((api, account))

    def remembered(self) -> tuple[RenderedRequest, ...]:
        """Return the latest requests that were rendered here, in order."""
        with self._remembering:
            return tuple(self._rendered)

    def _put(self, blobs: Mapping[str, Content]) -> None:
        talk = self.talk
        for content in blobs.values():
            talk.backend.put_blob(talk.tenant, talk.conversation_id, pieces_of(content))


def _after_last(
    reading: Reading, standing: ConversationState, rendered: RenderedRequest | None
) -> Match | None:
    """Return how a request extends the main line's last one, read no further than it has to be."""
    if rendered is None:
        return reading.after_last(standing)
    for read in (partial(reading.tail, standing), reading.whole):
        asked = read()
        if asked is not None and goes_on(asked, standing, rendered.recipe.version):
            return Match("extends", parent=standing.last_id)
    return None
