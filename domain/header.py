"""The client header, the recorded header and the leaf: what the log commits to, byte by byte.

docs/format.md is the specification, with test vectors. The client header is fixed before the
append; the recorded header adds what the log gave; the leaf commits to both and to the body, by a
salted digest, so that erasing body and salt leaves a commitment that tells nothing.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from onrecord.domain import jsontext
from onrecord.domain.errors import CorruptRecord, MalformedJson

FORMAT: Final = 1
"""The version of the header's own format."""

SALT_SIZE: Final = 16
CODEC: Final = "json"
"""The body is JSON, neither compressed nor encrypted."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{1,6}Z"
)
_RECORDED: Final = struct.Struct(">qqq")
_NO_HEADER: Final = "the bytes are not an event's header"
_LARGEST_SCHEMA: Final = 2**31
NO_METADATA: Final[Mapping[str, str]] = MappingProxyType({})
"""What most headers say besides: nothing."""

OURS: Final = "onrecord:"
"""How the names in `metadata` begin that Onrecord itself gives; a tool context has none of them."""

ON_BEHALF_OF: Final = OURS + "on-behalf-of"
"""The name in `metadata` of the keyed digest, in hex, of whom the actor acted for."""

POLICY: Final = OURS + "policy"
"""The name in `metadata` of the version of the policy in force, as a caller named it, in clear."""

DEPLOYMENT: Final = OURS + "deployment"
"""The name in `metadata` of the deployment that did it, as a caller named it, in clear."""

SPAN: Final = OURS + "span"
"""The name in `metadata` of the span in which it was done, 16 hex digits; `correlation` is its trace."""


class ClientHeader(NamedTuple):
    """What is fixed about an event before the log has it.

    `actor` is a keyed digest of who did it (never the name), `occurred_at` is in microseconds
    since 1970-01-01 UTC, `metadata` holds allow-listed strings, `key_id` names the key that
    encrypted the body.
    """

    event_id: UUID
    tenant: UUID
    conversation_id: UUID
    type: str
    schema_version: int
    occurred_at: int
    codec: str = CODEC
    key_id: str | None = None
    actor: str | None = None
    correlation_id: UUID | None = None
    causation_id: UUID | None = None
    metadata: Mapping[str, str] = NO_METADATA

    @property
    def occurred_time(self) -> datetime:
        """Return `occurred_at` as a datetime, in UTC."""
        return time_of(self.occurred_at)

    @property
    def on_behalf_of(self) -> str | None:
        """The keyed digest, in hex, of whom the actor acted for, if that is known."""
        return self.metadata.get(ON_BEHALF_OF)

    @property
    def policy(self) -> str | None:
        """The version of the policy in force, if a caller named it."""
        return self.metadata.get(POLICY)

    @property
    def deployment(self) -> str | None:
        """The deployment that did it, if a caller named it."""
        return self.metadata.get(DEPLOYMENT)

    @property
    def span(self) -> str | None:
        """The span in which it was done, in hex, if it was done in one: of the trace `correlation_id`."""
        return self.metadata.get(SPAN)


def header_bytes(header: ClientHeader) -> bytes:
    """Return the canonical bytes of a client header: sorted ASCII JSON, absent fields left out."""
    actor, conversation, format_, end = _frame(
        header.tenant,
        header.conversation_id,
        header.type,
        header.schema_version,
        header.codec,
        header.key_id,
        header.actor,
    )
    causation = _id_member("causation", header.causation_id)
    correlation = _id_member("correlation", header.correlation_id)
    metadata = _member("metadata", dict(header.metadata)) if header.metadata else ""
    text = (
        f'{actor}{causation}{conversation}{correlation}"event":"{header.event_id}",{format_}'
        f'{metadata}"occurred_at":"{timestamp(header.occurred_at)}",{end}'
    )
    return text.encode("ascii")


def parse_header(data: bytes) -> ClientHeader:
    """Return the client header that bytes hold; CorruptRecord where they are not one."""
    try:
        members = jsontext.read_object(data)
        version = members["format"]
        if version != FORMAT:
            which = version if type(version) is int else "of another kind"
            raise CorruptRecord(f"header format {which} is not known: upgrade Onrecord")
        if not _has_kinds(members):
            raise CorruptRecord(_NO_HEADER)
        return ClientHeader(
            event_id=UUID(members["event"]),
            tenant=UUID(members["tenant"]),
            conversation_id=UUID(members["conversation"]),
            type=members["type"],
            schema_version=members["schema"],
            occurred_at=parse_timestamp(members["occurred_at"]),
            codec=members["codec"],
            key_id=members.get("key"),
            actor=members.get("actor"),
            correlation_id=_uuid(members.get("correlation")),
            causation_id=_uuid(members.get("causation")),
            metadata=members.get("metadata", NO_METADATA),
        )
    except (AttributeError, KeyError, TypeError, ValueError, MalformedJson) as exc:
        raise CorruptRecord(_NO_HEADER) from exc


def _has_kinds(members: Mapping[str, Any]) -> bool:
    """Whether the members that are taken as they are have the kinds that they must have."""
    key, actor = members.get("key"), members.get("actor")
    return (
        type(members["type"]) is str
        and type(members["schema"]) is int
        and 0 < members["schema"] < _LARGEST_SCHEMA
        and type(members["codec"]) is str
        and (key is None or type(key) is str)
        and (actor is None or type(actor) is str)
        and ("metadata" not in members or _is_of_texts(members["metadata"]))
    )


def _is_of_texts(metadata: object) -> bool:
    return isinstance(metadata, dict) and all(
        type(value) is str for value in cast("dict[str, object]", metadata).values()
    )


def recorded_header(client_header: bytes, version: int, position: int, recorded_at: int) -> bytes:
    """Return the recorded header: the client header, then three big-endian signed 64-bit numbers.

    `recorded_at` is in microseconds since 1970-01-01 UTC, by the clock of the log.
    """
    return client_header + _RECORDED.pack(version, position, recorded_at)


def body_digest(salt: bytes, body: bytes) -> bytes:
    """Return SHA-256(salt || body), which tells nothing once salt and body are erased."""
    return hashlib.sha256(salt + body).digest()


def leaf(recorded: bytes, digest: bytes) -> bytes:
    """Return SHA-256(0x00 || recorded header || body digest): the event's leaf (RFC 9162 §2.1)."""
    return hashlib.sha256(b"\x00" + recorded + digest).digest()


@lru_cache(maxsize=256)
def _frame(
    tenant: UUID,
    conversation_id: UUID,
    type_: str,
    schema_version: int,
    codec: str,
    key_id: str | None,
    actor: str | None,
) -> tuple[str, str, str, str]:
    """Return what most that a writer says shares, around the rest: the members are sorted by name."""
    return (
        "{" if actor is None else "{" + _member("actor", actor),
        f'{_member("codec", codec)}"conversation":"{conversation_id}",',
        f'"format":{FORMAT},' + ("" if key_id is None else _member("key", key_id)),
        f'"schema":{schema_version},"tenant":"{tenant}",{_member("type", type_)[:-1]}}}',
    )


def _member(name: str, value: str | dict[str, str]) -> str:
    """Return a member in canonical JSON, and a comma."""
    return f'"{name}":{jsontext.write_canonical(value).decode("ascii")},'


def _id_member(name: str, value: UUID | None) -> str:
    return "" if value is None else f'"{name}":"{value}",'


def timestamp(microseconds: int) -> str:
    """Return a time as RFC 3339 in UTC with six digits, `2026-11-20T21:23:44.000001Z`."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    return f"{_second(seconds)}.{fraction:06d}Z"


def parse_timestamp(text: str) -> int:
    """Return a time that `timestamp` wrote, in microseconds; ValueError for another text."""
    # fromisoformat takes more than timestamp() writes; strptime takes ten times as long.
    if not _TIMESTAMP.fullmatch(text):
        raise ValueError("no time as it stands in headers")
    return microseconds_of(datetime.fromisoformat(text))


def time_of(microseconds: int) -> datetime:
    """Return a time in microseconds since 1970-01-01 UTC as a datetime, in UTC."""
    return _EPOCH + microseconds * _MICROSECOND


def microseconds_of(time: datetime) -> int:
    """Return a datetime with a zone in microseconds since 1970-01-01 UTC."""
    return (time - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def _uuid(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)
