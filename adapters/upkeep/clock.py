"""What there is to say of a store's clock: how it stands to the last events."""

from __future__ import annotations

from dataclasses import replace

from onrecord.domain.clock import jump
from onrecord.domain.log import Backend


def clock_doubts(backend: Backend) -> tuple[str, ...]:
    """Return a sentence for each shard whose last event the clock is far from; none if all is well."""
    now = backend.clock()
    lasts = [
        event
        for end in backend.cursors()
        if end.position
        for event in backend.read_log(replace(end, position=end.position - 1), 1)
    ]
    said = (jump(event.recorded_at, now) for event in lasts)
    return tuple(dict.fromkeys(why for why in said if why is not None))
