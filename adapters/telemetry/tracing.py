"""The trace that the program is in: as OpenTelemetry tells it, or a header of a call."""

from __future__ import annotations

import re
import sys
from typing import Any, Final
from uuid import UUID

from onrecord.domain.new_events import Trace

TRACEPARENT: Final = "traceparent"
"""The header of a call that names its trace and span (W3C Trace Context)."""

_MODULE: Final = "opentelemetry.trace"
_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
_FIRST_VERSION: Final = "00"
_NO_VERSION: Final = "ff"


def current_trace() -> Trace | None:
    """Return the trace of the span that is active here; None where there is none.

    OpenTelemetry is asked only where the program itself has loaded it.
    """
    api: Any = sys.modules.get(_MODULE)
    if api is None:
        return None
    try:
        span = api.get_current_span().get_span_context()
        return _trace(f"{span.trace_id:032x}", f"{span.span_id:016x}")
    except Exception:  # noqa: BLE001 - another's code is no reason to refuse a call
        return None


def trace_in(header: str | None) -> Trace | None:
    """Return the trace that a `traceparent` names; None where it is none, or not well formed."""
    named = None if header is None else _PARENT.fullmatch(header.strip())
    if named is None or named[1] == _NO_VERSION or (named[1] == _FIRST_VERSION and named[4]):
        return None
    return _trace(named[2], named[3])


def _trace(trace_id: str, span_id: str) -> Trace | None:
    """Return a trace and a span by their hex digits; all zeros are none."""
    if not int(trace_id, 16) or not int(span_id, 16):
        return None
    return Trace(UUID(hex=trace_id), span_id)
