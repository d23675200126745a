"""Clients that nobody recorded: within a scope, what they send is recorded too.

A framework makes its clients itself, keeps them, and shares them between conversations. So the
choice of a transport, which httpx2 and httpx make for each request, is hooked once for the process:
within a scope it is a recorded one, around the one that was chosen. Likewise what botocore sends a
request with, and google-genai where it sends through aiohttp. Outside of one nothing is different,
unless recording is required.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit
from weakref import WeakSet

from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.streams import scopes
from onrecord.adapters.wire.clients import binding, unrecorded
from onrecord.adapters.wire.clients.record import PACKAGES, kinds
from onrecord.adapters.wire.clients.sending import target_of
from onrecord.adapters.wire.wires import endpoint_of, refusal_of

if TYPE_CHECKING:
    import httpx2


# Looks at what clients send that nobody recorded: where recording is required, and in threads.
#
# A thread does not take a scope along (docs/recording.md): a call in one that was begun within a
# scope is meant to be recorded, as likely as not, so it is said once a thread that it is not.

_begun_within: Final[WeakSet[threading.Thread]] = WeakSet()
_IN_A_THREAD: Final = (
    "a call is not recorded: its thread was begun within `chat.recording()`, and scopes do not go "
    "into threads and executors by themselves: run it in contextvars.copy_context().run(...), or "
    "bind it by extra_headers=chat.headers or chat.record(client)"
)


def begun(thread: threading.Thread) -> None:
    """Take note of a thread that is begun within a scope."""
    _begun_within.add(thread)


def may_object() -> bool:
    """Whether a call that nothing binds is to be looked at."""
    return binding.required() is not None or threading.current_thread() in _begun_within


def check(method: str, path: str) -> None:
    """Refuse a call to a provider that nothing binds, or warn of it; let all else pass.

    Only where that is required, or in a thread that was begun within a scope. The refusal is in the
    family of the API's SDK. What asks a model something and is no turn is said once a process.
    """
    api, kind, _ = endpoint_of(method, path)
    on_missing = binding.required()
    if kind not in ("turn", "batch", "later"):
        # No conversation could be bound to it: it passes, and is said once.
        if on_missing is not None:
            unrecorded.say(method, path)
        return
    if on_missing is None:
        _say_in_thread()
        return
    if on_missing == "warn":
        binding.say_missing(f"a call to {path}")
        return
    why = f"the request was not sent, for recording is required, and {binding.why_refused()}"
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


_CHOICE: Final = "_transport_for_url"

_NOTHING: Final = (
    "nothing in this scope is recorded: httpx2 is missing, and httpx and botocore, one of which the "
    "clients that can be recorded bring along; install one of these"
)
_AGENT: Final = "claude"
_BOTOCORE: Final = "botocore.endpoint"
_GENAI: Final = ("google.genai", "aiohttp")

_installing: Final = threading.Lock()
_hooked: Final[set[type[Any]]] = set()
"""The kinds of clients that heed scopes. Nothing is hooked twice."""

_marked: Final[set[type[Any]]] = set()
"""The kinds of threads and processes that say when they begin, even where no client is there."""


def record_in_scopes() -> None:
    """Have the clients of this process heed scopes, as `heed_all`; warns where none can."""
    heed_all()
    if not _hooked:
        warnings.warn(_NOTHING, RecordingWarning, stacklevel=4)


def heed_all() -> None:
    """Have the clients of this process, those to come too, heed scopes and what is required.

    What is installed is imported: so what imports it later is recorded as well.
    """
    with _installing:
        if _hooked:
            return
        if not _marked:
            _mark_threads()
            _mark_processes()
            _marked.update((threading.Thread, subprocess.Popen))
        for package in filter(_is_installed, PACKAGES):
            module = import_module(package)
            for kind, checked in zip(
                (module.Client, module.AsyncClient), transports_of(package), strict=True
            ):
                _hook(kind, kinds()[kind], checked)
                _hooked.add(kind)
        if _is_installed(_BOTOCORE):
            _hooked.add(_hook_botocore())
        if _GENAI[0] in sys.modules or all(map(_is_installed, _GENAI)):
            import_module("onrecord.adapters.wire.clients.genai").heed_calls()


def _mark_threads() -> None:
    """Have threads that are begun within a scope say so."""
    start = threading.Thread.start

    @wraps(start)
    def started(thread: threading.Thread) -> None:
        if scopes.current() is not None:
            begun(thread)
        start(thread)

    marking: Any = threading.Thread
    marking.start = started


def _mark_processes() -> None:
    """Have it said where a program of Claude's is begun within a scope: it asks the model itself."""
    begin = subprocess.Popen.__init__

    @wraps(begin)
    def begun(process: Any, args: Any, *more: Any, **named: Any) -> None:
        if scopes.current() is not None and _program(args) == _AGENT:
            unrecorded.say_agent_process()
        begin(process, args, *more, **named)

    marking: Any = subprocess.Popen
    marking.__init__ = begun


def _program(args: Any) -> str:
    """Return the name of the program that a process runs."""
    arguments = cast("Sequence[Any]", args) if isinstance(args, list | tuple) else (args,)
    first: Any = arguments[0] if arguments else ""
    try:
        return Path(os.fsdecode(first)).stem
    except TypeError:  # No name of a program: the process itself says so.
        return ""


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # Of a package that is missing.
        return False


def _hook(kind: type[Any], recorded: type[Any], checked: type[Any]) -> None:
    """Put a transport around the one that a client chooses, unless it is recorded.

    Within a scope it records; elsewhere it checks, where recording is required.
    """
    choose = getattr(kind, _CHOICE)

    @wraps(choose)
    def chosen(client: Any, url: Any) -> Any:
        inner = choose(client, url)
        if isinstance(inner, recorded):
            return inner
        exchanges = scopes.current()
        if exchanges is not None:
            return recorded(inner, client, exchanges)
        return checked(inner) if may_object() else inner

    setattr(kind, _CHOICE, chosen)


def _hook_botocore() -> type[Any]:
    """Put a recorded session around the one that a client for Bedrock sends with."""
    from onrecord.adapters.wire.clients.botocore import SERVICE, RecordedSession

    endpoint: Any = import_module(_BOTOCORE).Endpoint
    send = endpoint._send

    @wraps(send)
    def sent(self: Any, request: Any) -> Any:
        exchanges, session = scopes.current(), self.http_session
        if self._endpoint_prefix != SERVICE or isinstance(session, RecordedSession):
            return send(self, request)
        if exchanges is None:
            if may_object():
                check(request.method, urlsplit(str(request.url)).path)
            return send(self, request)
        return RecordedSession(session, exchanges).send(request)

    endpoint._send = sent
    return cast("type[Any]", endpoint)
