"""Calls of models, told to OpenTelemetry: a CLIENT span and metrics for each.

Imports OpenTelemetry, so this module is imported only where the program has set it up. A call that
is traced already, by its SDK or by another library, has no second span: that one gets the key and
the version of its conversation.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from onrecord.adapters.telemetry import names
from onrecord.adapters.telemetry.model_calls import UNOBSERVED, CallObserver, ModelCall
from onrecord.adapters.telemetry.spans import known, observe, set_error, set_told, tracer_of
from onrecord.domain.events import (
    AttemptFailed,
    Event,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.projections.views.usage import usage_members

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, MeterProvider
    from opentelemetry.trace import TracerProvider

_FAILED_FROM: Final = 400
_NO_ERRORS: Final = ("deferred", "oversized")
"""Interruptions that are no fault of the call: the caller has all that the provider said."""

_MOST_CHOICES: Final = 16
_LONGEST_REASON: Final = 60


def observer_of(
    call: ModelCall, tracing: TracerProvider | None, metering: MeterProvider | None
) -> CallObserver:
    """Return what observes a call from now on; nothing where the program's telemetry fails."""
    started: list[CallObserver] = []
    observe(lambda: started.append(_Observer(call, tracing, metering)))
    return started[0] if started else UNOBSERVED


class _Observer:
    """Observes one call."""

    def __init__(
        self, call: ModelCall, tracing: TracerProvider | None, metering: MeterProvider | None
    ) -> None:
        self._kind = _kind_of(call)
        self._call = call
        self._caller = contexts.get_current()
        self._span = None if tracing is None else _span_of(call, self._kind, tracing)
        self._metering = metering
        self._sent = time.perf_counter()
        self._first_chunk: float | None = None

    def chunk(self) -> None:
        if self._first_chunk is None:
            self._first_chunk = time.perf_counter()

    def answered(
        self, events: Iterable[Event], *, is_stream: bool
    ) -> AbstractContextManager[object]:
        ended = time.perf_counter()
        observe(lambda: self._end(_outcome_of(self._call.api, events), is_stream, ended))
        return _scope(self._caller)

    def _end(self, outcome: _Outcome, is_stream: bool, ended: float) -> None:
        waited = None
        if is_stream and self._first_chunk is not None:
            waited = self._first_chunk - self._sent
        if self._metering is not None:
            model = outcome.response.get(names.RESPONSE_MODEL)
            kind = known({**self._kind, names.RESPONSE_MODEL: model})
            measures = _measures_of(self._metering)
            observe(partial(measures.take, kind, outcome, ended - self._sent, waited))
        if (span := self._span) is None:
            return
        more = {names.REQUEST_STREAM: is_stream or None, names.TIME_TO_FIRST_CHUNK: waited}
        set_told(span, {**outcome.response, **outcome.tokens, **more})
        if outcome.error is not None:
            set_error(span, outcome.error)
        span.end()


@contextmanager
def _scope(caller: Context) -> Generator[None]:
    token = contexts.attach(caller)
    try:
        yield
    finally:
        contexts.detach(token)


# The span of a call, and whose child it is.


def _kind_of(call: ModelCall) -> dict[str, Any]:
    """Return the attributes that a call's span and its metrics share."""
    return known(
        {
            names.OPERATION_NAME: names.operation_of(call.api),
            names.PROVIDER_NAME: names.provider_of(call.api, call.path),
            names.REQUEST_MODEL: call.model,
        }
    )


def _span_of(call: ModelCall, kind: dict[str, Any], provider: TracerProvider) -> Span | None:
    """Return the span of a call; None where another library's span is of the same call."""
    place = {names.CONVERSATION: call.conversation, names.VERSION: call.version}
    active = trace.get_current_span()
    if _is_of_model_call(active):
        set_told(active, place)
        return None
    operation, *model = (kind[n] for n in (names.OPERATION_NAME, names.REQUEST_MODEL) if n in kind)
    span = tracer_of(provider).start_span(
        " ".join((operation, *model)),
        kind=SpanKind.CLIENT,
        # Samplers see these.
        attributes=kind,
    )
    more = {names.CONVERSATION_ID: call.conversation, names.RESEND_COUNT: call.resends or None}
    set_told(span, {**place, **more})
    return span


def _is_of_model_call(span: Span) -> bool:
    """Whether a span is of one call of a model; one that is not recorded tells nobody."""
    attributes = getattr(span, "attributes", None)
    if not span.is_recording() or not isinstance(attributes, Mapping):
        return False
    told = cast("Mapping[str, Any]", attributes)
    return told.get(names.OPERATION_NAME) in names.MODEL_OPERATIONS


def scope_of_header(traceparent: str) -> AbstractContextManager[object]:
    """Return the scope of the span that a header names, unless one is active here.

    A proxy is in no span of its own: what it does for a program belongs to that program's trace.
    """
    if trace.get_current_span().get_span_context().is_valid:
        return nullcontext()
    return _scope(TraceContextTextMapPropagator().extract({"traceparent": traceparent}))


# What an answer comes to, as far as it is told: ids, names, counts, and no content.


class _Outcome(NamedTuple):
    response: Mapping[str, Any]
    tokens: Mapping[str, int]
    error: str | None


def _outcome_of(api: str, events: Iterable[Event]) -> _Outcome:
    """Return what the events that record an answer tell; alternatives of it follow its own."""
    closings: list[ResponseCompleted | ResponseInterrupted] = []
    for event in events:
        match event:
            case AttemptFailed(status=None, reason=reason):
                return _Outcome({}, {}, reason or "unknown")
            case AttemptFailed(status=int(status)):
                return _Outcome({}, {}, str(status) if status >= _FAILED_FROM else None)
            case ResponseCompleted() | ResponseInterrupted():
                closings.append(event)
            case _:
                pass
    if not closings:
        return _Outcome({}, {}, None)
    closing = closings[0]
    response = {
        names.RESPONSE_ID: closing.provider_id,
        names.RESPONSE_MODEL: closing.model,
        names.FINISH_REASONS: _finish_reasons(closings) or None,
    }
    error = None
    if isinstance(closing, ResponseInterrupted) and closing.reason not in _NO_ERRORS:
        error = closing.reason
    return _Outcome(response, _tokens(api, closing), error)


def _finish_reasons(closings: Iterable[ResponseCompleted | ResponseInterrupted]) -> tuple[str, ...]:
    reasons = (one.stop_reason for one in closings if isinstance(one, ResponseCompleted))
    return tuple(reason[:_LONGEST_REASON] for reason in reasons if reason)[:_MOST_CHOICES]


def _tokens(api: str, closing: ResponseCompleted | ResponseInterrupted) -> dict[str, int]:
    members = usage_members(api, closing.envelope)
    counts = {
        names.INPUT_TOKENS: closing.input_tokens,
        names.OUTPUT_TOKENS: closing.output_tokens,
        names.CACHE_READ_TOKENS: members.cached or None,
        names.CACHE_WRITE_TOKENS: members.cache_writes or None,
        names.REASONING_TOKENS: members.reasoning or None,
    }
    return {name: count for name, count in counts.items() if count is not None}


# Metrics.


class _Measures(NamedTuple):
    """The instruments of one provider."""

    duration: Histogram
    first_chunk: Histogram
    tokens: Mapping[str, Counter]

    def take(
        self, kind: dict[str, Any], outcome: _Outcome, took: float, waited: float | None
    ) -> None:
        """Take the measures of a call."""
        self.duration.record(took, known({**kind, names.ERROR_TYPE: outcome.error}))
        if waited is not None:
            self.first_chunk.record(waited, kind)
        for name, count in outcome.tokens.items():
            self.tokens[name].add(count, kind)


_last_measures: list[tuple[MeterProvider, _Measures]] = []


def _measures_of(provider: MeterProvider) -> _Measures:
    for last, measures in _last_measures:
        if last is provider:
            return measures
    from onrecord import __version__

    meter = provider.get_meter(names.SCOPE, __version__)

    def seconds(name: str) -> Histogram:
        bounds = list(names.BUCKETS)
        return meter.create_histogram(
            name, names.SECONDS, explicit_bucket_boundaries_advisory=bounds
        )

    counters = {
        attribute: meter.create_counter(name, names.TOKENS)
        for attribute, name in names.TOKEN_METRICS.items()
    }
    made = _Measures(seconds(names.DURATION_METRIC), seconds(names.FIRST_CHUNK_METRIC), counters)
    _last_measures[:] = [(provider, made)]
    return made
