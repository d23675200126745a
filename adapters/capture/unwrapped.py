"""Clients that nobody recorded: within a scope, what they send is recorded too.

A framework makes its clients itself, keeps them, and shares them between conversations. So the
choice of a transport, which httpx2 and httpx make for each request, is hooked once for the process:
within a scope it is a recorded one, around the one that was chosen. Likewise what botocore sends a
request with, and google-genai where it sends through aiohttp. Outside of one nothing is different.
"""

from __future__ import annotations

import sys
import threading
import warnings
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, cast

from onrecord.adapters.capture import scope
from onrecord.adapters.capture.http_clients import PACKAGES, kinds
from onrecord.adapters.capture.spool import RecordingWarning

_CHOICE: Final = "_transport_for_url"

_NOTHING: Final = (
    "nothing in this scope is recorded: httpx2 is missing, and httpx and botocore, one of which the "
    "clients that can be recorded bring along; install one of these"
)
_BOTOCORE: Final = "botocore.endpoint"
_GENAI: Final = ("google.genai", "aiohttp")

_installing: Final = threading.Lock()
_hooked: Final[set[type[Any]]] = set()


def record_in_scopes() -> None:
    """Have the clients of this process, those to come too, heed scopes; warns where none can.

    What is installed is imported: so what imports it later is recorded as well.
    """
    with _installing:
        if _hooked:
            return
        for package in filter(_is_installed, PACKAGES):
            import_module(package)
        for kind, recorded in kinds().items():
            _hook(kind, recorded)
            _hooked.add(kind)
        if _is_installed(_BOTOCORE):
            _hooked.add(_hook_botocore())
        if _GENAI[0] in sys.modules or all(map(_is_installed, _GENAI)):
            import_module("onrecord.adapters.capture.genai_client").heed_calls()
        if not _hooked:
            warnings.warn(_NOTHING, RecordingWarning, stacklevel=4)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # Of a package that is missing.
        return False


def _hook(kind: type[Any], recorded: type[Any]) -> None:
    """Put a recorded transport around the one that a client chooses, unless it is recorded."""
    choose = getattr(kind, _CHOICE)

    @wraps(choose)
    def chosen(client: Any, url: Any) -> Any:
        inner = choose(client, url)
        turns = scope.current()
        if turns is None or isinstance(inner, recorded):
            return inner
        return recorded(inner, client, turns)

    setattr(kind, _CHOICE, chosen)


def _hook_botocore() -> type[Any]:
    """Put a recorded session around the one that a client for Bedrock sends with."""
    from onrecord.adapters.capture.botocore_client import SERVICE, RecordedSession

    endpoint: Any = import_module(_BOTOCORE).Endpoint
    send = endpoint._send

    @wraps(send)
    def sent(self: Any, request: Any) -> Any:
        turns, session = scope.current(), self.http_session
        if turns is None or self._endpoint_prefix != SERVICE:
            return send(self, request)
        if isinstance(session, RecordedSession):
            return send(self, request)
        return RecordedSession(session, turns).send(request)

    endpoint._send = sent
    return cast("type[Any]", endpoint)
