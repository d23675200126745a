"""Which keys the events of a conversation are under: those of its first event, once it has one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, MutableMapping
from functools import lru_cache, partial
from typing import Final
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.encryption.aes import BodyCipher
from onrecord.adapters.encryption.subject_keys import SubjectKeys
from onrecord.adapters.storage.steps import beside_loop
from onrecord.domain.encoding import decode
from onrecord.domain.encryption.bodies import key_name_in
from onrecord.domain.encryption.subjects import Subject, subjects_of
from onrecord.domain.encryption.wrapped import DestroyedKey
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import ConversationForked
from onrecord.domain.log import Append, Log

_MOST_KEPT: Final = 10_000
_FORKED: Final = "conversation.forked"


class ConversationCiphers:
    """Finds what encrypts the events of a conversation, and what decrypts an event. Threads may share it."""

    def __init__(self, log: Log, keys: SubjectKeys) -> None:
        """Ask for nothing yet. `log` is as it is stored."""
        self._log = log
        self._keys = keys
        self._names: Newest[UUID, str] = Newest(_MOST_KEPT)
        self._named: Newest[UUID, tuple[tuple[str, ...], str]] = Newest(_MOST_KEPT)
        self._lock = threading.Lock()

    def to_append(self, append: Append, batch: MutableMapping[UUID, BodyCipher]) -> BodyCipher:
        """Return what encrypts the events of an append.

        A conversation is under the keys of its first event. Those are the keys of the subjects that are
        named with it, else of what it was forked from, else its own. InvalidInput where other subjects
        are named later, as long as the keys of those before are there. `batch` is what conversations are
        under by appends that go to the log together with this one, before it. It gets this one's, unless
        that is in memory since the conversation began.
        """
        name = self._names.get(append.conversation_id)
        kept = None if name is None else self._keys.kept(name)
        if kept is not None and not _names_in(append):
            return kept
        batch[append.conversation_id] = cipher = self._found(append, batch)
        return cipher

    def own(self, append: Append) -> BodyCipher:
        """Return what a conversation is under where nobody is named; the log is not asked."""
        return self._of_subjects(append, ())

    def of_names(self, append: Append) -> BodyCipher:
        """Return what an append is under by the subjects that it names, if any; the log is not asked."""
        return self._of_subjects(append, _names_in(append))

    def note_begun(self, conversation_id: UUID, header: bytes) -> None:
        """Remember what a conversation is under whose first event, with this header, was recorded."""
        if (name := key_name_in(header)) is not None:
            with self._lock:
                self._names[conversation_id] = name

    def of_begun(self, conversation_id: UUID) -> BodyCipher | DestroyedKey | None:
        """Return what a conversation is under since its first event; None if it has none, or one in clear."""
        name = self._names.get(conversation_id) or self._name_in_log(conversation_id)
        return None if name is None else self.of(name)

    def of_later_events(self, conversation_id: UUID) -> Iterator[BodyCipher]:
        """Yield what the events of a conversation are under whose first key may be gone; reads all headers."""
        names = (key_name_in(event.header) for event in self._log.read(conversation_id))
        for name in dict.fromkeys(names):
            cipher = None if name is None else self.of(name)
            if isinstance(cipher, BodyCipher):
                yield cipher

    def of(self, name: str) -> BodyCipher | DestroyedKey:
        """Return what decrypts what is under keys, or the one of them that is destroyed."""
        # The key store may wait for a disk or a KMS.
        return self._keys.kept(name) or beside_loop(partial(self._keys.cipher_of, name))

    def _found(self, append: Append, batch: Mapping[UUID, BodyCipher]) -> BodyCipher:
        begun = self._of_conversation(append.conversation_id, batch)
        subjects = _names_in(append)
        if not subjects:
            return begun or self._of_origin(append, batch) or self.own(append)
        if begun is not None and self._named.get(append.conversation_id) == (subjects, begun.name):
            return begun
        named = self.of_names(append)
        if begun is not None and begun.name != named.name:
            raise InvalidInput(
                "the conversation is of other subjects since its first event: name those, or none"
            )
        with self._lock:
            self._named[append.conversation_id] = subjects, named.name
        return named

    def _of_conversation(
        self, conversation_id: UUID, batch: Mapping[UUID, BodyCipher]
    ) -> BodyCipher | None:
        """Return what a conversation is under; None if it has not begun, or its key is destroyed."""
        cipher = batch.get(conversation_id) or self.of_begun(conversation_id)
        return cipher if isinstance(cipher, BodyCipher) else None

    def _name_in_log(self, conversation_id: UUID) -> str | None:
        first = next(iter(self._log.first_events((conversation_id,))), None)
        if first is None:
            return None
        self.note_begun(conversation_id, first.header)
        return key_name_in(first.header)

    def _of_origin(self, append: Append, batch: Mapping[UUID, BodyCipher]) -> BodyCipher | None:
        for event in append.events:
            if event.type == _FORKED:
                forked = decode(event.type, event.schema_version, event.body)
                if isinstance(forked, ConversationForked):
                    return self._of_conversation(forked.origin, batch)
        return None

    def _of_subjects(self, append: Append, names: tuple[str, ...]) -> BodyCipher:
        subjects = _subjects(append.tenant, append.conversation_id, names)
        return beside_loop(partial(self._keys.cipher_for, subjects))


def _names_in(append: Append) -> tuple[str, ...]:
    return append.events[0].subjects if append.events else ()


@lru_cache(maxsize=1024)
def _subjects(tenant: UUID, conversation_id: UUID, names: tuple[str, ...]) -> tuple[Subject, ...]:
    return subjects_of(tenant, conversation_id, names)
