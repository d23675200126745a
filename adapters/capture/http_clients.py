"""The HTTP client of an SDK with its transports wrapped, one by one, and all else shared.

Redirects, hooks, cookies and timeouts are the client's, which stays the same in all but its
transports.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, cast

from onrecord.adapters.capture.binding import Binding
from onrecord.adapters.capture.transport import take_out_binding, transports_of
from onrecord.adapters.capture.turns import Turns

PACKAGES: Final = ("httpx2", "httpx")
"""What has HTTP clients whose wire can be recorded."""
_OF_LOOP: Final = "_client_for_running_loop"
"""What google-genai 3.4 asks of its async client for the one that has the event loop's connections."""


def recorded(client: Any, turns: Turns) -> Any | None:
    """Return a client like that one, with its transports wrapped; None if it is no HTTP client."""
    transport = next((found for kind, found in kinds().items() if isinstance(client, kind)), None)
    if transport is None:
        return None
    wrapped = _wrapped(client)
    # A conversation takes over from another.
    origin = client if wrapped is None else wrapped.origin
    return _like(origin, lambda inner: transport(inner, origin, turns), turns)


def is_recorded(client: Any, binding: Binding) -> bool:
    """Return whether a client's wire is recorded, bound like that, already."""
    wrapped = _wrapped(client)
    return wrapped is not None and wrapped.turns.binding.is_like(binding)


def is_wrapped(client: Any) -> bool:
    """Return whether a client's wire is recorded, wherever that is bound."""
    return _wrapped(client) is not None


def kinds() -> dict[type[Any], type[Any]]:
    """Return the HTTP clients whose wire can be recorded, and the transport that does it for each.

    Those of httpx2 and of httpx are among them once something imported that.
    """
    known: dict[type[Any], type[Any]] = {}
    for package in PACKAGES:
        if (imported := sys.modules.get(package)) is not None:
            sync, coroutine = transports_of(package)
            known |= {imported.Client: sync, imported.AsyncClient: coroutine}
    return known


def _wrapped(client: Any) -> Any | None:
    """Return the recording transport of a client, if it has one."""
    transport = getattr(client, "_transport", None)  # Neither package has another way to it.
    return transport if isinstance(transport, tuple(kinds().values())) else None


def _like(client: Any, wrap: Callable[[Any], Any], turns: Turns) -> Any:
    """Return a copy of a client, with other transports; all else is shared."""
    made = copy.copy(client)
    stays_open(made)
    made._transport = wrap(client._transport)
    made._mounts = {
        pattern: None if inner is None else wrap(inner) for pattern, inner in client._mounts.items()
    }
    made.build_request = _building(made.build_request)
    if hasattr(client, _OF_LOOP):
        setattr(made, _OF_LOOP, lambda: recorded(client._client_for_running_loop(), turns))
    return made


def _building(build: Callable[..., Any]) -> Callable[..., Any]:
    """Return what builds requests without our header in them."""

    @wraps(build)
    def built(*args: Any, **kwargs: Any) -> Any:
        return take_out_binding(build(*args, **kwargs))

    return built


_KINDS: Final[dict[type[Any], type[Any]]] = {}


def stays_open(made: Any) -> None:
    """Keep a copy from closing what it shares when it is dropped, as the SDKs' own clients do."""
    kind = cast("type[Any]", type(made))
    if not hasattr(kind, "__del__"):
        return
    if kind not in _KINDS:
        members = {"__del__": _nothing, "__doc__": kind.__doc__, "__module__": kind.__module__}
        _KINDS[kind] = type(kind.__name__, (kind,), members)
    made.__class__ = _KINDS[kind]


def _nothing(_: object) -> None:
    """Do nothing."""
