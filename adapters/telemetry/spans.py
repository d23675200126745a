"""Spans of OpenTelemetry: of the store's own operations, and what all spans share.

No fault of the program's exporter or sampler reaches what is observed. Imports OpenTelemetry, so this
module is imported only where the program has set it up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextvars import Token
from types import TracebackType
from typing import Any, Final, Self

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider

from onrecord.adapters.telemetry import names

logger = logging.getLogger("onrecord")

_LONGEST: Final = 256
"""How many characters of a text are told: a model's name, and an id, may come from a provider."""

_last_tracer: list[tuple[TracerProvider, Tracer]] = []


def tracer_of(provider: TracerProvider) -> Tracer:
    """Return the tracer of a provider; making one costs more than most spans."""
    for last, tracer in _last_tracer:
        if last is provider:
            return tracer
    from onrecord import __version__

    tracer = provider.get_tracer(names.SCOPE, __version__)
    _last_tracer[:] = [(provider, tracer)]
    return tracer


def observe(step: Callable[[], object]) -> None:
    """Do what tells the program's telemetry; what it raises is logged, and goes no further."""
    try:
        step()
    except Exception:
        logger.exception("a span could not be told")


def known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those attributes that have a value, none of them long."""
    return {
        name: value[:_LONGEST] if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def set_told(span: Span, attributes: Mapping[str, Any]) -> None:
    """Set those attributes of a span that are known."""
    for name, value in known(attributes).items():
        span.set_attribute(name, value)


def set_error(span: Span, kind: str) -> None:
    """Say that what a span observed failed, by the kind of its error alone."""
    span.set_attribute(names.ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR))


class OperationSpan:
    """The span of an operation, which is the active one in its scope."""

    __slots__ = ("_key", "_name", "_provider", "_span", "_token")

    def __init__(self, provider: TracerProvider, name: str, key: str) -> None:
        """Have an operation on the conversation of a key observed."""
        self._provider = provider
        self._name = name
        self._key = key
        self._span: Span | None = None
        self._token: Token[Context] | None = None

    def __enter__(self) -> Self:
        """Start the span."""
        observe(self._start)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the span."""
        if self._token is not None:
            contexts.detach(self._token)
        if (span := self._span) is not None:
            if kind is not None:
                observe(lambda: set_error(span, kind.__name__))
            observe(span.end)

    def at(self, version: int) -> None:
        """Say which version of the conversation it came to."""
        if (span := self._span) is not None:
            observe(lambda: span.set_attribute(names.VERSION, version))

    def _start(self) -> None:
        self._span = tracer_of(self._provider).start_span(
            self._name, kind=SpanKind.INTERNAL, attributes=known({names.CONVERSATION: self._key})
        )
        self._token = contexts.attach(trace.set_span_in_context(self._span))
