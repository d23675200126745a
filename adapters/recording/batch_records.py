"""Batches in the log: which requests one sent, and what each was answered, once.

A batch is many requests that are answered later, one by one. Its id is known once it is made: from
then on each of its requests has a response that is deferred and says so.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.recording.state import OpenRequest
from onrecord.adapters.recording.tenancy import Recorders
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.streams.event_reading import closing_of, line_of
from onrecord.adapters.streams.stream import append_first
from onrecord.adapters.wire.answer import Answer, Conclusion, events_of
from onrecord.adapters.wire.blob_bytes import BlobBytes
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.errors import IdempotencyMismatch
from onrecord.domain.events import (
    AnnotationAdded,
    AttemptFailed,
    Event,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Append, NewEvent
from onrecord.domain.new_events import Attribution, attribution_of

# Where batches are recorded: conversations that are named by their ids tell it, to any process.

logger = logging.getLogger("onrecord")

_IN: Final = "conversation"
_OF: Final = "batch"
_FROM: Final = "requests"


class BatchName(NamedTuple):
    """What a batch is known by, and what its requests are: its id too, or that of their file."""

    batch_id: str
    requests_id: str


def has_requests(recorders: Recorders, requests_id: str) -> bool:
    """Whether the requests of a batch are recorded, or were."""
    return recorders.find(key_of(requests_id)) is not None


def keep_file(recorders: Recorders, file: str, name: BatchName) -> bool:
    """Say in the conversation that is named by a file of results whose they are; raises nothing.

    Only of a batch whose requests are recorded, and once. Returns whether it was said now.
    """
    try:
        named = recorders.find(key_of(name.requests_id))
        place = None if named is None else place_in(named)
        if place is not None and recorders.find(key_of(file)) is None:
            labels = {_IN: str(place), _OF: name.batch_id, _FROM: name.requests_id}
            _label(recorders, file, labels)
            return True
    except Exception:
        logger.critical(
            "which batch a file of results is of could not be noted: they are recorded through a "
            "client alone that is asked for the batch before",
            exc_info=True,
        )
    return False


def batch_of(recorders: Recorders, file: str) -> BatchName | None:
    """Return the batch that a file has the results of; None where nobody said so."""
    named = recorders.find(key_of(file))
    labels: Mapping[str, str] = {} if named is None else _labels_in(named)
    if _OF not in labels or _FROM not in labels:
        return None
    return BatchName(labels[_OF], labels[_FROM])


def keep_place(recorders: Recorders, recorder: Recorder, requests_id: str) -> None:
    """Say in the conversation that is named by a batch where its requests are; raises nothing."""
    try:
        _label(recorders, requests_id, {_IN: str(recorder.stream.conversation_id)})
    except Exception:
        logger.critical(
            "where a batch is recorded could not be noted: its results are found through a client "
            "alone that is recorded for the same conversation",
            exc_info=True,
        )


def place_in(named: Recorder) -> UUID | None:
    """Return the conversation that has the requests of a batch, as that named by it says."""
    place = _labels_in(named).get(_IN)
    return None if place is None else UUID(place)


def _label(recorders: Recorders, name: str, labels: dict[str, str]) -> None:
    stream = recorders.keyed(key_of(name)).stream
    append_first(stream, (stream.draft(AnnotationAdded(labels=labels)),), None)


def _labels_in(named: Recorder) -> Mapping[str, str]:
    """Return what the conversation that is named by a batch, or a file, says of it."""
    for recorded in named.stream.backend.read(named.stream.conversation_id):
        event = recorded.event()
        if isinstance(event, AnnotationAdded) and _is_id(event.labels.get(_IN)):
            return event.labels
    return {}


def _is_id(label: str | None) -> bool:
    """Whether a label is an id: anybody may annotate a conversation of this name."""
    try:
        UUID(label or "")
    except ValueError:
        return False
    return True


def key_of(name: str) -> str:
    """Return the key of the conversation that is named by a batch, or a file."""
    return f"batch/{name}"


_BATCH: Final = "onrecord:batch"
"""The member of an envelope that says of which batch a response is, and under which name.

It is not the provider's: a message does not say it.
"""


class Entry(NamedTuple):
    """A request of a batch, by the caller's name for it."""

    name: str
    begun: OpenRequest
    api: str


class EntryAnswer(NamedTuple):
    """What a request of a batch was answered; `raw` is what to keep of the wire."""

    name: str
    answer: Answer
    request_id: str | None = None
    raw: BlobBytes | None = None


def conclude_creation(
    recorders: Recorders, recorder: Recorder, entries: Sequence[Entry], recording: Conclusion
) -> None:
    """Record what the provider said to a batch, as what each of its requests was answered."""
    events, blobs = recording
    stream = recorder.stream
    responses = tuple(
        stream.draft(_said_to(entry, event), by=entry.begun.by)
        for entry in entries
        for event in events
    )
    _store(recorder, responses, blobs)
    created = events[-1] if events else None
    if isinstance(created, ResponseInterrupted) and created.reason == "deferred":
        keep_place(recorders, recorder, created.provider_id or "")


def answers_of(
    recorders: Recorders, bound: Recorder | None, name: BatchName
) -> BatchAnswers | None:
    """Return what records the answers of a batch; None where it was forgotten.

    They belong to their requests, wherever these are. Those of a batch that nobody recorded go
    where the reading is bound, else into the conversation that is named by the batch.
    """
    named = recorders.find(key_of(name.requests_id)) or recorders.find(key_of(name.batch_id))
    place = None if named is None else place_in(named)
    if place is not None:
        recorder = recorders.numbered(place)
        return None if recorder is None else BatchAnswers(recorder, name)
    if named is not None and next(iter(_answers(named, name)), None) is None:
        return None  # What it said was forgotten.
    return BatchAnswers(bound or recorders.keyed(key_of(name.batch_id)), name)


_Drafted: TypeAlias = tuple[tuple[NewEvent, ...], Mapping[str, BlobBytes]]
"""The events of an answer, ready for the log, and the blobs that they refer to, by digest."""


class BatchAnswers:
    """Records what the requests of one batch were answered, each once; one thread at a time."""

    def __init__(self, recorder: Recorder, name: BatchName) -> None:
        """Look which requests of a batch a conversation has, and which were answered."""
        self.recorder = recorder
        self._batch = name.batch_id
        self._awaiting: dict[str, Entry] = {}
        self._answered: set[str] = set()
        for entry, closing, place in _answers(recorder, name):
            if isinstance(closing, ResponseInterrupted) and closing.reason == "deferred":
                if closing.request is not None:
                    request = OpenRequest(closing.request, place.line, by=place.by)
                    self._awaiting[entry] = Entry(entry, request, closing.api)
            else:
                self._answered.add(entry)

    @property
    def is_known(self) -> bool:
        """Whether the requests of the batch are recorded."""
        return bool(self._awaiting)

    def has(self, name: str) -> bool:
        """Whether the answer to a request is recorded."""
        return name in self._answered

    def record(self, answers: Iterable[EntryAnswer]) -> None:
        """Make answers durable in one commit; spool them where the store cannot take them.

        Of two to one request the first is kept.
        """
        new: dict[str, EntryAnswer] = {}
        for answer in answers:
            if answer.name not in self._answered:
                new.setdefault(answer.name, answer)
        if not new:
            return
        drafted = [self._drafted(answer) for answer in new.values()]
        try:
            self._store(drafted)
        except IdempotencyMismatch:
            # Another process read the same lines, and was quicker with some of them.
            for answer_events in drafted:
                try:
                    self._store([answer_events])
                except IdempotencyMismatch:
                    logger.debug("an answer of a batch was recorded by another process meanwhile")
        self._answered.update(new)

    def _store(self, drafted: Sequence[_Drafted]) -> None:
        events = tuple(event for new_events, _ in drafted for event in new_events)
        blobs = {digest: data for _, contents in drafted for digest, data in contents.items()}
        _store(self.recorder, events, blobs)

    def _drafted(self, entry_answer: EntryAnswer) -> _Drafted:
        """Draft the events of an answer; the last one has an id that every reader gives it."""
        stream, response = self.recorder.stream, uuid7()
        entry = self._awaiting.get(entry_answer.name)
        request = None if entry is None else entry.begun
        request_id = None if request is None else request.request
        answer = entry_answer.answer
        if entry is not None and not answer.blocks:
            answer = replace(answer, api=entry.api)  # An error alone does not tell of which it is.
        events, blobs = events_of(
            answer,
            WIRES[answer.api].event_of,
            response=response,
            request=request_id,
            request_id=entry_answer.request_id,
            line=response if request is None else request.line,
            raw=entry_answer.raw,
        )
        closing = _of_batch(events[-1], self._batch, entry_answer.name)
        once = _id_in(stream.conversation_id, f"batch {self._batch} {entry_answer.name}")
        by = None if request is None else request.by
        drafted = [stream.draft(event, request_id, by=by) for event in events[:-1]]
        return (*drafted, stream.draft(closing, request_id, event_id=once, by=by)), blobs


def _store(
    recorder: Recorder, drafted: tuple[NewEvent, ...], blobs: Mapping[str, BlobBytes]
) -> None:
    """Append what a batch was answered; IdempotencyMismatch where a part is recorded otherwise."""
    stream = recorder.stream
    pending = PendingAppend(Append(stream.tenant, stream.conversation_id, drafted), blobs)
    recorder.spool.store(
        stream.backend, pending, lambda: append_first(stream, drafted, None), (IdempotencyMismatch,)
    )


def _said_to(entry: Entry, event: Event) -> Event:
    """Return what was said to a whole batch as what was said to one of its requests."""
    place: dict[str, object] = {"request": entry.begun.request, "line": entry.begun.line}
    match event:
        case AttemptFailed():
            return event.model_copy(update=place)
        case ResponseInterrupted():
            response = event.model_copy(update={**place, "api": entry.api, "response": uuid7()})
            return _of_batch(response, event.provider_id, entry.name)
        case _:
            return event


def _of_batch(event: Event, batch_id: str | None, name: str) -> Event:
    """Return the end of a response which says of what batch it is, and under which name."""
    if not isinstance(event, ResponseCompleted | ResponseInterrupted):
        return event
    batch: JsonObject = {"id": batch_id, "custom_id": name}
    return event.model_copy(update={"envelope": {**event.envelope, _BATCH: batch}})


class _Place(NamedTuple):
    """The line that a response is on, and whose it is."""

    line: UUID | None
    by: Attribution


def _answers(
    recorder: Recorder, batch: BatchName
) -> Iterable[tuple[str, ResponseCompleted | ResponseInterrupted, _Place]]:
    """Yield by its name each response of a batch that a conversation holds, and its place.

    What is deferred is known by what its requests are, what was answered by the batch: the same
    requests may be sent in two.
    """
    stream, names = recorder.stream, {part.encode("utf-8", "surrogatepass") for part in batch}
    for recorded in stream.backend.read(stream.conversation_id):
        body = recorded.body or b""
        closing = closing_of(recorded) if any(part in body for part in names) else None
        if closing is None:
            continue
        is_deferred = isinstance(closing, ResponseInterrupted) and closing.reason == "deferred"
        match closing.envelope.get(_BATCH):
            case {"id": str() as batch_id, "custom_id": str() as name}:
                if batch_id == (batch.requests_id if is_deferred else batch.batch_id):
                    by = attribution_of(recorded.client_header())
                    yield name, closing, _Place(line_of(recorded), by)
            case _:
                continue


def _id_in(conversation_id: UUID, name: str) -> UUID:
    """Return the id that a name has in a conversation, as `uuid5`, half a character in it or not."""
    spelled = name.encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(conversation_id.bytes + spelled, usedforsecurity=False).digest()
    return UUID(bytes=digest[:16], version=5)
