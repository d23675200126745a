"""What the program has set up to take spans and metrics. OpenTelemetry is never imported here.

A program that uses it has imported it. Where it has not, or has set up no provider, nothing is
observed: that is all that this costs then.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

logger = logging.getLogger("onrecord")

_TRACE: Final = "opentelemetry.trace"
_METRICS: Final = "opentelemetry.metrics"
_broken: Final[set[str]] = set()
"""The parts whose provider cannot be loaded: each question would try it anew, and log it."""


def tracer_provider() -> TracerProvider | None:
    """Return what takes spans; None where the program has set up nothing."""
    api: Any = sys.modules.get(_TRACE)
    # Asking costs 3 us where nothing is set, for the environment may name a provider. This tells it
    # for a fiftieth of that, and where a release has no such name, it is asked.
    if api is None or (getattr(api, "_TRACER_PROVIDER", api) is None and not _NAMED):
        return None
    provider: TracerProvider | None = _provider(_TRACE, api, "get_tracer_provider")
    return provider


def meter_provider() -> MeterProvider | None:
    """Return what takes metrics; None where the program has set up nothing."""
    api: Any = sys.modules.get(_METRICS)
    provider: MeterProvider | None = None
    if api is not None:
        provider = _provider(_METRICS, api, "get_meter_provider")
    return provider


_NAMED: Final = "OTEL_PYTHON_TRACER_PROVIDER" in os.environ
"""Whether the environment names a provider of spans, which is loaded when it is first asked for."""


def _provider(part: str, api: Any, ask: str) -> Any:
    """Return the provider of a part of OpenTelemetry, unless it is one that drops all."""
    if part in _broken:
        return None
    try:
        provider: object = getattr(api, ask)()
    except AttributeError:  # Another thread is amid importing it, or it is something else.
        return None
    except Exception:
        _broken.add(part)
        logger.exception("OpenTelemetry has no provider that can be used: nothing is observed")
        return None
    # The interface has providers of its own, which do nothing: no SDK is set up.
    return None if type(provider).__module__.startswith(part) else provider
