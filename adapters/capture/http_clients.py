"""The HTTP client of an SDK with its transports wrapped, one by one, and all else shared.

Redirects, hooks, cookies and timeouts are the client's, which stays the same in all but its
transports.

Imports httpx2, which an SDK brings: only what was given such a client imports this.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import httpx2

from hansard.adapters.capture.binding import Binding
from hansard.adapters.capture.transport import AsyncRecordedTransport, RecordedTransport
from hansard.adapters.capture.turns import Turns

ClientT = TypeVar("ClientT", httpx2.Client, httpx2.AsyncClient)


def recorded(client: httpx2.Client, turns: Turns) -> httpx2.Client:
    """Return a client like that one, with its transports wrapped."""
    origin = _origin(client)
    return _like(origin, lambda inner: RecordedTransport(inner, origin, turns))


def recorded_async(client: httpx2.AsyncClient, turns: Turns) -> httpx2.AsyncClient:
    """Return a client like that one, with its transports wrapped."""
    origin = _origin(client)
    return _like(origin, lambda inner: AsyncRecordedTransport(inner, origin, turns))


def is_recorded(client: httpx2.Client | httpx2.AsyncClient, binding: Binding) -> bool:
    """Return whether a client's wire is recorded, bound like that, already."""
    wrapped = _wrapped(client)
    return wrapped is not None and wrapped.turns.binding.is_like(binding)


def is_wrapped(client: httpx2.Client | httpx2.AsyncClient) -> bool:
    """Return whether a client's wire is recorded, wherever that is bound."""
    return _wrapped(client) is not None


def _wrapped(
    client: httpx2.Client | httpx2.AsyncClient,
) -> RecordedTransport | AsyncRecordedTransport | None:
    transport = client._transport  # pyright: ignore[reportPrivateUsage]  # httpx2 has no other way to it
    if isinstance(transport, RecordedTransport | AsyncRecordedTransport):
        return transport
    return None


def _origin(client: ClientT) -> ClientT:
    """Return the client whose transports are not wrapped: a conversation takes over from another."""
    wrapped = _wrapped(client)
    return client if wrapped is None else cast("ClientT", wrapped.origin)


def _like(client: ClientT, wrap: Callable[[Any], Any]) -> ClientT:
    """Return a copy of a client, with other transports; all else is shared."""
    made = copy.copy(client)
    _stays_open(made)
    vars(made)["_transport"] = wrap(vars(client)["_transport"])
    vars(made)["_mounts"] = {
        pattern: None if inner is None else wrap(inner)
        for pattern, inner in vars(client)["_mounts"].items()
    }
    return made


_KINDS: Final[dict[type[Any], type[Any]]] = {}


def _stays_open(made: Any) -> None:
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
