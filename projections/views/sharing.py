"""How workers share the parts of a log: each its fair share, and what is above it is given up."""

from __future__ import annotations

from collections.abc import Collection

from onrecord.projections.views.planning import Part


def fair_share(parts: int, workers: int) -> int:
    """Return how many parts a worker holds at most, so that every worker has some."""
    return -(-parts // max(workers, 1))


def surplus(held: Collection[Part], share: int) -> list[Part]:
    """Return the parts that a worker gives up: of each shard it keeps those of low number.

    So the parts of a shard are spread over the workers, and a busy shard keeps all of them busy.
    """
    by_number = sorted(held, key=lambda place: (place.part, place.shard))
    return by_number[share:]


def thread_of(place: Part, threads: int) -> int:
    """Return which thread of a worker folds a part, for parts of a shard go to different ones."""
    return (place.shard + place.part) % threads
