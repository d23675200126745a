"""Events that were recorded anew in another log: their headers there, and what must be the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from onrecord.domain.encryption.bodies import ENCRYPTED
from onrecord.domain.header import CODEC, ON_BEHALF_OF, ClientHeader, header_bytes, parse_header
from onrecord.domain.log import RecordedEvent

ActorOf: TypeAlias = Callable[[str], str]
"""Returns the keyed digest that an actor has in the other log, in hex, of the one in this log."""

SameActor: TypeAlias = Callable[[str, str], bool]
"""Says whether two keyed digests, in hex, of this log and of the other one, are of one actor."""

ANOTHER: Final = "it is another event there"

_CODECS: Final = (CODEC, ENCRYPTED)


def moved_header(header: bytes, actor_of: ActorOf) -> bytes:
    """Return the bytes of a header as another log has it: who acted by its own digests, all else the same."""
    old = parse_header(header)
    new = _moved(old, actor_of)
    return header if new == old else header_bytes(new)


def difference(old: RecordedEvent, new: RecordedEvent, is_same: SameActor) -> str | None:
    """Return what of an event is not the same in another log, its body in clear there; None where all is.

    What has no body in one of the two is compared by its header alone: whether an erasure explains that is
    for the caller to ask.
    """
    if (old.event_id, old.type, old.schema_version) != (new.event_id, new.type, new.schema_version):
        return ANOTHER
    if not _is_same_header(parse_header(old.header), parse_header(new.header), is_same):
        return "its header says something else there"
    if old.body is not None and new.body is not None and old.body != new.body:
        return "its body says something else there"
    return None


def _is_same_header(old: ClientHeader, new: ClientHeader, is_same: SameActor) -> bool:
    if new.codec not in _CODECS:
        return False
    mine, other = (_without_actors(header) for header in (old, new))
    actors = ((old.actor, new.actor), (old.on_behalf_of, new.on_behalf_of))
    return mine == other and all(
        one == another or (one is not None and another is not None and is_same(one, another))
        for one, another in actors
    )


def _without_actors(header: ClientHeader) -> ClientHeader:
    metadata = {name: text for name, text in header.metadata.items() if name != ON_BEHALF_OF}
    return header._replace(actor=None, metadata=metadata, codec=CODEC, key_id=None)


def _moved(header: ClientHeader, actor_of: ActorOf) -> ClientHeader:
    actor = None if header.actor is None else actor_of(header.actor)
    metadata: Mapping[str, str] = header.metadata
    if header.on_behalf_of is not None:
        metadata = {**metadata, ON_BEHALF_OF: actor_of(header.on_behalf_of)}
    return header._replace(actor=actor, metadata=metadata)
