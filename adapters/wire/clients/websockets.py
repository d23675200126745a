"""Websockets bypass HTTP, and so the record: a client that opens one says so, once."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from weakref import WeakSet

from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.wire.clients import binding, requirement
from onrecord.adapters.wire.wires import refusal_of

_QUERY: Final = "_websocket_query_params"
"""What openai 3.52 asks of a client for each websocket that it opens, realtime or responses."""

_REFUSED: Final = (
    "the websocket was not opened, for recording is required, and what goes over it is not "
    "recorded: call the API over HTTP instead"
)
_WARNING: Final = "_onrecord"
_installing: Final = threading.Lock()
_warned: Final[WeakSet[Any]] = WeakSet()
"""What sends for the clients whose users were told."""


def warn_of_all() -> None:
    """Have the clients of those SDKs warn that something imported by now."""
    if "openai" in sys.modules:
        warn_of_connections()
    if "google.genai" in sys.modules:
        warn_of_live()


def warn_of_connections() -> None:
    """Have OpenAI's clients warn when one that is recorded, or in a scope, opens a websocket."""
    from openai._base_client import BaseClient

    with _installing:
        query = getattr(BaseClient, _QUERY, None)
        if query is not None and not hasattr(query, "__wrapped__"):
            setattr(BaseClient, _QUERY, _warning(query, _is_recorded, "openai-responses"))


def warn_of_live() -> None:
    """Have google-genai's clients warn when one that is recorded, or in a scope, goes live."""
    from google.genai.live import AsyncLive

    from onrecord.adapters.wire.clients import genai as genai_client

    with _installing:
        if not hasattr(AsyncLive.connect, _WARNING):
            warning = _warning(AsyncLive.connect, genai_client.is_recorded, "gemini")
            setattr(warning, _WARNING, True)
            vars_of: Any = AsyncLive
            vars_of.connect = warning


def _is_recorded(client: Any) -> bool:
    from onrecord.adapters.wire.clients import record

    return record.is_wrapped(client._client)


def _warning(opening: Any, is_recorded: Callable[[Any], bool], api: str) -> Any:
    @wraps(opening)
    def opened(client: Any, *args: Any, **kwargs: Any) -> Any:
        if requirement.required() == "raise":
            raise refusal_of(api)(_REFUSED)
        sends = _sends(client)
        is_meant = is_recorded(client) or binding.current() is not None
        if sends not in _warned and (is_meant or requirement.required() is not None):
            _warned.add(sends)
            warnings.warn(
                "what goes over a websocket is not recorded: call the API over HTTP instead",
                RecordingWarning,
                stacklevel=2,
            )
        return opening(client, *args, **kwargs)

    return opened


def _sends(client: Any) -> Any:
    """Return what a client sends through: its parts share it."""
    return client._api_client if hasattr(client, "_api_client") else client._client
