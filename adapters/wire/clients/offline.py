"""Requests and answers that crossed no wire that is recorded: a program hands them over itself.

They are read as those of the wire are, by the same readers, and come to the same events. What is not
of the API that it is said to be is refused before anything is recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast
from urllib.parse import quote, unquote

from pydantic import BaseModel

from onrecord.adapters.inputs.arguments import kind_of, text_given, text_if_given, version_given
from onrecord.adapters.recording.offline_answers import (
    OfflineAnswer,
    closing_known_as,
    is_answered,
    provider_name,
    request_in,
    response_versions,
)
from onrecord.adapters.recording.paths import Paths
from onrecord.adapters.recording.plan import Outgoing
from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.recording.spool import say_oversized
from onrecord.adapters.recording.state import IN_FLIGHT, OpenRequest, StateReader
from onrecord.adapters.streams.lineage import last_pointed
from onrecord.adapters.streams.stream import Done
from onrecord.adapters.wire.answer import is_oversized, is_still_made
from onrecord.adapters.wire.api import Endpoint, Wire
from onrecord.adapters.wire.bodies.answer_reading import AnswerReading, read_answer
from onrecord.adapters.wire.bodies.payloads import request_body
from onrecord.adapters.wire.clients.sending import Sending, outgoing_of, unread
from onrecord.adapters.wire.wires import wire_of
from onrecord.domain import conversation, jsontext
from onrecord.domain.errors import (
    IdempotencyMismatch,
    InvalidContent,
    InvalidInput,
    VersionConflict,
)
from onrecord.domain.events import RequestSent, ResponseCompleted, ResponseInterrupted
from onrecord.domain.jsontext import read_bounded_object
from onrecord.domain.log import Duplicate, Recorded, RecordedEvent
from onrecord.domain.new_events import Attribution
from onrecord.projections.api import known_api
from onrecord.projections.matching.template import RenderedRequest

_SAYS_WHICH: Final = (
    "say which request it answers: record that by chat.record_request(...) before, or give it as "
    "request=..., or render it by chat.request(...)"
)


# Requests that a program hands over.


def _wire(api: object) -> Wire:
    name = known_api(text_given("an API", api)).name
    wire = wire_of(name)
    if wire is None:
        raise InvalidInput(f"{name} has no wire that can be read: its package has none")
    return wire


def record_request(
    recorder: Recorder, request: object, api: object, model: object, by: Attribution
) -> Done:
    """Record a request that `by` sends, or sent, by another way than a recorded client.

    InvalidContent or MalformedJson where it is no request of its API. What the store raises is
    raised: then nothing is recorded.
    """
    wire = _wire(api)
    outgoing = _outgoing(recorder, wire, request_body(request), text_if_given("a model", model))
    begun = recorder.begin(replace(outgoing, by=by))
    recorder.offline.keep(wire.api, begun)
    return _done(begun)


def _done(begun: OpenRequest) -> Done:
    assert begun.done is not None  # It was recorded now.
    return begun.done


def _outgoing(recorder: Recorder, wire: Wire, body: bytes, model: str | None) -> Outgoing:
    """Return a request as it goes out: to the API's own endpoint, which may name the model."""
    endpoint = _endpoint(wire)
    end = unread(wire.api, body, recorder)
    sent = read_bounded_object(end)
    if "*" in endpoint.path:
        if not model:
            raise InvalidInput(f"a request to {wire.api} does not name its model: give model=...")
    elif model is not None and sent.get("model") is None:
        body = end = jsontext.write({"model": model, **read_bounded_object(body)})
    elif model is not None and sent["model"] != model:
        raise InvalidContent("the request names another model than `model` does: leave one out")
    for member in wire.sdk_arguments.keys() & sent.keys():
        raise InvalidContent(
            f"`{member}` is an argument of {wire.sdk_arguments[member]}, and no member of a request: "
            "give the body, such as chat.request(...).body has it"
        )
    target = "/" + endpoint.path.replace("*", quote(_name_in_path(wire, model or ""), safe=""))
    wire.read_request(end, unquote(target))
    return outgoing_of(wire.api, Sending(endpoint.method, target, {}), body, recorder)


def _name_in_path(wire: Wire, model: str) -> str:
    """Return the name of a model without what the path says before it."""
    return model.rpartition(wire.model_prefix)[2] if wire.model_prefix else model


def _endpoint(wire: Wire) -> Endpoint:
    """Return where an API takes a turn: the first of its endpoints that says the least."""
    turns = [each for each in wire.endpoints if each.kind == "turn" and not each.compacts]
    if not turns:
        raise InvalidInput(f"{wire.api} has no endpoint for a turn: its package names none")
    return min(turns, key=lambda endpoint: endpoint.path.count("*"))


# Answers that a program hands over.


def record_response(
    recorder: Recorder,
    native: object,
    api: object,
    request: object,
    model: object,
    by: Attribution,
) -> Done:
    """Record what a request was answered, from what a program has of it.

    A request that is recorded with it is sent by `by`. The same answer again changes nothing.
    InvalidContent where it is none of its API, InvalidInput where nobody says which request it
    answers, IdempotencyMismatch where its id stands for other words. What the store raises is raised:
    then nothing is recorded.
    """
    wire, named = _wire(api), text_if_given("a model", model)
    reading = read_answer(native, wire, recorder.digest, recorder.spool.scratch)
    with recorder.offline.lock:
        return _Offline(recorder, wire, reading, named, by).record(request)


class _Offline:
    """One answer on its way into a conversation; the caller holds the recorder's lock."""

    def __init__(
        self,
        recorder: Recorder,
        wire: Wire,
        reading: AnswerReading,
        model: str | None,
        by: Attribution,
    ) -> None:
        self._recorder = recorder
        self._stream = recorder.stream
        self._wire = wire
        self._reading = reading
        self._model = model
        self._by = by
        self._recent: list[RecordedEvent] | None = None  # Not read yet.
        self._model_answering = None if reading.closing is None else reading.closing.model

    def record(self, request: object) -> Done:
        """Record the answer as that of a request, unless it is recorded."""
        closing = self._reading.closing
        if closing is not None and provider_name(closing) is not None:
            done = self._record_named(closing, request)
            if isinstance(done, Duplicate) and isinstance(closing, ResponseCompleted):
                self._must_be_same(done)
            return done
        found = self._found(request)
        if found is None:
            return self._recorded_as_last() or self._nothing_asked()
        return self._record(found, self._identity_for(found))

    def _record_named(
        self, closing: ResponseCompleted | ResponseInterrupted, request: object
    ) -> Done:
        """Record an answer that has a name of its provider's: by that it is known again."""
        extent = "whole" if isinstance(closing, ResponseCompleted) else "part"
        identity = f"{closing.api} {provider_name(closing)} {extent}"
        recent = self._recent = self._read_recent()
        before = closing_known_as(recent, closing)
        found: OpenRequest | Outgoing | None = None
        if before is not None:
            event, known = before
            if isinstance(known, ResponseCompleted) or isinstance(closing, ResponseInterrupted):
                return response_versions(recent, known.response)
            if known.request is None or not is_still_made(known):
                return self._put_in_place(event, known, closing, identity)
            sent = (request_in(each) for each in recent if each.event_id == known.request)
            found = next(sent, OpenRequest(known.request, known.line, by=self._by))
        answer = self._answer(identity)
        if (duplicate := answer.find()) is not None:
            return duplicate
        found = found or self._found(request)
        if found is None:  # Another process may have recorded it meanwhile.
            return answer.find() or self._nothing_asked()
        return self._record(found, identity)

    def _read_recent(self) -> list[RecordedEvent]:
        return Paths(self._stream, self._stream.head().version).recent()

    def _must_be_same(self, before: Duplicate) -> None:
        """Raise IdempotencyMismatch where another answer is recorded under the provider's id.

        Gateways exist that give all answers one id: none of them may be lost.
        """
        recorded = self._stream.read(after=before.first - 1, until=before.last)
        if not self._answer(None).says_as(recorded):
            raise IdempotencyMismatch(
                f"version {before.last} holds another answer under the id that this one has: give "
                "each a provider's id of its own, or leave the id out"
            )

    def _put_in_place(
        self,
        event: RecordedEvent,
        part: ResponseInterrupted,
        whole: ResponseCompleted,
        identity: str,
    ) -> Done:
        """Record a whole answer in the place of what is recorded of it, which broke off.

        Only where nothing came after that: what was said since goes on from the part.
        """
        head = self._stream.head()
        asked = self._request_of(part)
        if asked is None or head.version != event.version:
            if (duplicate := self._answer(identity).find()) is not None:
                return duplicate
            raise IdempotencyMismatch(
                f"version {event.version} holds this answer as far as it had come, and the "
                "conversation went on from that: fork it at the request, and record the answer there"
            )
        events, blobs = self._reading.recording
        back = conversation.go_back(head, asked.version)
        answer = OfflineAnswer(self._stream, ((*back, *events), blobs), identity)
        try:
            return self._recorder.answer(asked, answer, at=head.version)
        except VersionConflict:  # Somebody went on meanwhile, or recorded the same answer.
            return self._record_named(whole, None)

    def _request_of(self, part: ResponseCompleted | ResponseInterrupted) -> OpenRequest | None:
        """Return the request that an answer of the main branch was given to; None if none is known."""
        last = last_pointed(
            self._stream.backend,
            self._stream.conversation_id,
            "request",
            self._stream.head().version,
        )
        if part.line is not None or last is None or last.event_id != part.request:
            return None
        return request_in(last)

    def _record(self, found: OpenRequest | Outgoing, identity: str | None) -> Done:
        answer = self._answer(identity)
        try:
            if isinstance(found, OpenRequest):
                done = self._recorder.answer(self._or_beside(found, answer), answer)
                self._recorder.offline.answered(found)
            else:
                sent = replace(found, by=self._by)
                done = answer.find() or _done(self._recorder.begin(sent, answer=answer))
        except IdempotencyMismatch:
            # Another process recorded the same answer meanwhile, for a request of its own.
            duplicate = answer.find()
            if duplicate is None:
                raise
            return duplicate
        if is_oversized(self._reading.recording):
            say_oversized()
        return done

    def _or_beside(self, found: OpenRequest, answer: OfflineAnswer) -> OpenRequest:
        """Return the request; with a side branch of the answer's own if another one is its answer."""
        recent = self._read_recent() if self._recent is None else self._recent
        if self._reading.closing is None or not is_answered(recent, found.request):
            return found
        return OpenRequest(found.request, answer.branch(), found.version, by=found.by)

    def _answer(self, identity: str | None) -> OfflineAnswer:
        return OfflineAnswer(self._stream, self._reading.recording, identity)

    def _identity_for(self, found: OpenRequest | Outgoing) -> str | None:
        """Return what an answer without a name is known by: its request, and all that it says.

        None for an error: each is an attempt of its own.
        """
        if self._reading.closing is None:
            return None
        if isinstance(found, OpenRequest):
            return self._identity_under(str(found.request))
        return self._identity_under(hashlib.sha256(found.body).hexdigest())

    def _identity_under(self, request: str) -> str:
        return f"{self._wire.api} of {request} {self._reading.digest}"

    # -- which request it answers --------------------------------------------------------------

    def _found(self, request: object) -> OpenRequest | Outgoing | None:
        """Return the request that is answered: as it is given, else as it was asked last."""
        match request:
            case None:
                return self._asked_last()
            case Recorded() | Duplicate():
                return self._at(request.last)
            case int():
                return self._at(version_given(request))
            case Mapping() | BaseModel() | bytes() | bytearray() | memoryview() | str():
                body = request_body(cast("object", request))
                return _outgoing(self._recorder, self._wire, body, self._model_for(body))
            case _:
                raise InvalidContent(
                    "a request is given by its body, its version, or what record_request returned, "
                    f"not by a value of the type {kind_of(request)}"
                )

    def _model_for(self, body: bytes) -> str | None:
        """Return the model to say of a request: not what an answer calls it if the request does."""
        # Most bodies name none anywhere, and are not read for it.
        may_name = "*" not in _endpoint(self._wire).path and b'"model"' in body
        if may_name and read_bounded_object(body).get("model") is not None:
            return None
        return self._model or self._model_answering

    def _at(self, version: int) -> OpenRequest:
        """Return the request at a version; InvalidContent where there is none of this API."""
        read = self._stream.read(after=max(0, version - 1), until=version) if version else ()
        for recorded in read:
            event = recorded.event()
            found = request_in(recorded)
            if found is not None and isinstance(event, RequestSent) and event.api == self._wire.api:
                return found
        raise InvalidContent(f"there is no request to {self._wire.api} at version {version}")

    def _asked_last(self) -> OpenRequest | Outgoing | None:
        """Return the request that waits for an answer; None if none does.

        It is the one that the program recorded last, unless it rendered another one since, on what
        was said since. Else it is the main branch's last one, if that has no answer.
        """
        recorder, api = self._recorder, self._wire.api
        waiting, rendered = recorder.offline.last(api), self._rendered()
        if waiting is not None and (rendered is None or rendered.version <= waiting):
            return self._at(waiting)
        state = StateReader(self._stream).now()
        asked_at = state.head.request
        if rendered is not None and rendered.version > asked_at:
            return self._as_rendered(rendered)
        last = state.last
        is_open = last is not None and state.last_version and not state.answered_at
        if last is None or not is_open or last.api != api:
            return None
        if state.last_id in IN_FLIGHT:
            raise InvalidInput(f"the last request is being answered right now: {_SAYS_WHICH}")
        return self._at(state.last_version)

    def _rendered(self) -> RenderedRequest | None:
        """Return the newest request of the API that was rendered here."""
        of_api = [r for r in self._recorder.remembered() if r.request.api == self._wire.api]
        return max(reversed(of_api), key=lambda rendered: rendered.version, default=None)

    def _as_rendered(self, rendered: RenderedRequest) -> Outgoing:
        """Return the request as far as it was rendered here: what else was sent nobody says."""
        parts = b",".join(b'"%s":%s' % (k.encode(), part) for k, part in rendered.parts.items())
        model = self._model or rendered.request.options.model or self._model_answering
        return _outgoing(self._recorder, self._wire, b"{%s}" % parts, model)

    def _recorded_as_last(self) -> Duplicate | None:
        """Return where an answer without a name is recorded as that of the last request."""
        if self._reading.closing is None:
            return None
        state, rendered = StateReader(self._stream).now(), self._rendered()
        asked: list[OpenRequest | Outgoing] = []
        if state.last_id is not None:
            asked.append(OpenRequest(state.last_id, None))
        if rendered is not None:
            asked.append(self._as_rendered(rendered))
        found = (self._answer(self._identity_for(request)).find() for request in asked)
        return next(filter(None, found), None)

    def _nothing_asked(self) -> Done:
        if self._rendered() is not None:
            raise InvalidInput(
                "since this request was rendered another one was recorded, and answered: "
                + _SAYS_WHICH
            )
        raise InvalidInput(f"no request waits for an answer of {self._wire.api}: {_SAYS_WHICH}")
