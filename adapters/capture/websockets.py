"""Websockets bypass HTTP, and so the record: a client that opens one says so, once."""

from __future__ import annotations

import threading
import warnings
from functools import wraps
from typing import Any, Final
from weakref import WeakSet

from hansard.adapters.capture import scope
from hansard.adapters.capture.spool import RecordingWarning

_QUERY: Final = "_websocket_query_params"
"""What openai 3.52 asks of a client for each websocket that it opens, realtime or responses."""

_installing: Final = threading.Lock()
_warned: Final[WeakSet[Any]] = WeakSet()
"""The HTTP clients whose users were told."""


def warn_of_connections() -> None:
    """Have OpenAI's clients warn when one that is recorded, or in a scope, opens a websocket."""
    from openai._base_client import BaseClient

    with _installing:
        query = getattr(BaseClient, _QUERY, None)
        if query is not None and not hasattr(query, "__wrapped__"):
            setattr(BaseClient, _QUERY, _warning(query))


def _warning(query: Any) -> Any:
    from hansard.adapters.capture import http_clients

    @wraps(query)
    def asked(client: Any, *args: Any, **kwargs: Any) -> Any:
        http = client._client
        if http not in _warned and (http_clients.is_wrapped(http) or scope.current() is not None):
            _warned.add(http)
            warnings.warn(
                "what goes over a websocket is not recorded: call the API over HTTP instead",
                RecordingWarning,
                stacklevel=2,
            )
        return query(client, *args, **kwargs)

    return asked
