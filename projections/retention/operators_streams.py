"""Whose operators wrote a stream: what one tenant's say of another tenant counts for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from onrecord.domain.header import parse_header
from onrecord.domain.log import RecordedEvent


def is_foreign(events: Sequence[RecordedEvent], operators: UUID) -> bool:
    """Return whether the operators of another tenant wrote a stream; CorruptRecord where none can tell.

    An id alone says nothing: whoever appends chooses it.
    """
    return any(parse_header(event.header).tenant != operators for event in events)
