"""A program that has OpenTelemetry set up: what it was told of spans and metrics."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, Tracer

OURS = "onrecord"


@dataclass
class Observed:
    """What was told: spans in the order of their ends, and metrics."""

    tracing: TracerProvider
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def tracer(self) -> Tracer:
        """A tracer of the program's own."""
        return self.tracing.get_tracer("program")

    def spans(self, scope: str = OURS) -> list[ReadableSpan]:
        told = self.exporter.get_finished_spans()
        return [span for span in told if scope_of(span) == scope]

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans() if span.name == name]

    def calls(self) -> list[ReadableSpan]:
        """The spans of calls of models."""
        return [span for span in self.spans() if not span.name.startswith("onrecord.")]

    def points(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """The metrics: each point's attributes, and its sum or its count."""
        data = self.reader.get_metrics_data()
        told: dict[str, list[tuple[dict[str, Any], Any]]] = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points: Any = metric.data.data_points
                    told[metric.name] = [(dict(point.attributes), point) for point in points]
        return told

    def everything(self) -> str:
        """All that was told, as text."""
        data = self.reader.get_metrics_data()
        spans = [span.to_json() for span in self.exporter.get_finished_spans()]
        return "\n".join([*spans, data.to_json() if data else ""])


def scope_of(span: ReadableSpan) -> str:
    assert span.instrumentation_scope is not None
    return span.instrumentation_scope.name


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def id_of(span: Span | ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


@contextmanager
def observing(patch: pytest.MonkeyPatch, *processors: SpanProcessor) -> Generator[Observed]:
    """Set OpenTelemetry up as a program does, and take it away again, which no program can."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracing, metering = TracerProvider(), MeterProvider([reader])
    for processor in (SimpleSpanProcessor(exporter), *processors):
        tracing.add_span_processor(processor)
    patch.setattr("opentelemetry.trace._TRACER_PROVIDER", tracing)
    patch.setattr("opentelemetry.metrics._internal._METER_PROVIDER", metering)
    try:
        yield Observed(tracing, exporter, reader)
    finally:
        tracing.shutdown()
        metering.shutdown()
