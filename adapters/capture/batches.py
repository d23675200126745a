"""Batches on an SDK's wire: the requests recorded before they go out, the results as they are read."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import UUID

from onrecord.adapters.batch_answers import (
    BatchAnswers,
    Entry,
    EntryAnswer,
    answers_of,
    conclude_creation,
)
from onrecord.adapters.capture import request_headers, unrecorded
from onrecord.adapters.capture.answer_recorder import AnswerRecorder
from onrecord.adapters.capture.attempt import Attempt, without_secrets
from onrecord.adapters.capture.background import closing_of
from onrecord.adapters.capture.binding import Bound
from onrecord.adapters.capture.credentials import Credentials, credentials_of
from onrecord.adapters.capture.endpoints import endpoint_of
from onrecord.adapters.capture.long_parts import shortened
from onrecord.adapters.capture.outgoing import outgoing_of
from onrecord.adapters.capture.place import Conclusion
from onrecord.adapters.capture.refusals import refusal_of
from onrecord.adapters.capture.result_lines import ResultLines
from onrecord.adapters.capture.secrets import secrets_of
from onrecord.adapters.capture.sending import Sending
from onrecord.adapters.capture.wire import BatchResult, BatchWire
from onrecord.adapters.capture.wires import WIRES
from onrecord.adapters.journal import Journal
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson, OnrecordError

logger = logging.getLogger("onrecord")

_MARK: Final = "onrecord.batch"
"""What a request is marked with that goes on for a batch: redirected, or sent anew."""

_FAILED_AT_MOST: Final = 16


@dataclass(frozen=True, slots=True)
class _Created:
    """A batch whose requests are recorded, and the journal that has them."""

    api: str
    journal: Journal
    entries: tuple[Entry, ...]
    tried: tuple[UUID | None, bytes]


class Batches:
    """Opens what records batches; knows which failed ones a retry repeats."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._failed: deque[_Created] = deque(maxlen=_FAILED_AT_MOST)

    def creating(self, bound: Bound, sending: Sending, body: bytes) -> AnswerRecorder | None:
        """Record the requests of a batch that is about to be sent; return what records its answer.

        None for a body that is none, which the provider refuses. Raises the refusal where they
        cannot be made durable.
        """
        api = endpoint_of(sending.method, sending.path).api
        wire = WIRES[api].batches
        created: _Created | None = sending.extensions.get(_MARK)
        try:
            created = created or self._created(bound, sending, body)
        except (InvalidContent, MalformedJson):
            created = None
        except Exception as exc:
            raise refusal_of(api)(
                f"the batch was not sent, for it could not be recorded first: {exc}"
            ) from exc
        if created is None or wire is None:
            unrecorded.say(sending.method, sending.path)
            return None
        sending.extensions[_MARK] = created
        return self._attempt(bound, created, wire, sending, body)

    def reading(self, bound: Bound, sending: Sending) -> AnswerRecorder | None:
        """Return what records the results that a request reads; None where they were forgotten.

        What cannot be found out keeps nobody from reading.
        """
        api = endpoint_of(sending.method, sending.path).api
        wire = WIRES[api].batches
        if wire is None:
            return None
        try:
            answers = answers_of(bound.journals, bound.known(), wire.batch_id(sending.path))
        except OnrecordError:
            logger.exception("results of a batch are read that cannot be recorded now")
            return None
        if answers is None:
            return None
        if not answers.is_known:
            unrecorded.say_unknown_batch()
        digest = answers.journal.digest
        secret = credentials_of(dict(sending.headers), sending.target, b"", api, digest)
        return ResultLines(api, wire, partial(_record, answers, secret))

    def _created(self, bound: Bound, sending: Sending, body: bytes) -> _Created | None:
        """Return the batch that this is a retry of, else a new one, recorded."""
        api = endpoint_of(sending.method, sending.path).api
        wire = WIRES[api].batches
        if wire is None:
            return None
        read = wire.entries(body)
        known = bound.known()
        tried = None if known is None else known.talk.conversation_id, hashlib.sha256(body).digest()
        failed = self._retried(tried) if request_headers.retry_count(sending.headers) else None
        if failed is not None:
            return failed
        journal = known or bound.own()
        bodies = (jsontext.write(entry.params) for entry in read)
        begun = journal.begin_batch([outgoing_of(api, sending, it, journal) for it in bodies])
        entries = (Entry(entry.name, it) for entry, it in zip(read, begun, strict=True))
        return _Created(api, journal, tuple(entries), tried)

    def _attempt(
        self, bound: Bound, created: _Created, wire: BatchWire, sending: Sending, body: bytes
    ) -> Attempt:
        """Return what records the answer to a batch, as that to each of its requests."""

        def close(recording: Conclusion, failed: bool) -> None:
            if failed:
                with self._lock:
                    self._failed.append(created)
            elif closing_of(recording) is not None:
                extensions.pop(_MARK, None)  # Sent once more, it asks once more.
            conclude_creation(bound.journals, created.journal, created.entries, recording)

        journal, first, extensions = created.journal, created.entries[0].begun, sending.extensions
        credentials = partial(
            credentials_of,
            dict(sending.headers),
            sending.target,
            body,
            created.api,
            journal.digest,
        )
        read = replace(WIRES[created.api], streams={}, read_body=wire.read_created)
        folder = journal.spool.folder
        return Attempt(read, first.request, first.line, credentials, close, folder)

    def _retried(self, tried: tuple[UUID | None, bytes]) -> _Created | None:
        with self._lock:
            found = next((batch for batch in self._failed if batch.tried == tried), None)
            if found is not None:
                self._failed.remove(found)
        return found


def _record(
    answers: BatchAnswers, secret: Credentials, results: Sequence[tuple[BatchResult, bytes]]
) -> None:
    answers.record(_told(result, line, secret) for result, line in results)


def _told(result: BatchResult, line: bytes, secret: Credentials) -> EntryAnswer:
    """Return what a line says without secrets; the line too where it says more than was read."""
    answer, raw = shortened(result.answer), None
    if answer.needs_raw or secrets_of(answer.envelope, answer.api):
        if answer.needs_raw and line:
            raw = secret.out_of_answer(line, streamed=False)
        answer = without_secrets(secret, answer)
    return EntryAnswer(result.name, answer, result.request_id, raw)
