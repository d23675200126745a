"""A log whose bodies are encrypted as they are appended, and decrypted as they are read.

It is a backend around another one. What is around it has text; what is inside has ciphertext, and is all
that seals, proofs and hashes need. Only here the two meet, so nobody forgets to encrypt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from onrecord.adapters.encryption.aes import BodyCipher
from onrecord.adapters.encryption.conversation_ciphers import ConversationCiphers
from onrecord.adapters.encryption.encrypted_appends import append_encrypted
from onrecord.adapters.encryption.encrypted_documents import EncryptedDocuments
from onrecord.adapters.encryption.subject_keys import SubjectKeys
from onrecord.adapters.storage.steps import Steps
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import KeyedBlobs, address_of, addresses_of
from onrecord.domain.encryption.bodies import (
    encrypted_header,
    is_unencrypted,
    key_name_in,
    must_be_of,
)
from onrecord.domain.encryption.mark import Markable
from onrecord.domain.encryption.wrapped import DestroyedKey
from onrecord.domain.errors import InvalidInput, StorageUnavailable
from onrecord.domain.head import Pointer
from onrecord.domain.log import (
    BEFORE_FIRST,
    Append,
    Backend,
    Cursor,
    NewEvent,
    NewSince,
    RecordedEvent,
    Subscription,
    Told,
    Verdict,
)

if TYPE_CHECKING:
    from onrecord.adapters.streams.stream import Appends

LOCKED = (
    "the log is encrypted: name its keys by $ONRECORD_KEYS and $ONRECORD_KEK, or by `keys` and `kek` "
    "of connect"
)


class StoredLog(KeyedBlobs, Markable, Backend, Protocol):
    """A backend, what wakes up those who follow it, and how coroutines wait for it."""

    wakeups: Wakeups

    @property
    def steps(self) -> Steps:
        """Return how coroutines wait for it."""
        ...


class EncryptedLog:
    """A backend that encrypts and decrypts for those around it; `stored` is the one inside.

    Without keys it tells what is in clear: heads, and events of operators and of other applications, which
    are never encrypted. What needs another body, and each append of one, is StorageUnavailable.
    """

    def __init__(
        self, stored: StoredLog, keys: SubjectKeys | None, *, is_opaque: bool = False
    ) -> None:
        """Encrypt and decrypt by keys of subjects. An opaque one reads without keys: no body is there."""
        self.stored = stored
        self.keys = keys
        self._is_opaque = is_opaque
        self._ciphers = None if keys is None else ConversationCiphers(stored, keys)
        self._documents = (
            None if self._ciphers is None else EncryptedDocuments(stored, self._ciphers)
        )
        self.wakeups = stored.wakeups
        self.steps = stored.steps
        # What has no body is as it is stored.
        self.cursors, self.incarnation, self.head = stored.cursors, stored.incarnation, stored.head
        self.exchange_start, self.owner = stored.exchange_start, stored.owner
        self.open, self.find, self.conversations = stored.open, stored.find, stored.conversations
        self.open_conversations = stored.open_conversations
        self.sweep_blobs, self.forget = stored.sweep_blobs, stored.forget
        self.may_forget, self.residue, self.rewrite = (
            stored.may_forget,
            stored.residue,
            stored.rewrite,
        )
        self.erasures, self.erased = stored.erasures, stored.erased
        self.digest, self.prover, self.clock = stored.digest, stored.prover, stored.clock
        self.actors, self.inventory = stored.actors, stored.inventory

    def close(self) -> None:
        """Let go of the log, and of the key store."""
        self.stored.close()
        if self.keys is not None:
            self.keys.close()

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        """Record what can be recorded, encrypted, and return a verdict for each request, in order."""
        return append_encrypted(self, self.stored, appends)

    def encrypted(self, append: Append, batch: MutableMapping[UUID, BodyCipher]) -> Append:
        """Return an append with the bodies as they are stored; what stays in clear as it is.

        `batch` is what the conversations of the appends before it are under, and gets this one's.
        InvalidInput for an event whose header says that it is encrypted already.
        """
        cipher: BodyCipher | None = None
        events: list[NewEvent] = []
        for event in append.events:
            if is_unencrypted(event.type, event.header):
                cipher = cipher or self.ciphers().to_append(append, batch)
                events.append(_encrypted(event, cipher))
            else:
                _must_be_clear(event)
                events.append(event)
        if cipher is None:
            return append
        tenant, conversation_id, _, expected_version = append
        return Append(tenant, conversation_id, tuple(events), expected_version)

    def readable(self, event: RecordedEvent) -> RecordedEvent:
        """Return an event with its body as text; as one that was erased, where a key was destroyed.

        CorruptRecord where the body was changed, or header and body are those of another event.
        """
        if event.body is None or (name := key_name_in(event.header)) is None:
            return event
        if self._is_opaque:
            return event._replace(body=None)
        cipher = self.ciphers().of(name)
        if isinstance(cipher, DestroyedKey):
            return event._replace(salt=None, body=None)
        must_be_of(event.header, event.conversation_id, event.event_id)
        return RecordedEvent(*event[:-1], cipher.decrypted(event.header, event.body))

    def cipher(self, name: str) -> BodyCipher | None:
        """Return what decrypts what is under keys; None where one of them is destroyed."""
        cipher = self.ciphers().of(name)
        return cipher if isinstance(cipher, BodyCipher) else None

    def read(
        self,
        conversation_id: UUID,
        *,
        after: int = BEFORE_FIRST,
        until: int | None = None,
        limit: int | None = None,
    ) -> Iterator[RecordedEvent]:
        """Yield a conversation's events with after < version <= until, in order of version."""
        read = self.stored.read(conversation_id, after=after, until=until, limit=limit)
        return map(self.readable, read)

    def first_events(self, conversation_ids: Sequence[UUID]) -> list[RecordedEvent]:
        """Return the events of version 1 of several conversations, in no order, at one go."""
        return self._each(self.stored.first_events(conversation_ids))

    def tell(
        self, conversation_id: UUID, *, exchange: int = 0, until: int | None = None
    ) -> Iterator[Told]:
        """Yield what a fold takes of a conversation's events, in order of version."""
        start = self.stored.exchange_start(conversation_id, exchange) if exchange else 0
        if exchange and not start:
            return
        after = start - 1 if exchange else BEFORE_FIRST
        for event in self.read(conversation_id, after=after, until=until):
            yield event.told()

    def read_log(self, after: Cursor, limit: int) -> list[RecordedEvent]:
        """Return at most `limit` events of a shard after a cursor, in order of position."""
        return self._each(self.stored.read_log(after, limit))

    def subscribe(self, after: Cursor, tenant: UUID | None = None) -> Subscription:
        """Return the events of a shard after a cursor, and those to come; of a `tenant`, its own."""
        return self.readable_from(self.stored.subscribe(after, tenant))

    def readable_from(self, subscription: Subscription) -> Subscription:
        """Return a subscription to what is stored, with bodies as text."""
        return _ReadableSubscription(subscription, self)

    def new_since(self, conversation_id: UUID, after: int, limit: int) -> NewSince:
        """Return where a conversation stands, and at most `limit` events that came after a version."""
        found = self.stored.new_since(conversation_id, after, limit)
        return found._replace(events=self._each(found.events))

    def pointed(
        self, conversation_id: UUID, pointer: Pointer, until: int, limit: int
    ) -> list[RecordedEvent]:
        """Return the last events up to a version whose effect `points` so, the last one first."""
        return self._each(self.stored.pointed(conversation_id, pointer, until, limit))

    def put_blob(self, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes]) -> Blob:
        """Store bytes, encrypted and durably, and return the reference."""
        return self._known_documents().put(tenant, conversation_id, chunks)

    def get_blob(self, conversation_id: UUID, blob: Blob) -> Iterator[bytes]:
        """Yield the bytes of a blob in pieces of at most 1 MiB; CorruptRecord if it is missing."""
        yield from self._known_documents().get(conversation_id, blob)

    def rekey_documents(self, append: Append) -> bool:
        """Put documents of before a conversation began under the keys that it begins with, if there are any.

        Return whether there were.
        """
        if not any(is_unencrypted(event.type, event.header) for event in append.events):
            return False
        cipher = self.ciphers().to_append(append, {})
        return self._known_documents().rekey(append, cipher)

    def _each(self, events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
        return [self.readable(event) for event in events]

    def ciphers(self) -> ConversationCiphers:
        """Return what encrypts and decrypts; StorageUnavailable without keys."""
        if self._ciphers is None:
            raise StorageUnavailable(LOCKED)
        return self._ciphers

    def _known_documents(self) -> EncryptedDocuments:
        if self._documents is None:
            raise StorageUnavailable(LOCKED)
        return self._documents


def appends_to(backend: Backend, destination: Appends) -> Appends:
    """Return what takes appends in a log's place, in its database: encrypted, where the log is."""
    if isinstance(backend, EncryptedLog):
        return _EncryptedAppends(backend, destination)
    return destination


def without_bodies(backend: Backend, *, uses_keys: bool = False) -> Backend:
    """Return a log without the bodies that are encrypted, or that it has no keys to."""
    if isinstance(backend, EncryptedLog) and not (uses_keys and backend.keys):
        return EncryptedLog(backend.stored, None, is_opaque=True)
    return backend


def readable_in(backend: Backend, event: RecordedEvent) -> RecordedEvent:
    """Return an event as it is stored as a log's users read it; without a body where no key is known."""
    if isinstance(backend, EncryptedLog):
        return backend.readable(event)
    return event if key_name_in(event.header) is None else event._replace(body=None)


def address_in(backend: Backend, event: RecordedEvent, blob: Blob) -> Blob | KeyedBlob:
    """Return what a log has a blob by that an event refers to."""
    name = key_name_in(event.header)
    if name is None or not isinstance(backend, EncryptedLog):
        return blob
    cipher = backend.cipher(name)
    return blob if cipher is None else address_of(cipher.data_key, blob)


def stored_of(backend: Backend) -> Backend:
    """Return a log as it is stored: what has hashes, seals and rows to tell, and needs no key."""
    return backend.stored if isinstance(backend, EncryptedLog) else backend


@dataclass(frozen=True, slots=True)
class _EncryptedAppends:
    log: EncryptedLog
    destination: Appends

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        return append_encrypted(self.log, self.destination, appends)


class _ReadableSubscription(Subscription):
    """A subscription whose events have their bodies as text."""

    def __init__(self, stored: Subscription, log: EncryptedLog) -> None:
        self._stored = stored
        self._log = log

    @property
    def is_over(self) -> bool:
        return self._stored.is_over

    def __next__(self) -> RecordedEvent:
        return self._log.readable(next(self._stored))

    def poll(self) -> RecordedEvent | None:
        event = self._stored.poll()
        return None if event is None else self._log.readable(event)

    def stop(self) -> None:
        self._stored.stop()

    def __exit__(self, *exc: object) -> None:
        self.stop()


def _encrypted(event: NewEvent, cipher: BodyCipher) -> NewEvent:
    # Not by _replace, which takes as long as AES.
    event_id, type_, schema, clear_header, salt, clear_body, effect, once, blobs, needs, _ = event
    header = encrypted_header(clear_header, cipher.name)
    body = cipher.encrypted(header, clear_body)
    addresses = blobs and addresses_of(cipher.data_key, blobs)
    return NewEvent(event_id, type_, schema, header, salt, body, effect, once, addresses, needs)


def _must_be_clear(event: NewEvent) -> None:
    if key_name_in(event.header) is not None:
        raise InvalidInput("the event is encrypted already: append it as it was drafted, in clear")
