"""Events of a log in clear that are recorded anew in an encrypted one, with their documents."""

from __future__ import annotations

from functools import partial
from typing import Final
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.streams.stream import done_of
from onrecord.adapters.transfer.export import bytes_among
from onrecord.adapters.transfer.importing import again
from onrecord.adapters.transfer.moved_conversations import MovedActors, MovedConversation
from onrecord.domain.content import Blob
from onrecord.domain.encryption.bodies import key_name_in
from onrecord.domain.encryption.keys import key_name
from onrecord.domain.encryption.subjects import subjects_of
from onrecord.domain.errors import ConversationForgotten, InvalidInput
from onrecord.domain.events import ConversationStarted
from onrecord.domain.log import Append, Backend, NewEvent, RecordedEvent
from onrecord.projections.verification.moved_events import moved_header

_BATCH_BYTES: Final = 1024 * 1024


class MoveRecorder:
    """Records events of the old log in the new one, in batches."""

    def __init__(self, source: Backend, destination: EncryptedLog, actors: MovedActors) -> None:
        """Read documents from the old log; nothing waits yet."""
        self._source = source
        self._destination = destination
        self._actors = actors
        self._waiting = dict[UUID, tuple[MovedConversation, list[NewEvent]]]()
        self._size = 0
        self._stored = set[tuple[UUID, str]]()

    def take(self, event: RecordedEvent, known: MovedConversation) -> bool:
        """Record an event with the next batch; return False where it is there already, or erased in both."""
        if event.version <= known.present:
            self._must_be_under(event, known)
            return False
        if event.body is None:
            if not known.is_erased:
                raise _forgotten_meanwhile(event.conversation_id)
            return False
        actor_of = partial(self._actors.moved, known.tenant)
        new = again(event)._replace(header=moved_header(event.header, actor_of))
        if event.version == 1:
            self._open(event, known)
            new = new._replace(subjects=known.subjects)
        for blob in new.blobs:
            if isinstance(blob, Blob):
                self._store(event, known, blob)
        _, events = self._waiting.setdefault(event.conversation_id, (known, []))
        events.append(new)
        self._size += len(new.body)
        if self._size >= _BATCH_BYTES:
            self.flush()
        return True

    def flush(self) -> None:
        """Record what waits, durably."""
        appends = [
            Append(known.tenant, id_, tuple(events), known.present)
            for id_, (known, events) in self._waiting.items()
        ]
        verdicts = self._destination.append(appends) if appends else []
        for append, verdict in zip(appends, verdicts, strict=True):
            known, _ = self._waiting[append.conversation_id]
            try:
                known.present = done_of(append, verdict).last
            except ConversationForgotten:
                id_ = append.conversation_id
                raise InvalidInput(
                    f"the conversation {id_}{known.shown_key} was forgotten in the new log, and goes on in the "
                    "old one: forget it there too, and move again"
                ) from None
        self._waiting.clear()
        self._size = 0

    def _open(self, first: RecordedEvent, known: MovedConversation) -> None:
        begun = first.event()
        if not isinstance(begun, ConversationStarted):
            return
        id_ = first.conversation_id
        if self._destination.open(known.tenant, begun.key, id_) != id_:
            raise InvalidInput(
                f"another conversation of the new log has the key of {id_}: move into a log that has "
                "nothing of these conversations yet"
            )

    def _store(self, event: RecordedEvent, known: MovedConversation, blob: Blob) -> None:
        """Store a document in the conversation, once a page."""
        name = event.conversation_id, blob.sha256
        if name in self._stored:
            return
        if not known.present:
            self.flush()  # What comes before the first event would be under other keys.
        chunks = bytes_among(self._source, known.owners, blob)
        self._destination.put_blob(known.tenant, event.conversation_id, chunks)
        self._stored.add(name)

    def _must_be_under(self, first: RecordedEvent, known: MovedConversation) -> None:
        """Raise InvalidInput where a conversation that is there already is of other subjects."""
        if first.version > 1 or not known.subjects:
            return
        wanted = self._keys_of(first, known)
        for begun in self._destination.stored.first_events((first.conversation_id,)):
            if self._destination.readable(begun).body is None:
                return  # It was erased there, with its subjects perhaps.
            if wanted is None or key_name_in(begun.header) != wanted:
                raise InvalidInput(
                    f"the conversation {first.conversation_id} was moved before, and is of other "
                    "subjects there: leave them out, or move into a new log"
                )

    def _keys_of(self, first: RecordedEvent, known: MovedConversation) -> str | None:
        """Return the name of the keys that its subjects have; None where one has none. None is made."""
        keys = self._destination.keys
        if keys is None:
            return None
        subjects = subjects_of(known.tenant, first.conversation_id, known.subjects)
        key_ids = [key_id for each in subjects if (key_id := keys.key_id_of(each)) is not None]
        return key_name(key_ids) if len(key_ids) == len(subjects) else None


def _forgotten_meanwhile(conversation_id: UUID) -> InvalidInput:
    return InvalidInput(
        f"the conversation {conversation_id} was forgotten in the old log after some of it was moved: "
        "forget it in the new one too, and move again"
    )
