"""Looks at what clients send that nobody recorded: where recording is required, and in threads.

A thread does not take a scope along (docs/recording.md): a call in one that was begun within a scope
is meant to be recorded, as likely as not, so it is said once a thread that it is not.
"""

from __future__ import annotations

import threading
import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.wire.clients import requirement, unrecorded
from onrecord.adapters.wire.clients.sending import target_of
from onrecord.adapters.wire.wires import endpoint_of, refusal_of

if TYPE_CHECKING:
    import httpx2


_begun_within: Final[WeakSet[threading.Thread]] = WeakSet()
_IN_A_THREAD: Final = (
    "a call is not recorded: its thread was begun within `talk.recording()`, and scopes do not go "
    "into threads and executors by themselves: run it in contextvars.copy_context().run(...), or "
    "bind it by extra_headers=talk.headers or talk.record(client)"
)


def begun(thread: threading.Thread) -> None:
    """Take note of a thread that is begun within a scope."""
    _begun_within.add(thread)


def may_object() -> bool:
    """Whether a call that nothing binds is to be looked at."""
    return requirement.required() is not None or threading.current_thread() in _begun_within


def check(method: str, path: str) -> None:
    """Refuse a call to a provider that nothing binds, or warn of it; let all else pass.

    Only where that is required, or in a thread that was begun within a scope. The refusal is in the
    family of the API's SDK. What asks a model something and is no turn is said once a process.
    """
    api, kind, _ = endpoint_of(method, path)
    on_missing = requirement.required()
    if kind not in ("turn", "batch", "later"):
        # No conversation could be bound to it: it passes, and is said once.
        if on_missing is not None:
            unrecorded.say(method, path)
        return
    if on_missing is None:
        _say_in_thread()
        return
    if on_missing == "warn":
        requirement.say_missing(f"a call to {path}")
        return
    why = f"the request was not sent, for recording is required, and {requirement.why_refused()}"
    raise refusal_of(api)(why)


def _say_in_thread() -> None:
    thread = threading.current_thread()
    if thread in _begun_within:
        _begun_within.discard(thread)
        warnings.warn(_IN_A_THREAD, RecordingWarning, stacklevel=2)


@cache
def transports_of(package: str) -> tuple[type[Any], type[Any]]:
    """Return the transports that check for clients of `httpx2` or `httpx`: sync, and async."""
    kinds = import_module(package)
    return (
        type("CheckedTransport", (_Checked, kinds.BaseTransport), {}),
        type("AsyncCheckedTransport", (_AsyncChecked, kinds.AsyncBaseTransport), {}),
    )


class _Checked:
    """Checks a request, and hands it on to another transport."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request unless it is refused."""
        check(request.method, request.url.raw_path.decode("ascii").partition("?")[0])
        return self._inner.handle_request(request)


class _AsyncChecked:
    """Checks a request, and hands it on to another transport."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request unless it is refused."""
        check(request.method, request.url.raw_path.decode("ascii").partition("?")[0])
        return await self._inner.handle_async_request(request)


class CheckedSession:
    """A session of aiohttp's whose requests are checked, as google-genai sends them."""

    def __init__(self, inner: Any) -> None:
        """Check what is sent through a session."""
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        """Return what the session has."""
        return getattr(self._inner, name)

    async def request(self, method: str, url: Any, **more: Any) -> Any:
        """Send a request unless it is refused."""
        check(method.upper(), target_of(str(url)).partition("?")[0])
        return await self._inner.request(method, url, **more)
