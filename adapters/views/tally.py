"""What a worker has done so far, counted for whoever asks: the terminal, and metrics."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from onrecord.adapters.views.postgres_advance import Folded
from onrecord.projections.views.planning import Batch, Part
from onrecord.projections.views.view import Feed


@dataclass(slots=True)
class Tally:
    """Counts since the worker began. Safe for threads.

    `events` counts an event once however many views folded it, `seconds` is the time that batches
    took. `behind` says for each view and shard how many positions were still to be folded when a
    thread last looked, in the part that is furthest behind.
    """

    events: int = 0
    batches: int = 0
    seconds: float = 0.0
    overtaken: int = 0
    folded: Counter[str] = field(default_factory=Counter[str])
    parked: Counter[str] = field(default_factory=Counter[str])
    _behind: dict[object, dict[Part, dict[Feed, int]]] = field(
        default_factory=dict[object, dict[Part, dict[Feed, int]]]
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def took(self, batch: Batch, came_to: Folded, seconds: float) -> None:
        """Count a batch."""
        with self._lock:
            self.events += came_to.events
            self.batches += 1
            self.seconds += seconds
            self.folded.update({feed.view.name: came_to.events for feed in batch.feeds})
            self.parked.update(feed.view.name for feed, _ in came_to.parked)

    def was_overtaken(self) -> None:
        """Count a batch that came to nothing, for another worker was there."""
        with self._lock:
            self.overtaken += 1

    def stands(self, hand: object, behind: dict[Part, dict[Feed, int]]) -> None:
        """Keep how far behind the parts of a thread are, in the place of what it told before."""
        with self._lock:
            self._behind[hand] = behind

    def behind(self) -> dict[tuple[str, int], int]:
        """Return by view and shard how many positions are still to be folded."""
        found: dict[tuple[str, int], int] = {}
        with self._lock:
            told = [at for behind in self._behind.values() for at in behind.items()]
        for place, of in told:
            for feed, missing in of.items():
                key = (feed.view.name, place.shard)
                found[key] = max(found.get(key, 0), missing)
        return found
