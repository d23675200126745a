"""Clients that nobody recorded: within a scope, what they send is recorded too.

A framework makes its clients itself, keeps them, and shares them between conversations. So the
choice of a transport, which httpx2 and httpx make for each request, is hooked once for the process:
within a scope it is a recorded one, around the one that was chosen. Outside of one nothing is
different.
"""

from __future__ import annotations

import threading
import warnings
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from hansard.adapters.capture import scope
from hansard.adapters.capture.http_clients import PACKAGES, kinds
from hansard.adapters.capture.spool import RecordingWarning

_CHOICE: Final = "_transport_for_url"

_NOTHING: Final = (
    "nothing in this scope is recorded: httpx2 is missing, and httpx, which the clients that can be "
    "recorded bring along; install one of these"
)

_installing: Final = threading.Lock()
_hooked: Final[set[type[Any]]] = set()


def record_in_scopes() -> None:
    """Have the clients of this process, those to come too, heed scopes; warns where none can.

    That is so where no HTTP client is installed that can be recorded.
    """
    with _installing:
        if _hooked:
            return
        for package in PACKAGES:
            if find_spec(package) is not None:
                import_module(package)  # So that what imports it later is recorded as well.
        for kind, recorded in kinds().items():
            _hook(kind, recorded)
            _hooked.add(kind)
        if not _hooked:
            warnings.warn(_NOTHING, RecordingWarning, stacklevel=4)


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
