"""What a worker does, as Prometheus reads it: asked for when it is scraped, counted anyway.

docs/workers.md lists the names.
"""

from __future__ import annotations

from collections.abc import Iterator

from onrecord.adapters.views.metrics import ViewMetrics
from onrecord.adapters.views.ports import Keeper
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.domain.errors import InvalidInput, NotInstalled

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        Metric,
        SummaryMetricFamily,
    )
    from prometheus_client.registry import Collector
except ModuleNotFoundError as exc:
    raise NotInstalled("metrics", "prometheus_client", "metrics") from exc


def serve_metrics(worker: Worker, keeper: Keeper, port: int) -> None:
    """Let the metrics of a worker be read at a port, in a thread of its own."""
    registry = CollectorRegistry()
    registry.register(WorkerMetrics(worker, keeper))
    try:
        start_http_server(port, registry=registry)
    except OSError as exc:
        raise InvalidInput(f"port {port} cannot be used for metrics: name another") from exc


class WorkerMetrics(Collector):
    """The metrics of one worker, and how the views stand."""

    def __init__(self, worker: Worker, keeper: Keeper) -> None:
        """Tell of a worker, and of the views as their keeper sees them."""
        self._worker, self._views = worker, ViewMetrics(keeper)

    def collect(self) -> Iterator[Metric]:
        """Yield everything, as it is now."""
        yield from self._of_the_worker()
        yield from self._views.collect()

    def _of_the_worker(self) -> Iterator[Metric]:
        tally, worker = self._worker.tally, self._worker
        yield GaugeMetricFamily(
            "onrecord_worker_parts_held",
            "Parts of the log that this worker holds.",
            worker.held,
        )
        yield CounterMetricFamily(
            "onrecord_worker_parts_lost",
            "Parts that another worker took over.",
            worker.losses,
        )
        yield CounterMetricFamily(
            "onrecord_worker_batches_overtaken",
            "Batches that came to nothing, for another worker was there.",
            tally.batches_lost,
        )
        yield CounterMetricFamily(
            "onrecord_worker_events", "Events that were read and folded.", tally.events
        )
        yield SummaryMetricFamily(
            "onrecord_worker_batch_seconds",
            "How long batches took, each one transaction.",
            count_value=tally.batches,
            sum_value=tally.seconds,
        )
        folded = CounterMetricFamily(
            "onrecord_worker_folded_events", "Events that a view was given.", labels=["view"]
        )
        for view, count in sorted(tally.folded.items()):
            folded.add_metric([view], count)
        yield folded
        lag = GaugeMetricFamily(
            "onrecord_worker_lag_events",
            "Positions that a view is behind, in the parts that this worker holds.",
            labels=["view", "shard"],
        )
        for (view, shard), missing in sorted(tally.behind().items()):
            lag.add_metric([view, str(shard)], missing)
        yield lag
