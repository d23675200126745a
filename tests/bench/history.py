"""A measured conversation as a recorded client leaves it, in the spelling of any API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

from onrecord.domain.events import Event
from onrecord.domain.log import Told
from onrecord.domain.new_events import Stamp, draft
from tests.bench.payload import API as ANTHROPIC
from tests.bench.payload import as_recorded, exchanges
from tests.bench.spellings import spelled

_CONVERSATION: Final = UUID(int=1)


def history(api: str, messages: int) -> list[Told]:
    """Return a conversation that an API answered, as the log tells it, bodies not yet read."""
    return as_told(happened(api, messages))


def happened(api: str, messages: int) -> Iterator[Event]:
    """Yield the events of such a conversation."""
    said = (event for exchange in exchanges(messages) for event in as_recorded(exchange))
    return said if api == ANTHROPIC else spelled(api, said)


def as_told(happened: Iterable[Event]) -> list[Told]:
    """Return events as the log of one conversation tells them."""
    return [_told(version, event) for version, event in enumerate(happened, start=1)]


def _told(version: int, event: Event) -> Told:
    stamp = Stamp(UUID(int=version), version, b"0" * 16, UUID(int=2), _CONVERSATION)
    new = draft(event, stamp)
    return Told(
        conversation_id=_CONVERSATION,
        version=version,
        event_id=new.event_id.bytes,
        type=new.type,
        schema_version=new.schema_version,
        recorded_at=version,
        body=new.body,
    )
