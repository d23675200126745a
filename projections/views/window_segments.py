"""Which versions of a conversation its window shows, as segments of lines.

Items of a framework's session are a line of their own, which is always on the main branch, but for what was
withdrawn, replaced or cleared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.registry import framework_of

ITEMS: Final = "00000000-0000-0000-0000-000000000001"
"""The line of items: no side branch has this id."""

FOR_EVER: Final = 2**62
"""A version that no conversation reaches."""


class Segment(NamedTuple):
    """Versions of one line (None: the main branch) that the main branch has: after < version <= until."""

    after: int
    until: int
    line: str | None = None

    def has(self, version: int, line: str | None) -> bool:
        """Whether an event is in it."""
        return self.after < version <= self.until and self.line == line


def without(segments: tuple[Segment, ...], after: int, until: int) -> tuple[Segment, ...]:
    """Return the segments less the versions after < version <= until."""
    if after >= until:
        return segments
    parts = (
        part
        for segment in segments
        for part in (
            segment._replace(until=min(segment.until, after)),
            segment._replace(after=max(segment.after, until)),
        )
    )
    return tuple(part for part in parts if part.after < part.until)


def is_shown(shown: Iterable[Segment], version: int, line: str | None) -> bool:
    """Whether the main branch has an event."""
    return any(segment.has(version, line) for segment in shown)


def changed_from(before: tuple[Segment, ...], now: tuple[Segment, ...]) -> int | None:
    """Return the first version at which what is shown may differ; None if it does not.

    Items and the main branch are each in order of version.
    """
    changes = (
        _first_difference(
            [segment for segment in before if (segment.line == ITEMS) is of_items],
            [segment for segment in now if (segment.line == ITEMS) is of_items],
        )
        for of_items in (False, True)
    )
    return min(filter(None, changes), default=None)


def up_to(line: tuple[Segment, ...], until: int) -> list[Segment]:
    """Return the segments of a line up to a version, none of them empty."""
    return [
        segment._replace(until=min(segment.until, until))
        for segment in line
        if segment.after < until
    ]


def _first_difference(before: Sequence[Segment], now: Sequence[Segment]) -> int | None:
    for one, other in zip(before, now, strict=False):
        if one == other:
            continue
        if (one.after, one.line) == (other.after, other.line):
            return min(one.until, other.until) + 1
        return min(one.after, other.after) + 1
    longer = before[len(now) :] or now[len(before) :]
    return longer[0].after + 1 if longer else None


def removed_ranges(name: str, version: int, members: JsonObject) -> Iterator[tuple[int, int]]:
    """Yield the versions whose items are no part of the main stream behind an event: after, until.

    `members` are those of the event, which stands at `version`.
    """
    if "stream" in members:
        return
    match name:
        case "item.withdrawn":
            if 0 < members["version"] < version:
                yield members["version"] - 1, members["version"]
        case "items.replaced" if framework_of(members["framework"]).prunes:
            return
        case "items.replaced":
            after = 0
            for first, last in members.get("kept", ()):
                yield after, min(first - 1, version)
                after = max(after, min(last, version))
            yield after, version
        case _:
            yield 0, version
