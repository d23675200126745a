"""A client of google-genai around the same HTTP clients, with their transports wrapped.

What both hold, credentials, options and connections, they share; the one that was given stays as it
is. Written against google-genai 3.4 (`_api_client.py`, `client.py`).
"""

from __future__ import annotations

import copy
import threading
from functools import partial, wraps
from typing import Any, Final, cast

from onrecord.adapters.streams import scopes
from onrecord.adapters.wire.clients import record, unwrapped
from onrecord.adapters.wire.clients.binding import Binding
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.sending import one_call
from onrecord.domain.errors import UnsupportedClient

_ORIGIN: Final = "_onrecord_origin"
_API: Final = "_api_client"
_CERTIFICATE: Final = "_use_google_auth_sync"
"""What tells that a client shows a certificate; before google-genai 2.0 none does."""
_SESSION: Final = "_get_aiohttp_session"
_LAZY: Final = "_nextgen_client_instance"
"""What a client holds that sends, and is made when it is first asked for."""

_installing: Final = threading.Lock()


def recorded(client: Any, binding: Binding) -> Any:
    """Return a client of the same type whose wire is recorded where it is bound."""
    api = client._api_client
    if record.is_recorded(api._httpx_client, binding):
        return client
    origin = getattr(api, _ORIGIN, client)  # A conversation takes over from another.
    heed_calls()
    return _around(origin, _recorded_api(origin, ExchangeRecorder(binding)))


def is_recorded(client: Any) -> bool:
    """Return whether a part of a client, such as `client.aio.live`, is one of a recorded client."""
    return hasattr(client._api_client, _ORIGIN)


def account_of(client: Any) -> str | None:
    """Return the key that a client sends; None where it has none that lasts."""
    return cast("str | None", client._api_client.api_key)


def heed_calls() -> None:
    """Have the clients of this process say which attempts are of one call, and heed scopes."""
    from google.genai._api_client import BaseApiClient

    with _installing:
        for name, heeding in _HEEDING.items():
            method = getattr(BaseApiClient, name, None)
            if method is not None and not hasattr(method, "__wrapped__"):
                setattr(BaseApiClient, name, heeding(method))


def _recorded_api(origin: Any, exchanges: ExchangeRecorder) -> Any:
    """Return what sends for a client, through the same HTTP clients, recorded."""
    api = origin._api_client
    if getattr(api, _CERTIFICATE, _shows_none)():
        raise UnsupportedClient(
            "the client shows a certificate, and sends through requests, which is not recorded: "
            "give it an httpx_client that shows it"
        )
    copied = copy.copy(api)
    record.stays_open(copied)
    setattr(copied, _ORIGIN, origin)
    copied._httpx_client = record.recorded_http(api._httpx_client, exchanges)
    if api._async_httpx_client is not None:
        copied._async_httpx_client = record.recorded_http(api._async_httpx_client, exchanges)
    if hasattr(api, _SESSION):  # Older releases send through httpx alone.
        setattr(copied, _SESSION, partial(_session, api, exchanges))
    return copied


def _shows_none() -> bool:
    return False


async def _session(api: Any, exchanges: ExchangeRecorder) -> Any:
    from onrecord.adapters.wire.clients.aiohttp_session import RecordedSession

    method: Any = getattr(cast("type[Any]", type(api)), _SESSION)
    # A scope around the call does not record it once more.
    return RecordedSession(await method.__wrapped__(api), exchanges)


def _around(client: Any, api: Any) -> Any:
    """Return a client like that one that sends through another API client."""
    copied = copy.copy(client)
    record.stays_open(copied)
    for name, value in cast("dict[str, Any]", vars(client)).items():
        if value is client._api_client:
            setattr(copied, name, api)
        elif getattr(value, _API, None) is client._api_client:
            setattr(copied, name, type(value)(api))
    setattr(copied, _LAZY, None)
    return copied


def _one_call(request: Any) -> Any:
    @wraps(request)
    def called(*args: Any, **kwargs: Any) -> Any:
        with one_call():
            return request(*args, **kwargs)

    return called


def _one_async_call(request: Any) -> Any:
    @wraps(request)
    async def called(*args: Any, **kwargs: Any) -> Any:
        with one_call():
            return await request(*args, **kwargs)

    return called


def _in_scope(ask: Any) -> Any:
    """Put a recorded session around the one that a client sends through, within a scope."""

    @wraps(ask)
    async def checked_session(client: Any) -> Any:
        session, exchanges = await ask(client), scopes.current()
        if exchanges is None:
            return unwrapped.CheckedSession(session) if unwrapped.may_object() else session
        from onrecord.adapters.wire.clients.aiohttp_session import RecordedSession

        return RecordedSession(session, exchanges)

    return checked_session


_HEEDING: Final = {
    "_request": _one_call,
    "_async_request": _one_async_call,
    _SESSION: _in_scope,
}
"""What all requests of google-genai go through, and what has it heed calls and scopes."""
