"""Batches on their way out: their requests are recorded before they go, in a file it may be."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import unquote
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.recording.batch_records import (
    BatchAnswers,
    BatchName,
    Entry,
    EntryAnswer,
    answers_of,
    batch_of,
    conclude_creation,
    has_requests,
    keep_file,
)
from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.recording.tenancy import Recorders
from onrecord.adapters.telemetry.tracing import TRACEPARENT
from onrecord.adapters.wire.answer import Conclusion, closing_event, shortened
from onrecord.adapters.wire.api import BatchEntry, BatchResult, BatchStatus, BatchWire, ResultsWire
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder, Attempt, without_secrets
from onrecord.adapters.wire.bodies.batch_answers import FirstLine, ResultLines, WholeBody
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.binding import CallBinding
from onrecord.adapters.wire.clients.sending import Sending, outgoing_of, retry_count
from onrecord.adapters.wire.secrets import secrets_of
from onrecord.adapters.wire.wires import WIRES, Purpose, endpoint_of, refusal_of
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import read_bounded_object
from onrecord.domain.new_events import NOBODY, Attribution

_MARK: Final = "onrecord.batch"
"""What a request is marked with that goes on for a batch: redirected, or sent anew."""

_FAILED_AT_MOST: Final = 16


_Tried: TypeAlias = tuple[UUID | None, Attribution, bytes]
"""What a batch is known by when it is sent again: the conversation, who sent it, and its digest."""


@dataclass(frozen=True, slots=True)
class _Created:
    """A batch whose requests are recorded, and the recorder that has them."""

    api: str
    recorder: Recorder
    entries: tuple[Entry, ...]
    tried: _Tried


class Batches:
    """Opens what records batches; knows which failed ones a retry repeats."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._failed: deque[_Created] = deque(maxlen=_FAILED_AT_MOST)

    def creation(self, bound: CallBinding, sending: Sending, body: bytes) -> AnswerRecorder | None:
        """Record the requests of a batch that is about to be sent; return what records its answer.

        None where no request of it is a turn, or where they lie elsewhere. Raises the refusal where
        one cannot be read or made durable, as for a turn: providers take a batch with odd requests.
        """
        api = sending.purpose.api
        wire = WIRES[api].batches
        created: _Created | None = sending.extensions.get(_MARK)
        try:
            created = created or self._created(bound, sending, body)
        except Exception as exc:
            raise refusal_of(api)(
                f"the batch was not sent, for it could not be recorded first: {exc}"
            ) from exc
        if created is None or wire is None:
            unrecorded.say(sending.method, sending.path)
            return None
        sending.extensions[_MARK] = created
        return self._attempt(bound, created, wire, sending, body)

    def _created(self, bound: CallBinding, sending: Sending, body: bytes) -> _Created | None:
        """Return the batch that this is a retry of, else a new one, recorded; None without turns."""
        api = sending.purpose.api
        wire = WIRES[api].batches
        if wire is None:
            return None
        turns = _turns(wire.entries(body), api)
        if not turns:
            return None
        bound_recorder = bound.known()
        digest = _digest([entry for _, entry in turns])
        tried: _Tried = None, NOBODY, digest
        if bound_recorder is not None:
            by = bound.attribution(bound_recorder).without_trace()
            tried = bound_recorder.stream.conversation_id, by, digest
        failed = self._retried(tried) if retry_count(sending.headers) else None
        if failed is not None:
            return failed
        recorder = bound_recorder or bound.unbound_recorder()
        by = bound.attribution(recorder, sending.headers.get(TRACEPARENT))
        requests = recorder.begin_batch(
            [
                outgoing_of(spoken, _sent_to(it.url, sending), it.body, recorder, by)
                for spoken, it in turns
            ]
        )
        entries = (
            Entry(it.name, request, to) for (to, it), request in zip(turns, requests, strict=True)
        )
        return _Created(api, recorder, tuple(entries), tried)

    def _attempt(
        self, bound: CallBinding, created: _Created, wire: BatchWire, sending: Sending, body: bytes
    ) -> Attempt:
        """Return what records the answer to a batch, as that to each of its requests."""

        def close(recording: Conclusion, failed: bool) -> None:
            if failed:
                with self._lock:
                    self._failed.append(created)
            elif closing_event(recording) is not None:
                extensions.pop(_MARK, None)  # Sent once more, it asks once more.
            conclude_creation(bound.recorders, created.recorder, created.entries, recording)

        recorder, first, extensions = created.recorder, created.entries[0].begun, sending.extensions
        credentials = sending.credentials(body, created.api, recorder.digest)
        read = replace(WIRES[created.api], streams={}, read_body=wire.read_created)
        scratch = recorder.spool.scratch
        return Attempt(read, first.request, first.line, credentials, close, scratch)

    def _retried(self, tried: _Tried) -> _Created | None:
        with self._lock:
            failed = next((batch for batch in self._failed if batch.tried == tried), None)
            if failed is not None:
                self._failed.remove(failed)
        return failed


def _sent_to(url: str | None, sending: Sending) -> Sending:
    """Return how one request of a batch is sent: as the batch, to the URL that it names."""
    return replace(sending, target=url or sending.target)


def _turns(entries: Sequence[BatchEntry], api: str) -> list[tuple[str, BatchEntry]]:
    """Return the requests of a batch that are turns, each with its API."""
    purposes = [
        (endpoint_of("POST", entry.url) if entry.url else Purpose(api, "turn"), entry)
        for entry in entries
    ]
    return [(to.api, entry) for to, entry in purposes if to.kind == "turn"]


def _digest(entries: Sequence[BatchEntry]) -> bytes:
    """Return what a batch is known by when it is sent again, in another form it may be."""
    digest = hashlib.sha256()
    for entry in entries:
        name = entry.name.encode("utf-8", "surrogatepass")
        digest.update(b"%d %b %d " % (len(name), name, len(entry.body)))
        digest.update(entry.body)
    return digest.digest()


# Results of batches on an SDK's wire: recorded as they are read, in whatever call has them.
#
# They come as lines, at a path that names the batch or a file, or in a status of the batch. Which
# file has the results of which batch is told by a status too.

logger = logging.getLogger("onrecord")

_FILES_AT_MOST: Final = 1024
_BATCHES_AT_MOST: Final = 16

_NOTED_AT_MOST: Final = 64
"""How many files of results are noted in the store for one file of requests, by a process.

Each is a conversation. A file is sent in a few batches; a list may name thousands.
"""

_Recording: TypeAlias = Callable[[Sequence[tuple[BatchResult, bytes]]], None]


class Results:
    """Opens what records the results of batches; knows which files have them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._files: Newest[str, BatchName] = Newest(_FILES_AT_MOST)
        self._answered: Newest[BatchName, frozenset[str]] = Newest(_BATCHES_AT_MOST)
        self._noted: Counter[str] = Counter()

    def file_status(self, bound: CallBinding, sending: Sending, body: bytes) -> AnswerRecorder:
        """Return what reads the status of a batch that is made of a file.

        One whose requests are not recorded is said.
        """
        if not _is_recorded(bound.recorders, body):
            unrecorded.say(sending.method, sending.path)
        return self.status(bound, sending)

    def status(self, bound: CallBinding, sending: Sending) -> AnswerRecorder:
        """Return what reads how batches stand: the results in that, or which files have them."""
        sent = dict(sending.headers)  # Copied: they are set anew for the next attempt.

        def read_statuses(body: bytes) -> None:
            with suppress(MalformedJson):
                status_body = read_bounded_object(body)
                for api, wire in WIRES.items():
                    for status in (
                        () if wire.batches is None else wire.batches.read_status(status_body)
                    ):
                        self._take(
                            bound, Sending(sending.method, sending.target, sent), api, status
                        )

        return WholeBody(read_statuses)

    def lines(self, bound: CallBinding, sending: Sending) -> AnswerRecorder | None:
        """Return what records the results that a request reads.

        None where they were forgotten. A file of which no status told that it has any is left
        alone; if it looks like one that has, that is said. What cannot be found out keeps nobody
        from reading.
        """
        api = sending.purpose.api
        batches = WIRES[api].batches
        wire = None if batches is None else batches.lines
        if wire is None:
            return None
        try:
            name = self._named(bound.recorders, wire, _id_in(sending.path))
            if name is None:
                return FirstLine(partial(_say_unknown, wire))
            answers = answers_of(bound.recorders, bound.known(), name)
        except Exception:
            logger.exception("results of a batch are read that cannot be recorded now")
            return None
        if answers is None:
            return None
        return ResultLines(api, wire, _recording(answers, sending, api))

    def _named(self, recorders: Recorders, wire: ResultsWire, results_id: str) -> BatchName | None:
        if not wire.in_files:
            return BatchName(results_id, results_id)
        with self._lock:
            name_of_file = self._files.get(results_id)
        return name_of_file or batch_of(recorders, results_id)

    def _take(self, bound: CallBinding, sending: Sending, api: str, status: BatchStatus) -> None:
        if status.url is not None and endpoint_of("POST", status.url).kind != "turn":
            return
        name = BatchName(status.batch_id, status.requests_id)
        for file in status.files:
            self._keep(bound.recorders, file, name)
        named = frozenset(result.name for result, _ in status.results)
        if named <= self._recorded(name):
            return  # A status has all results each time; looking them up reads a conversation.
        answers = answers_of(bound.recorders, bound.known(), name)
        if answers is not None:
            _recording(answers, sending, api)(status.results)
        if answers is not None and answers.is_known:
            self._note(name, frozenset(filter(answers.has, named)))

    def _recorded(self, name: BatchName) -> frozenset[str]:
        """Return which results of a batch were recorded from its statuses here."""
        with self._lock:
            return self._answered.get(name, frozenset())

    def _note(self, name: BatchName, named: frozenset[str]) -> None:
        with self._lock:
            self._answered[name] = self._answered.get(name, frozenset()) | named

    def _keep(self, recorders: Recorders, file: str, name: BatchName) -> None:
        with self._lock:
            is_known = self._files.get(file) == name
            self._files[file] = name
            is_full = self._noted[name.requests_id] >= _NOTED_AT_MOST
        if not is_known and not is_full and keep_file(recorders, file, name):
            with self._lock:
                self._noted[name.requests_id] += 1


def _is_recorded(recorders: Recorders, body: bytes) -> bool:
    """Whether the requests are recorded of a batch that is made of a file; raises nothing."""
    try:
        file = read_bounded_object(body).get("input_file_id")
        return isinstance(file, str) and has_requests(recorders, file)
    except MalformedJson:
        return False
    except Exception:
        logger.exception("whether the requests of a batch are recorded could not be found out")
        return False


def _id_in(path: str) -> str:
    """Return the id of the batch, or of the file, whose results are at a path: `.../ID/results`."""
    return unquote(path.rstrip("/").split("/")[-2])


def _say_unknown(wire: ResultsWire, line: bytes) -> None:
    """Say that results of a batch are read of which no status told that they are."""
    if wire.read_result(line) is not None:
        unrecorded.say_unknown_file()


def _recording(answers: BatchAnswers, sending: Sending, api: str) -> _Recording:
    """Return what records results, without the secrets of the request that reads them."""
    if not answers.is_known:
        unrecorded.say_unknown_batch()
    secret = sending.credentials(b"", api, answers.recorder.digest)()

    def take(results: Sequence[tuple[BatchResult, bytes]]) -> None:
        new = [result_line for result_line in results if not answers.has(result_line[0].name)]
        answers.record([_entry_answer(result, line, secret) for result, line in new])

    def record(results: Sequence[tuple[BatchResult, bytes]]) -> None:
        try:
            take(results)
        except Exception:  # noqa: BLE001 - it is raised again for the one that it is about
            _record_each(take, results)

    return record


def _record_each(take: _Recording, results: Sequence[tuple[BatchResult, bytes]]) -> None:
    """Record results one by one, for one of them cannot be; say how many could not."""
    failed: list[Exception] = []
    for result in results:
        try:
            take([result])
        except Exception as exc:  # noqa: BLE001 - said for all of them
            failed.append(exc)
    if failed:
        what = "result" if len(failed) == 1 else "results"
        text = "%d %s of a batch could not be recorded: read them again"
        logger.error(text, len(failed), what, exc_info=failed[0])


def _entry_answer(result: BatchResult, line: bytes, secret: Credentials) -> EntryAnswer:
    """Return what a line says without secrets; the line too where it says more than was read."""
    answer, raw, request_id = shortened(result.answer), None, result.request_id
    wire = WIRES[answer.api]
    if answer.needs_raw or secrets_of(answer.envelope, wire):
        if answer.needs_raw and line:
            raw = secret.out_of_answer(line, streamed=False)
        answer = without_secrets(secret, answer, wire)
    if request_id is not None:
        request_id = secret.out_of_text(request_id)
    return EntryAnswer(result.name, answer, request_id, raw)
