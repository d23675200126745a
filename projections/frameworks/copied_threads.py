"""The copy of a thread of LangGraph: its events as another thread says them, behind its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import (
    ItemAmended,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.checkpoints import (
    CheckpointItem,
    Latest,
    Namespaces,
    read_item,
)
from onrecord.projections.frameworks.shared_values import moved


def copied(
    framework: str,
    events: Sequence[tuple[int, Event]],
    version: int,
    begun: Mapping[str, Latest | None],
) -> list[Event]:
    """Return the events of a thread as they are said behind `version` of another one.

    What came before the thread was last deleted is not among them. `begun` has the latest checkpoints
    of the other thread.
    """
    kept: dict[int, Event] = {}
    for at, event in events:
        match event:
            case StreamCleared(whole=True):
                kept.clear()
            case ItemWithdrawn() | ItemAmended() | ContentRedacted() if event.version not in kept:
                pass
            case ItemRecorded(beside=int()):
                pass
            case _:
                kept[at] = event
    versions = {at: version + place for place, at in enumerate(kept, start=1)}
    copy = [_moved(event, versions, version) for event in kept.values()]
    namespaces = Namespaces(framework)
    for place in range(len(copy), 0, -1):
        namespaces.take(version + place, copy[place - 1])
    namespaces.end()
    for name, latest in namespaces.latest.items():
        newest = max(filter(None, (latest, begun.get(name))), default=None)
        copy.append(
            StatePut(framework=framework, stream=name, key="latest", value=newest and list(newest))
        )
    return copy


def _moved(event: Event, versions: Mapping[int, int], last: int) -> Event:
    """Return an event that names versions where they lie now, behind the last one of the other thread."""
    match event:
        case ItemRecorded():
            item = _moved_item(event.item, versions)
            # Without its id: that stands for an item of the other thread there.
            return event.model_copy(update={"item": item, "item_id": None, "after": None})
        case ItemWithdrawn() | ItemAmended() | ContentRedacted():
            return event.model_copy(update={"version": versions[event.version]})
        case ItemsReplaced():
            # What the other thread had stays: only the thread that is copied was pruned.
            ranges = (_moved_range(first, end, versions) for first, end in event.kept)
            kept = ((1, last), *(each for each in ranges if each is not None))
            return event.model_copy(update={"kept": kept})
        case StatePut(value=[checkpoint_id, at]):
            return event.model_copy(update={"value": [checkpoint_id, versions[at]]})
        case _:
            return event


def _moved_item(item: JsonObject, versions: Mapping[int, int]) -> JsonObject:
    checkpoint = read_item(item)
    if not isinstance(checkpoint, CheckpointItem):
        return item
    values = {
        name: None if value is None else moved(value, versions)
        for name, value in checkpoint.values.items()
    }
    return replace(checkpoint, values=values).moved(versions)


def _moved_range(first: int, last: int, versions: Mapping[int, int]) -> tuple[int, int] | None:
    """Return where a range of versions lies now; None where nothing of it was copied."""
    moved = [there for here, there in versions.items() if first <= here <= last]
    return (min(moved), max(moved)) if moved else None
