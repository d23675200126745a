"""The versions that an event names: a reference that does not lie strictly before its event is none.

One writer never records another kind, but an import, or a program that appends events of its own,
may bring any number. So every fold asks `refers_back` before it follows one: then each step leads to
an earlier event, and every read ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import (
    ContentRedacted,
    ConversationForked,
    Event,
    HistoryCompacted,
    LineAdopted,
    RequestSent,
)

HIGHEST: Final = 2**63 - 1
"""The highest version that any log can count to."""


def refers_back(event: Event, version: int) -> bool:
    """Return whether what an event names lies before it, at `version`; else it changes nothing."""
    if not _is_in_order(event):
        return False
    return all(0 <= named < version for named in _named(event))


def must_refer_back(event: Event, version: int) -> None:
    """Raise InvalidContent for an event that would name itself, or what comes after it."""
    if refers_back(event, version):
        return
    named = ", ".join(str(each) if abs(each) <= HIGHEST else "a huge one" for each in _named(event))
    raise InvalidContent(
        f"an event at version {version} cannot refer to version {named}: name earlier ones, in order"
    )


def names_versions(event: Event) -> bool:
    """Return whether an event is of a kind that names versions of its own conversation."""
    return isinstance(event, LineAdopted | HistoryCompacted | ContentRedacted | RequestSent)


def _named(event: Event) -> Iterator[int]:
    """Yield the versions of its own conversation that an event names."""
    match event:
        case LineAdopted() | RequestSent():
            members = (event.after, event.as_of, event.begun)
            yield from (named for named in members if named is not None)
        case HistoryCompacted():
            yield event.until
        case ContentRedacted():
            yield event.version
        case _:
            return


def _is_in_order(event: Event) -> bool:
    """Return whether the members agree: a side line begins behind the place that it left."""
    match event:
        case LineAdopted():
            is_of_side = event.begun is None or event.adopted is not None
            return is_of_side and (event.begun is None or event.after < event.begun)
        case RequestSent():
            return event.begun is None or event.after is None or event.after < event.begun
        case ConversationForked():
            return 1 <= event.version <= HIGHEST
        case _:
            return True
