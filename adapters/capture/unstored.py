"""Events that the log could not take, and how a file of the spool spells them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from onrecord.domain import jsontext
from onrecord.domain.draft import blobs_of, once_of
from onrecord.domain.encoding import decode
from onrecord.domain.head import effect_of
from onrecord.domain.log import Append, NewEvent
from onrecord.domain.registry import Unrecognised


@dataclass(frozen=True, slots=True)
class Unstored:
    """Events that the log could not take, and the blobs they refer to, by digest."""

    append: Append
    blobs: Mapping[str, bytes]


def encoded(unstored: Unstored) -> bytes:
    """Return the bytes of a file that holds them."""
    append = unstored.append
    return jsontext.write(
        {
            "format": 1,
            "tenant": str(append.tenant),
            "conversation": str(append.conversation_id),
            "events": [_event_members(event) for event in append.events],
            "blobs": [_base64(data) for data in unstored.blobs.values()],
        }
    )


def _event_members(event: NewEvent) -> dict[str, Any]:
    return {
        "id": str(event.event_id),
        "type": event.type,
        "schema": event.schema_version,
        "header": _base64(event.header),
        "salt": _base64(event.salt),
        "body": _base64(event.body),
    }


def decoded(data: bytes) -> Unstored:
    """Return what a file holds; a ValueError, KeyError or OnrecordError where it is none."""
    members = jsontext.read_object(data)
    return Unstored(
        Append(
            UUID(members["tenant"]),
            UUID(members["conversation"]),
            tuple(_event(held) for held in members["events"]),
        ),
        dict(_by_digest(members["blobs"])),
    )


def _event(members: dict[str, Any]) -> NewEvent:
    body = base64.b64decode(members["body"])
    event = decode(members["type"], members["schema"], body)
    known = None if isinstance(event, Unrecognised) else event
    return NewEvent(
        event_id=UUID(members["id"]),
        type=members["type"],
        schema_version=members["schema"],
        header=base64.b64decode(members["header"]),
        salt=base64.b64decode(members["salt"]),
        body=body,
        effect=effect_of(event),
        once=None if known is None else once_of(known),
        blobs=() if known is None else blobs_of(known),
    )


def _by_digest(blobs: list[str]) -> Iterator[tuple[str, bytes]]:
    for encoded in blobs:
        data = base64.b64decode(encoded)
        yield hashlib.sha256(data).hexdigest(), data


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
