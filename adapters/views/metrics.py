"""How the views stand, as Prometheus reads it; docs/workers.md lists the names."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

from onrecord.adapters.views.ports import Keeper
from onrecord.domain.errors import NotInstalled, StorageError

try:
    from prometheus_client.core import GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector
except ModuleNotFoundError as exc:
    raise NotInstalled("metrics", "prometheus_client", "metrics") from exc

_LOG: Final = logging.getLogger("onrecord.worker")


class ViewMetrics(Collector):
    """How the views stand."""

    def __init__(self, keeper: Keeper) -> None:
        """Tell of the views as their keeper sees them."""
        self._keeper = keeper

    def collect(self) -> Iterator[Metric]:
        """Yield how they stand now; nothing where the log is away."""
        parked = GaugeMetricFamily(
            "onrecord_view_parked_events", "Events of a view that are parked.", labels=["view"]
        )
        stopped = GaugeMetricFamily(
            "onrecord_view_stopped", "1 for a view that was stopped.", labels=["view"]
        )
        behind = GaugeMetricFamily(
            "onrecord_view_lag_events", "Positions that a view is behind.", labels=["view"]
        )
        try:
            standings = self._keeper.status()
        except StorageError as error:
            _LOG.warning("metrics do not tell how the views stand: %s", error)
            return
        for standing in standings:
            parked.add_metric([standing.view], standing.parked)
            stopped.add_metric([standing.view], standing.stopped is not None)
            behind.add_metric([standing.view], standing.behind)
        yield from (parked, stopped, behind)
