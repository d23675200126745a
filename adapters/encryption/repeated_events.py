"""Encrypted events that the log has already: the same text again is other bytes, under another nonce."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.log import Append, Duplicate, Log, Mismatch, NewEvent, RecordedEvent
from onrecord.domain.new_events import once_of

Readable: TypeAlias = Callable[[RecordedEvent], RecordedEvent]
"""Returns an event with its body as text, or with none."""

_PAGE: Final = 200


def compare_texts(
    log: Log, append: Append, mismatch: Mismatch, readable: Readable
) -> Duplicate | Mismatch:
    """Return what is true of an append, in clear, of which the log says that it is a mismatch.

    The log compares bytes. Here the events that it has under the same ids and names are compared by their
    text. One whose key was destroyed is taken for the same, as one that was erased, where its id is known.
    """
    looked_for = _LookedFor(append.events)
    versions: dict[int, int] = {}
    for recorded in _backwards(log, append.conversation_id):
        ordinal = looked_for.ordinal_of(recorded, readable)
        if ordinal is None:
            continue
        if not _is_same(append.events[ordinal], recorded, readable):
            return Mismatch(ordinal)
        versions[ordinal] = recorded.version
        if len(versions) == len(append.events):
            return Duplicate(min(versions.values()), max(versions.values()))
    return Mismatch(min(versions, default=mismatch.ordinal))


class _LookedFor:
    """The ids and names of events, each with the place of its event in the append."""

    def __init__(self, events: tuple[NewEvent, ...]) -> None:
        self._ids: dict[UUID, int] = {each.event_id: at for at, each in enumerate(events)}
        self._names = {each.once: at for at, each in enumerate(events) if each.once is not None}
        self._types = {each.type for each in events if each.once is not None}

    def ordinal_of(self, recorded: RecordedEvent, readable: Readable) -> int | None:
        """Return which of the events bears the id or the name of a recorded one."""
        by_id = self._ids.get(recorded.event_id)
        if by_id is not None or recorded.type not in self._types:
            return by_id
        event = readable(recorded).event()
        if isinstance(event, Unrecognised | Erased):
            return None
        name = once_of(event)
        return None if name is None else self._names.get(name)


def _is_same(event: NewEvent, recorded: RecordedEvent, readable: Readable) -> bool:
    body = readable(recorded).body
    return event.type == recorded.type and (body is None or body == event.body)


def _backwards(log: Log, conversation_id: UUID) -> Iterator[RecordedEvent]:
    """Yield the events of a conversation, the last one first: what is told again is mostly recent."""
    until = log.head(conversation_id).version
    while until > 0:
        after = max(0, until - _PAGE)
        yield from reversed(list(log.read(conversation_id, after=after, until=until)))
        until = after
