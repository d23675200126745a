"""Calls of models, as spans and metrics: what is observed of one, and when.

Each attempt that is sent is observed by itself: whether the SDK tries again is only known when it
does (docs/decisions/0062).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Protocol

from onrecord.adapters.telemetry.providers import meter_provider, tracer_provider
from onrecord.domain.events import Event


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call that is about to be sent: of which API, at which path, for which conversation.

    `version` is that of its request in the conversation, `model` the one that it asks, `resends` how
    often it was sent before.
    """

    api: str
    path: str
    conversation: str
    version: int
    model: str | None
    resends: int = 0


class CallObserver(Protocol):
    """What observes one call, from when it is sent. Nothing that it does raises."""

    def chunk(self) -> None:
        """Take note that bytes of the answer came."""
        ...

    def answered(
        self, events: Iterable[Event], *, is_stream: bool
    ) -> AbstractContextManager[object]:
        """End the call by the events that record its answer; return the scope of its caller's span.

        The answer is stored in that scope: this may be another thread than the caller's.
        """
        ...


class _Unobserved:
    """Observes nothing."""

    __slots__ = ()

    def chunk(self) -> None:
        return None

    def answered(
        self, events: Iterable[Event], *, is_stream: bool
    ) -> AbstractContextManager[object]:
        return _NOWHERE


_NOWHERE: Final = nullcontext()
UNOBSERVED: Final = _Unobserved()
"""What observes a call where the program has set up nothing to take it."""


def within_trace(traceparent: str | None) -> AbstractContextManager[object]:
    """Return the scope of the span that a call's header names, unless one is active here."""
    if traceparent is None or tracer_provider() is None:
        return _NOWHERE
    from onrecord.adapters.telemetry.model_spans import scope_of_header

    return scope_of_header(traceparent)


def observed(call: ModelCall) -> CallObserver:
    """Return what observes a call from now on."""
    tracing, metering = tracer_provider(), meter_provider()
    if tracing is None and metering is None:
        return UNOBSERVED
    from onrecord.adapters.telemetry.model_spans import observer_of

    return observer_of(call, tracing, metering)
