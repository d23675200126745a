"""What is not there: events that were redacted, and versions that were not given."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from hansard.domain import events
from hansard.domain.log import Told
from hansard.projections.responses import Item, Place, event_of


def redacted(items: Sequence[Item]) -> set[Place]:
    """Return the places of the events that a later one redacted."""
    found: set[Place] = set()
    for item in items:
        conversation = None
        if isinstance(item, Told):
            if item.type != "content.redacted":
                continue
            conversation = item.conversation_id
        event = event_of(item)
        if isinstance(event, events.ContentRedacted):
            found.add((conversation, event.version))
    return found


def left_out(items: Sequence[Item]) -> int:
    """Return how many versions are missing before the last one of each conversation.

    Those of which the main line was given up, or that stayed on a side line then, do not count.
    """
    if not items:
        return 0
    (first, begin), (last, end) = _place(items[0]), _place(items[-1])
    if first == last and begin == 1 and end == len(items):
        return 0
    versions: dict[UUID | None, set[int]] = {}
    # Ids are dear to hash, and the events of a conversation mostly follow each other.
    of, given = first, versions.setdefault(first, set())
    for conversation, version in map(_place, items):
        if conversation is not of:
            of, given = conversation, versions.setdefault(conversation, set())
        given.add(version)
    missing = sum(max(given) - len(given) for given in versions.values())
    return missing - sum(_given_up(item, versions) for item in items if _is_adoption(item))


def _given_up(item: Item, versions: dict[UUID | None, set[int]]) -> int:
    """Return how many events an adoption left behind, of those that are missing."""
    event = event_of(item)
    if not isinstance(event, events.LineAdopted):
        return 0
    conversation, version = _place(item)
    return sum(between not in versions[conversation] for between in range(event.after + 1, version))


def _is_adoption(item: Item) -> bool:
    if isinstance(item, Told):
        return item.type == "line.adopted"
    return isinstance(item[1], events.LineAdopted)


def _place(item: Item) -> Place:
    return (item.conversation_id, item.version) if isinstance(item, Told) else (None, item[0])
