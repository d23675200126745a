"""Results of batches on an SDK's wire: recorded as they are read, in whatever call has them.

They come as lines, at a path that names the batch or a file, or in a status of the batch. Which
file has the results of which batch is told by a status too.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote

from onrecord.adapters.recording.batches import (
    BatchAnswers,
    BatchName,
    EntryAnswer,
    answers_of,
    batch_of,
    has_requests,
    keep_file,
)
from onrecord.adapters.recording.recorders import Journals
from onrecord.adapters.wire.answer_events import shortened
from onrecord.adapters.wire.api import BatchResult, BatchStatus, ResultsWire
from onrecord.adapters.wire.bodies.answer_recorder import AnswerRecorder
from onrecord.adapters.wire.bodies.attempt import without_secrets
from onrecord.adapters.wire.bodies.batch_answers import FirstLine, ResultLines, WholeBody
from onrecord.adapters.wire.bodies.credentials import Credentials, credentials_of
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.binding import Bound
from onrecord.adapters.wire.clients.sending import Sending
from onrecord.adapters.wire.nesting import read_object
from onrecord.adapters.wire.secrets import secrets_of
from onrecord.adapters.wire.wires import WIRES, endpoint_of
from onrecord.domain.errors import MalformedJson

Kept = TypeVar("Kept")

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
        self._files: OrderedDict[str, BatchName] = OrderedDict()
        self._answered: OrderedDict[BatchName, frozenset[str]] = OrderedDict()
        self._noted: Counter[str] = Counter()

    def file_status(self, bound: Bound, sending: Sending, body: bytes) -> AnswerRecorder:
        """Return what reads the status of a batch that is made of a file.

        One whose requests are not recorded is said.
        """
        if not _is_recorded(bound.journals, body):
            unrecorded.say(sending.method, sending.path)
        return self.status(bound, sending)

    def status(self, bound: Bound, sending: Sending) -> AnswerRecorder:
        """Return what reads how batches stand: the results in that, or which files have them."""
        sent = dict(sending.headers)  # Copied: they are set anew for the next attempt.

        def told(body: bytes) -> None:
            with suppress(MalformedJson):
                said = read_object(body)
                for api, wire in WIRES.items():
                    for status in () if wire.batches is None else wire.batches.read_status(said):
                        self._take(
                            bound, Sending(sending.method, sending.target, sent), api, status
                        )

        return WholeBody(told)

    def lines(self, bound: Bound, sending: Sending) -> AnswerRecorder | None:
        """Return what records the results that a request reads.

        None where they were forgotten. A file of which no status told that it has any is left
        alone; if it looks like one that has, that is said. What cannot be found out keeps nobody
        from reading.
        """
        api = endpoint_of(sending.method, sending.path).api
        batches = WIRES[api].batches
        wire = None if batches is None else batches.lines
        if wire is None:
            return None
        try:
            name = self._named(bound.journals, wire, _id_in(sending.path))
            if name is None:
                return FirstLine(partial(_say_unknown, wire))
            answers = answers_of(bound.journals, bound.known(), name)
        except Exception:
            logger.exception("results of a batch are read that cannot be recorded now")
            return None
        if answers is None:
            return None
        return ResultLines(api, wire, _recording(answers, sending, api))

    def _named(self, journals: Journals, wire: ResultsWire, results_id: str) -> BatchName | None:
        if not wire.in_files:
            return BatchName(results_id, results_id)
        with self._lock:
            known = self._files.get(results_id)
        return known or batch_of(journals, results_id)

    def _take(self, bound: Bound, sending: Sending, api: str, status: BatchStatus) -> None:
        if status.url is not None and endpoint_of("POST", status.url).kind != "turn":
            return
        name = BatchName(status.batch_id, status.requests_id)
        for file in status.files:
            self._keep(bound.journals, file, name)
        named = frozenset(result.name for result, _ in status.results)
        if named <= self._recorded(name):
            return  # A status has all results each time; looking them up reads a conversation.
        answers = answers_of(bound.journals, bound.known(), name)
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
            _keep_newest(self._answered, name, _BATCHES_AT_MOST)

    def _keep(self, journals: Journals, file: str, name: BatchName) -> None:
        with self._lock:
            is_known = self._files.get(file) == name
            self._files[file] = name
            _keep_newest(self._files, file, _FILES_AT_MOST)
            is_full = self._noted[name.requests_id] >= _NOTED_AT_MOST
        if not is_known and not is_full and keep_file(journals, file, name):
            with self._lock:
                self._noted[name.requests_id] += 1


def _keep_newest(kept: OrderedDict[Kept, Any], newest: Kept, most: int) -> None:
    kept.move_to_end(newest)
    while len(kept) > most:
        kept.popitem(last=False)


def _is_recorded(journals: Journals, body: bytes) -> bool:
    """Whether the requests are recorded of a batch that is made of a file; raises nothing."""
    try:
        file = read_object(body).get("input_file_id")
        return isinstance(file, str) and has_requests(journals, file)
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
    digest = answers.journal.digest
    secret = credentials_of(dict(sending.headers), sending.target, b"", api, digest)

    def take(results: Sequence[tuple[BatchResult, bytes]]) -> None:
        new = [it for it in results if not answers.has(it[0].name)]
        answers.record([_told(result, line, secret) for result, line in new])

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
        said = "%d %s of a batch could not be recorded: read them again"
        logger.error(said, len(failed), what, exc_info=failed[0])


def _told(result: BatchResult, line: bytes, secret: Credentials) -> EntryAnswer:
    """Return what a line says without secrets; the line too where it says more than was read."""
    answer, raw, request_id = shortened(result.answer), None, result.request_id
    if answer.needs_raw or secrets_of(answer.envelope, answer.api):
        if answer.needs_raw and line:
            raw = secret.out_of_answer(line, streamed=False)
        answer = without_secrets(secret, answer)
    if request_id is not None:
        request_id = secret.out_of_text(request_id)
    return EntryAnswer(result.name, answer, request_id, raw)
