"""Writes what goes over a client's wire into one conversation, as it goes.

A request is durable before it is sent, in one commit with all that it says for the first time; an
answer in one commit with its blocks. What cannot be stored after a request was sent is spooled.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID

from onrecord.adapters.recording.answer_commits import store_answer
from onrecord.adapters.recording.bodies import Reading, RecentBodies
from onrecord.adapters.recording.deferred_answers import DeferredAnswers, find_among
from onrecord.adapters.recording.match import Matcher
from onrecord.adapters.recording.offline_answers import OfflineAnswer, OfflineRequests
from onrecord.adapters.recording.paths import Paths
from onrecord.adapters.recording.plan import (
    UNRELATED,
    Match,
    Outgoing,
    Plan,
    apart,
    beside,
    has_answers,
    matching,
    plan,
    unrecorded_references,
)
from onrecord.adapters.recording.spool import (
    RecordingWarning,
    Spool,
    say_oversized,
    warn_quietly,
)
from onrecord.adapters.recording.state import (
    IN_FLIGHT,
    ConversationState,
    OpenRequest,
    SideBranch,
    SideBranches,
    StateReader,
    last_request,
)
from onrecord.adapters.recording.tenancy import REMEMBERED
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.streams.results import with_call_versions
from onrecord.adapters.streams.stream import Done, Stream, append_first, stored_again
from onrecord.adapters.wire.answer import Conclusion, is_oversized
from onrecord.adapters.wire.blob_bytes import pieces_of
from onrecord.adapters.wire.requests import WireRequest
from onrecord.domain import conversation
from onrecord.domain.errors import (
    DocumentMissing,
    IdempotencyMismatch,
    InvalidContent,
    InvalidInput,
    NotRecorded,
    VersionConflict,
)
from onrecord.domain.events import RequestSent
from onrecord.domain.log import Append, NewEvent
from onrecord.domain.new_events import Attribution
from onrecord.projections.matching.sources import Source
from onrecord.projections.matching.template import RenderedRequest, split

_TRIES: Final = 8
_DEFERRED_AT_MOST: Final = 64


class Recorder:
    """The wire's side of one conversation; safe to share between threads and clients.

    It knows the latest requests that were rendered here, and the body of the last one.
    """

    def __init__(self, stream: Stream, spool: Spool) -> None:
        """Write into a conversation; what its store cannot take waits in the spool."""
        self.stream = stream
        self.spool = spool
        self._lock = threading.Lock()
        self._remembering = threading.Lock()
        self._rendered: deque[RenderedRequest] = deque(maxlen=REMEMBERED)
        self._accounts: set[tuple[str, str]] = set()
        self._bodies = RecentBodies()
        self._states = StateReader(stream)
        self._sides = SideBranches()
        # Not the requests themselves: one is in flight for as long as it is held.
        self._deferred = DeferredAnswers[tuple[UUID, UUID | None, int, Attribution]](
            _DEFERRED_AT_MOST
        )
        self._warnings: set[str] = set()
        self.offline = OfflineRequests()

    def remember(self, rendered: RenderedRequest) -> None:
        """Take note of a request that was rendered here: it may go out next."""
        with self._remembering:
            self._rendered.append(rendered)

    def drop_texts(self) -> None:
        """Keep no text of the conversation in mind: what goes out next is read in full.

        A request that is being recorded meanwhile adds to what was dropped.
        """
        with self._remembering:
            self._rendered.clear()
        self._bodies, self._states = RecentBodies(), StateReader(self.stream)

    def expect(self, api: str, key: str) -> None:
        """Take note of the key under which a recorded client sends requests of an API."""
        self._know(api, self.digest(key).hex())

    def account(self, api: str) -> str | None:
        """Return the account that an API's next request goes out under, if only one is known."""
        with self._remembering:
            accounts = [account for named, account in self._accounts if named == api]
        return accounts[0] if len(accounts) == 1 else None

    def digest(self, text: str) -> bytes:
        """Return the store's keyed digest of a text."""
        return self.stream.backend.digest(text)

    def shortened(self, api: str, body: bytes) -> bytes | None:
        """Return a body without the messages that it shares with one that was recorded here.

        None if it shares none, or if a secret was cut out of that one.
        """
        return self._bodies.shortened(api, body)

    def begin(
        self,
        outgoing: Outgoing,
        *,
        after: int | None = None,
        answer: OfflineAnswer | None = None,
    ) -> OpenRequest:
        """Make a request durable, and all that it says for the first time.

        `after` says which version of the main branch it goes on from, where its sender knows: what
        came after that is history no more. An `answer` that is in hand is recorded with it, in one
        commit. Raises an OnrecordError where that cannot be done: then nothing is recorded.
        """
        if outgoing.account is not None:
            self._know(outgoing.api, outgoing.account)
        with self._lock:
            # The log says it as well: where warnings are errors, it is no reason to refuse a call.
            with contextlib.suppress(RecordingWarning):
                self.spool.take_in(self.stream.backend)
            return self._record(outgoing, after, answer)

    def begin_batch(self, entries: Sequence[Outgoing]) -> list[OpenRequest]:
        """Make the requests of a batch durable, in one commit: each begins a side branch.

        Raises an OnrecordError where that cannot be done: then nothing is recorded.
        """
        with self._lock:
            with contextlib.suppress(RecordingWarning):
                self.spool.take_in(self.stream.backend)
            return stored_again(partial(self._record_batch, entries))

    def find_response(self, provider_id: str) -> OpenRequest | None:
        """Return the request that awaits the rest of a response, by the provider's id; None if none.

        It is known here if this recorder recorded it, or if it is among the last events: another
        process may have asked for what is read now.
        """
        stream = self.stream
        deferred = self._deferred.find(provider_id)
        request = None if deferred is None else OpenRequest(*deferred)
        if request is None:
            recent = Paths(stream, stream.head().version).recent()
            request = find_among(recent, provider_id)
        return request

    def resume(self, request: OpenRequest) -> None:
        """Take note that another attempt of a request is in flight."""
        IN_FLIGHT[request.request] = request

    def conclude(self, request: OpenRequest, recording: Conclusion) -> None:
        """Make an answer, or a failed attempt, durable; spool it where the store cannot take it.

        It is history as long as its request is the main branch's last one, else it is kept on a side
        line. It is dropped if the conversation was forgotten meanwhile. Raises nothing of its own:
        the answer is on its way to the caller.
        """
        try:
            self._conclude(request, recording)
            if is_oversized(recording):
                say_oversized()
        finally:
            # Not before: until the log has the answer, the request still awaits it.
            IN_FLIGHT.pop(request.request, None)

    def answer(self, request: OpenRequest, answer: OfflineAnswer, *, at: int | None = None) -> Done:
        """Record what a request was answered, as it is in the caller's hand.

        Nothing is spooled: what the store raises is raised, and the answer can be given again.
        VersionConflict where the conversation is not `at` a version that is given.
        """
        stream = self.stream

        def record() -> Done:
            self._put({}, answer)
            drafted = answer.drafted(request)
            append = Append(stream.tenant, stream.conversation_id, drafted, at)
            return store_answer(stream, append, request)

        done = stored_again(record)
        self._deferred.note(_place_of(request), answer.events(request))
        return done

    def _conclude(self, request: OpenRequest, recording: Conclusion) -> None:
        events, blobs = recording
        self._deferred.note(_place_of(request), events)
        stream = self.stream
        drafted = tuple(stream.draft(event, request.request, by=request.by) for event in events)
        append = Append(stream.tenant, stream.conversation_id, drafted)
        write = partial(store_answer, stream, append, request)
        self.spool.store(stream.backend, PendingAppend(append, blobs), write)

    def _record(
        self, outgoing: Outgoing, after: int | None, answer: OfflineAnswer | None
    ) -> OpenRequest:
        """Record a request where it belongs; decide again when another writer was quicker."""
        # By these names: `drop_texts` puts others in their place.
        bodies, states = self._bodies, self._states
        reading = self._read(outgoing, bodies)
        aside = is_reused = False
        for tries_left in reversed(range(_TRIES)):
            aside = aside or not tries_left
            state = states.now()
            match = self._match(reading, state, after)
            if aside:
                match = beside(match, state)
            state = self._in_force(state, match)
            planned = plan(reading, state, match)
            start = conversation.start(state.head, self.stream.key)
            version = state.head.version
            if is_reused:
                first = version + len(start) + 1
                events = with_call_versions(self.stream, state.head, planned.events, first)
                planned = replace(planned, events=events)
            expected = None if aside and version else version
            drafted, blobs, event = self._drafted(planned, state, reading)
            by = outgoing.by
            request = OpenRequest(planned.request, planned.line, by=by)
            IN_FLIGHT[planned.request] = request
            answered = () if answer is None else answer.drafted(request)
            drafted = (*(self.stream.draft(event, by=by) for event in start), *drafted, *answered)
            try:
                self._put(blobs, answer)
                request.done = self.stream.append_drafted(drafted, expected)
            except (VersionConflict, DocumentMissing):
                continue
            except IdempotencyMismatch:
                if answer is not None and answer.find() is not None:
                    raise  # Another process was quicker with the same answer.
                # It says something else under an id that is recorded: of another call, or else it
                # has a line of its own.
                aside, is_reused = is_reused, True
                continue
            request.version, request.model = request.done.last - len(answered), reading.sent.model
            if request.line is None:
                self._states.sent(request.version)
            self._warn(match, reading.sent)
            self._keep(match, planned, event, request.done.first, request.version)
            bodies.keep(reading.body(planned.request))
            return request
        raise NotRecorded("other writers of the conversation were quicker each time: call again")

    def _record_batch(self, entries: Sequence[Outgoing]) -> list[OpenRequest]:
        """Record each request beside what is said now: none of them has seen another."""
        state, bodies = self._states.now(), self._bodies.copy()
        drafted: list[NewEvent] = []
        requests: list[OpenRequest] = []
        for place, outgoing in enumerate(entries, 1):
            reading = self._read(outgoing, bodies)
            try:
                match = apart(self._match(reading, state, None), state, reading.whole())
                planned = plan(reading, state, match)
                events, blobs, _ = self._drafted(planned, state, reading)
            except InvalidInput as exc:
                raise InvalidContent(f"request {place} of the batch: {exc}") from exc
            self._put(blobs)
            drafted += events
            requests.append(OpenRequest(planned.request, planned.line, by=outgoing.by))
            if len(requests) == 1:
                bodies.keep(reading.body(planned.request))  # The others share what it says.
        append_first(self.stream, tuple(drafted), None, entries[0].by if entries else None)
        return requests

    def _read(self, outgoing: Outgoing, bodies: RecentBodies) -> Reading:
        return Reading(outgoing, bodies, matching(outgoing.body, self.remembered()))

    def _match(self, reading: Reading, state: ConversationState, after: int | None) -> Match:
        """Return how a request goes on; what was rendered here says nothing anew."""
        match = reading.after_last(state) if after is None else None
        if match is not None and not (has_answers(match.new) and self._has_sides(state)):
            return match
        sent = reading.whole()
        if sent is None:
            return UNRELATED
        matcher = Matcher(self.stream, self._sides, state, sent)
        if after is not None:
            match = matcher.going_on(after)
            return match if reading.rendered is None else replace(match, new=())
        match = matcher.match()
        if reading.rendered is None:
            return match
        return replace(beside(match, state), new=(), adopts=())

    def _has_sides(self, state: ConversationState) -> bool:
        """Whether the conversation has side branches that are known, or that its last events tell of."""
        Paths(self.stream, state.head.version).take_recent_into(self._sides)
        return any(True for _ in self._sides)

    def _in_force(self, state: ConversationState, match: Match) -> ConversationState:
        """Return where the conversation stands once a line is adopted."""
        if not match.adopts:
            return state
        in_force = self._states.in_force(state.head, match.segments)
        return replace(state, instructions=in_force[0], tools=in_force[1])

    def _drafted(
        self, planned: Plan, state: ConversationState, reading: Reading
    ) -> tuple[tuple[NewEvent, ...], Mapping[str, bytes], RequestSent]:
        """Draft what a plan records; the request last, as a template of what is stored then."""
        outgoing = reading.outgoing
        before = [self.stream.draft(event, by=outgoing.by) for event in planned.events]
        sources = [*planned.sources, *(Source(event.event_id, event.body) for event in before)]
        parent = reading.parent()
        if parent is None:
            sources = [*self._said_before(state, reading), *sources]
        template, spans = split(outgoing.body, known=sources, parent=parent, cut=outgoing.cut)
        event = planned.request_event(template, reading.digests())
        sent = self.stream.draft(event, event_id=planned.request, by=outgoing.by)
        return (*before, sent), {**planned.blobs, **spans}, event

    def _said_before(self, state: ConversationState, reading: Reading) -> Iterable[Source]:
        """Return what a request may repeat that has no other one to refer to."""
        if reading.rendered is not None:
            return reading.rendered.sources()
        stream, version = self.stream, state.head.version
        if not state.last_version:
            return ()
        paths = Paths(stream, version)
        return paths.read(paths.main(), reading.digests().blocks).sources

    def _keep(
        self, match: Match, planned: Plan, event: RequestSent, first: int, version: int
    ) -> None:
        """Keep in mind what goes on on a side branch."""
        for adoption in match.adopts:
            self._sides.promote(adoption.adopted)
        last = last_request(planned.request, version, event)
        if match.side is not None:
            self._sides.keep(replace(match.side, last=last))
        elif match.is_new:
            line = planned.request
            self._sides.keep(SideBranch(line, first, first, event.after, event.as_of, last))

    def _know(self, api: str, account: str) -> None:
        with self._remembering:
            self._accounts.add((api, account))

    def remembered(self) -> tuple[RenderedRequest, ...]:
        """Return the latest requests that were rendered here, in order."""
        with self._remembering:
            return tuple(self._rendered)

    def _warn(self, match: Match, sent: WireRequest) -> None:
        """Say what the provider holds of a request and nobody recorded, once a conversation each."""
        for text in unrecorded_references(match, sent):
            if text not in self._warnings:
                self._warnings.add(text)
                warn_quietly(text)  # The request is recorded, so it is sent.

    def _put(self, blobs: Mapping[str, bytes], answer: OfflineAnswer | None = None) -> None:
        for data in blobs.values():
            self.stream.put((data,))
        for content in () if answer is None else answer.blobs.values():
            self.stream.put(pieces_of(content))


def _place_of(request: OpenRequest) -> tuple[UUID, UUID | None, int, Attribution]:
    return request.request, request.line, request.version, request.by
