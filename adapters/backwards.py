"""Events from the last one back, a page at a time: for what is most likely near the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from onrecord.adapters.lineage import Stretch
from onrecord.domain.log import Log, RecordedEvent

_A_PAGE: Final = 256


def backwards(log: Log, stretches: Iterable[Stretch], after: int = 0) -> Iterator[RecordedEvent]:
    """Yield the events of stretches, the oldest of which is first, from the last one back.

    Of the last stretch only those after a version, and of the others none, where one is given.
    """
    *before, last = stretches
    for stretch in (last,) if after else (last, *reversed(before)):
        until, first = stretch.until, max(stretch.after, after)
        while until > first:
            start = max(first, until - _A_PAGE)
            yield from reversed(list(log.read(stretch.conversation_id, after=start, until=until)))
            until = start
