"""Batches on their way out: their requests are recorded before they go, in a file it may be."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import UUID

from onrecord.adapters.recording.batches import Entry, conclude_creation
from onrecord.adapters.recording.recorder import Journal
from onrecord.adapters.wire.answer import Conclusion
from onrecord.adapters.wire.answer_events import closing_of
from onrecord.adapters.wire.api import BatchEntry, BatchWire
from onrecord.adapters.wire.bodies.answer_recorder import AnswerRecorder
from onrecord.adapters.wire.bodies.attempt import Attempt
from onrecord.adapters.wire.bodies.credentials import credentials_of
from onrecord.adapters.wire.clients import sending as request_headers
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.binding import Bound
from onrecord.adapters.wire.clients.sending import Sending, outgoing_of
from onrecord.adapters.wire.wires import WIRES, Asked, endpoint_of, refusal_of

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

    def creation(self, bound: Bound, sending: Sending, body: bytes) -> AnswerRecorder | None:
        """Record the requests of a batch that is about to be sent; return what records its answer.

        None where no request of it is a turn, or where they lie elsewhere. Raises the refusal where
        one cannot be read or made durable, as for a turn: providers take a batch with odd requests.
        """
        api = endpoint_of(sending.method, sending.path).api
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

    def _created(self, bound: Bound, sending: Sending, body: bytes) -> _Created | None:
        """Return the batch that this is a retry of, else a new one, recorded; None without turns."""
        api = endpoint_of(sending.method, sending.path).api
        wire = WIRES[api].batches
        if wire is None:
            return None
        turns = _turns(wire.entries(body), api)
        if not turns:
            return None
        known = bound.known()
        digest = _digest([entry for _, entry in turns])
        tried = None if known is None else known.talk.conversation_id, digest
        failed = self._retried(tried) if request_headers.retry_count(sending.headers) else None
        if failed is not None:
            return failed
        journal = known or bound.own()
        begun = journal.begin_batch(
            [
                outgoing_of(
                    spoken, replace(sending, target=it.url or sending.target), it.body, journal
                )
                for spoken, it in turns
            ]
        )
        entries = (Entry(it.name, one, to) for (to, it), one in zip(turns, begun, strict=True))
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


def _turns(entries: Sequence[BatchEntry], api: str) -> list[tuple[str, BatchEntry]]:
    """Return the requests of a batch that are turns, each with its API."""
    asked = [(endpoint_of("POST", it.url) if it.url else Asked(api, "turn"), it) for it in entries]
    return [(to.api, it) for to, it in asked if to.kind == "turn"]


def _digest(entries: Sequence[BatchEntry]) -> bytes:
    """Return what a batch is known by when it is sent again, in another form it may be."""
    digest = hashlib.sha256()
    for entry in entries:
        name = entry.name.encode("utf-8", "surrogatepass")
        digest.update(b"%d %b %d " % (len(name), name, len(entry.body)))
        digest.update(entry.body)
    return digest.digest()
