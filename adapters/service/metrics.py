"""What the service does, as Prometheus reads it: counted as requests are answered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from onrecord.adapters.service.quotas import Quota

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True, eq=False)
class ServiceMetrics(Collector):
    """What one service has answered, by route and status, how long that took, and what is open."""

    open_requests: Quota
    open_tails: Quota
    bodies: Quota
    answers: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.answers[route, status] += 1
        self.seconds[route] += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield everything, as it is now."""
        yield GaugeMetricFamily(
            "onrecord_http_open_requests",
            "Requests that are being answered.",
            self.open_requests.total,
        )
        yield GaugeMetricFamily(
            "onrecord_http_open_tails", "Tails that are open.", self.open_tails.total
        )
        yield GaugeMetricFamily(
            "onrecord_http_body_bytes", "Bytes of bodies that are held.", self.bodies.total
        )
        answers = CounterMetricFamily(
            "onrecord_http_answers", "Requests that were answered.", labels=["route", "status"]
        )
        took = SummaryMetricFamily(
            "onrecord_http_answer_seconds", "How long answers took.", labels=["route"]
        )
        counts = Counter[str]()
        for (route, status), count in sorted(self.answers.items()):
            answers.add_metric([route, str(status)], count)
            counts[route] += count
        for route, count in sorted(counts.items()):
            took.add_metric([route], count_value=count, sum_value=self.seconds[route])
        yield from (answers, took)


def exposition(collectors: Iterable[Collector]) -> bytes:
    """Return what collectors tell, in the text format of Prometheus."""
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry)
