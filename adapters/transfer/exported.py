"""A file of `onrecord export`, read line by line and believed only as far as it proves itself."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Final
from uuid import UUID

from onrecord.adapters.inputs.arguments import key_given
from onrecord.adapters.transfer.export import FORMAT, blobs_in
from onrecord.domain import jsontext
from onrecord.domain.admission import Standing, closes, need_of, why_refused
from onrecord.domain.content import Blob
from onrecord.domain.encoding import Erased
from onrecord.domain.encryption.blobs import is_encrypted
from onrecord.domain.encryption.bodies import key_name_in
from onrecord.domain.errors import InvalidExport, OnrecordError
from onrecord.domain.events import ConversationStarted
from onrecord.domain.header import SALT_SIZE, body_digest, leaf, parse_header, recorded_header
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import is_marked
from onrecord.domain.operators import is_operators

# The members of a line of an export, each taken only if it is of its kind.
#
# What is refused is named by its name, never by its value: the file may be anybody's.

LARGEST: Final = 2**63 - 1
"""The largest number of a log: versions, positions and times are signed 64-bit numbers."""


class Members:
    """The members of one line; each verb raises InvalidExport where one is missing or another kind."""

    def __init__(self, line: JsonObject) -> None:
        """Read an object."""
        self._line = line

    def __contains__(self, name: str) -> bool:
        """Whether there is a member of that name."""
        return name in self._line

    def is_word(self, name: str, word: str) -> bool:
        """Whether a member is this word."""
        return self._line.get(name) == word

    def is_null(self, name: str) -> bool:
        """Whether a member is null."""
        return self._member(name) is None

    def text(self, name: str) -> str:
        """Return a text that UTF-8 can spell."""
        value = self._member(name)
        if not isinstance(value, str):
            raise _other_kind(name)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _other_kind(name) from None
        return value

    def number(self, name: str, least: int = 0) -> int:
        """Return a whole number that a log can hold, `least` or more."""
        value = self._member(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
            raise _other_kind(name)
        return value

    def id(self, name: str) -> UUID:
        """Return an id, which has one spelling only."""
        text = self.text(name)
        with suppress(ValueError):
            value = UUID(text)
            if str(value) == text:
                return value
        raise _other_kind(name)

    def hex(self, name: str, size: int) -> bytes:
        """Return so many bytes that are spelled in hexadecimal digits."""
        text = self.text(name)
        with suppress(ValueError):
            value = bytes.fromhex(text)
            if len(value) == size and value.hex() == text:
                return value
        raise _other_kind(name)

    def base64(self, name: str) -> bytes:
        """Return the bytes that are spelled in Base64."""
        try:
            return b64decode(self.text(name), validate=True)
        except (Error, ValueError):
            raise _other_kind(name) from None

    def _member(self, name: str) -> Any:
        if name not in self._line:
            raise InvalidExport(f"{name} is missing")
        return self._line[name]


def _other_kind(name: str) -> InvalidExport:
    return InvalidExport(f"{name} is not of its kind")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first line: which conversation follows, from which incarnation of a log, how long.

    `key` is None where it was forgotten.
    """

    key: str | None
    conversation_id: UUID
    incarnation: UUID
    events: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of a blob; the pieces of a blob follow each other."""

    blob: Blob
    start: int
    data: bytes

    @property
    def is_last(self) -> bool:
        """Whether the blob is whole with it."""
        return self.start + len(self.data) == self.blob.size


Line = Beginning | Piece | RecordedEvent

_CUT: Final = "the file ends before its last line: it was cut, export it again"
_DIGEST_SIZE: Final = 32
_FOREIGN: Final = "this is no file of `onrecord export`"


def read_export(file: IO[bytes]) -> Iterator[Line]:
    """Yield what a file holds, each line verified before it is yielded.

    Of the lines before, the ids of their events and digests of their blobs stay in memory.

    InvalidExport where a line is malformed, a digest or a leaf is another than its bytes have, a
    blob is missing, or the file does not end with the digest of all its lines: take nothing of a
    file for true before the end was reached.
    """
    reading = _Reading()
    for number, data in enumerate(file, 1):
        try:
            line = reading.take(data)
        except OnrecordError as exc:
            raise InvalidExport(f"line {number}: {exc}") from exc
        if line is not None:
            yield line
    if not reading.ended:
        raise InvalidExport(_CUT if reading.beginning else _FOREIGN)


class _Reading:
    """What has to be known of the lines before to verify the next one."""

    def __init__(self) -> None:
        self.beginning: Beginning | None = None
        self.ended = False
        self._running = hashlib.sha256()
        self._lines = 0
        self._version = 0
        self._standing = Standing()
        self._blob: _OpenBlob | None = None
        self._blobs: set[str] = set()
        self._ids: set[bytes] = set()

    def take(self, data: bytes) -> Line | None:
        """Return what a line says; None for the last one."""
        members = _members(data)
        if self.ended:
            raise InvalidExport("something follows the last line")
        if members.is_word("onrecord", "end"):
            self._end(members)
            return None
        self._running.update(data)
        self._lines += 1
        if self.beginning is None:
            self.beginning = _beginning(members)
            return self.beginning
        if "blob" in members:
            return self._piece(members)
        return self._event(members, self.beginning)

    def _piece(self, members: Members) -> Piece:
        digest, size = members.hex("blob", _DIGEST_SIZE), members.number("size")
        blob = Blob(sha256=digest.hex(), size=size)
        piece = Piece(blob, members.number("start"), members.base64("data"))
        if self._blob is None:
            self._blob = _OpenBlob(blob)
        self._blob.add(piece)
        if piece.is_last:
            self._blob.close()
            self._blobs.add(blob.sha256)
            self._blob = None
        return piece

    def _event(self, members: Members, beginning: Beginning) -> RecordedEvent:
        event = _recorded(members, beginning.conversation_id)
        if key_name_in(event.header) is not None:
            raise InvalidExport("the event is encrypted: only its own log has the keys to read it")
        self._version += 1
        if event.version != self._version:
            raise InvalidExport(f"version {self._version} is missing")
        if event.version == 1:
            _must_begin(event, beginning.key)
        if event.event_id.bytes in self._ids:
            raise InvalidExport(f"version {event.version} has the id of an event before it")
        self._ids.add(event.event_id.bytes)
        self._follow(event)
        if is_operators(event.type):
            raise InvalidExport("the event is of the operators' stream: no conversation holds one")
        if self._blob is not None:
            raise InvalidExport("a blob is not whole")
        if any(blob.sha256 not in self._blobs for blob in blobs_in(event)):
            raise InvalidExport("a blob that the event refers to is missing")
        return event

    def _follow(self, event: RecordedEvent) -> None:
        """Refuse an event that the conversation does not take after those before it."""
        happened = event.event()
        need = need_of(happened)
        if not self._standing.takes(need):
            raise InvalidExport(f"version {event.version}: {why_refused(need)}")
        self._standing = self._standing.after(closes=closes(happened))

    def _end(self, members: Members) -> None:
        promised = self.beginning.events if self.beginning else -1
        if (self._lines, self._version) != (members.number("lines"), promised):
            raise InvalidExport("there are fewer or more lines than were written")
        if self._running.digest() != members.hex("sha256", _DIGEST_SIZE):
            raise InvalidExport("the lines are not those that were written")
        self.ended = True


class _OpenBlob:
    """A blob of which not all pieces came yet."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        self._size = 0
        self._running = hashlib.sha256()
        self._is_encrypted = False

    def add(self, piece: Piece) -> None:
        if piece.blob != self._blob or piece.start != self._size:
            raise InvalidExport("a piece of a blob is missing or out of place")
        self._is_encrypted = self._is_encrypted or (not self._size and is_encrypted(piece.data))
        self._size += len(piece.data)
        self._running.update(piece.data)

    def close(self) -> None:
        if self._running.hexdigest() != self._blob.sha256:
            if self._is_encrypted:
                raise InvalidExport("a blob is encrypted: only its own log has the keys to read it")
            raise InvalidExport("a blob's bytes do not match its digest")


def _members(data: bytes) -> Members:
    if not data.endswith(b"\n"):
        raise InvalidExport(_CUT)
    return Members(jsontext.read_object(data))


def _beginning(members: Members) -> Beginning:
    if not members.is_word("onrecord", "export"):
        raise InvalidExport(_FOREIGN)
    version = members.number("format")
    if version != FORMAT:
        raise InvalidExport(f"export format {version} is not known: upgrade Onrecord")
    conversation_id = members.id("conversation")
    if is_marked(conversation_id):
        raise InvalidExport("its id is kept for what operators do: no conversation has such an id")
    return Beginning(
        key=None if members.is_null("key") else key_given(members.text("key")),
        conversation_id=conversation_id,
        incarnation=members.id("incarnation"),
        events=members.number("events", 1),
    )


def _must_begin(first: RecordedEvent, key: str | None) -> None:
    """Refuse a first event that does not begin the conversation which the first line names."""
    event = first.event()
    if isinstance(event, Erased) and first.type == "conversation.started":
        return
    if not isinstance(event, ConversationStarted):
        raise InvalidExport("the first event begins no conversation")
    if event.key != key:
        raise InvalidExport("the first event has another key than the first line")


def _recorded(members: Members, conversation_id: UUID) -> RecordedEvent:
    """Return an event whose digest and leaf are those of its bytes."""
    header_bytes = members.text("header").encode()
    header = parse_header(header_bytes)
    salt = None if members.is_null("salt") else members.hex("salt", SALT_SIZE)
    body = _body(members)
    event = RecordedEvent(
        shard=members.number("shard"),
        position=members.number("position", 1),
        conversation_id=conversation_id,
        version=members.number("version", 1),
        exchange=members.number("exchange"),
        event_id=header.event_id,
        type=header.type,
        schema_version=header.schema_version,
        recorded_at=members.number("recorded_at"),
        header=header_bytes,
        digest=members.hex("digest", _DIGEST_SIZE),
        leaf=members.hex("leaf", _DIGEST_SIZE),
        salt=salt,
        body=body,
    )
    if header.conversation_id != conversation_id:
        raise InvalidExport("the event is of another conversation")
    if (salt is None) != (body is None):
        raise InvalidExport("an event has both salt and body, or neither")
    if salt is not None and body is not None and body_digest(salt, body) != event.digest:
        raise InvalidExport("the body does not match its digest")
    stamped = recorded_header(header_bytes, event.version, event.position, event.recorded_at)
    if leaf(stamped, event.digest) != event.leaf:
        raise InvalidExport("the event does not match its leaf")
    return event


def _body(members: Members) -> bytes | None:
    if "body_base64" in members:
        return members.base64("body_base64")
    return None if members.is_null("body") else members.text("body").encode()
