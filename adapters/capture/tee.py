"""`record(client)`: a client of the same type whose wire is recorded.

The SDK keeps its transports, proxies, pools, limits and hooks; each transport is wrapped, and the
wrapped ones share everything with the client that was given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TypeVar, cast

from hansard.adapters.capture import anthropic_messages, openai_chat, openai_responses
from hansard.adapters.capture.binding import Binding
from hansard.adapters.capture.request_headers import account_in
from hansard.adapters.capture.turns import Turns
from hansard.domain.errors import UnsupportedClient

ClientT = TypeVar("ClientT")


def record(client: ClientT, binding: Binding) -> ClientT:
    """Return a client of the same type; what crosses its wire is recorded where it is bound.

    The client that was given stays as it is, and shares its connections with the new one. Raises
    UnsupportedClient for anything but a client of the `anthropic` or `openai` SDK, sync or async,
    Azure's included.
    """
    if "anthropic" in sys.modules:
        from anthropic import Anthropic, AsyncAnthropic

        if isinstance(client, Anthropic | AsyncAnthropic):
            return cast("ClientT", _recorded(client, binding, (anthropic_messages.WIRE.api,)))
    if "openai" in sys.modules:
        from openai import AsyncOpenAI, OpenAI

        from hansard.adapters.capture import websockets

        if isinstance(client, OpenAI | AsyncOpenAI):
            websockets.warn_of_connections()
            apis = (openai_chat.WIRE.api, openai_responses.WIRE.api)
            return cast("ClientT", _recorded(client, binding, apis))
    raise UnsupportedClient(
        f"the wire of {type(client).__module__}.{type(client).__qualname__} cannot be recorded: "
        "give an anthropic.Anthropic or openai.OpenAI, sync or async"
    )


def _recorded(client: Any, binding: Binding, apis: Iterable[str]) -> Any:
    """Return an SDK's client around the same HTTP client, with its transports wrapped."""
    from hansard.adapters.capture import http_clients

    account = _account(client)
    if binding.recorded is not None and account is not None:
        for api in apis:
            binding.recorded.expect(api, account)
    inner = client._client
    if http_clients.is_recorded(inner, binding):
        return client
    wrapped = http_clients.recorded(inner, Turns(binding))
    if wrapped is None:
        raise UnsupportedClient(
            f"the client sends through {type(inner).__module__}.{type(inner).__qualname__}, "
            "whose wire cannot be recorded: give it a client of httpx2 or httpx, or none"
        )
    return client.with_options(http_client=wrapped)


def _account(client: Any) -> str | None:
    """Return what tells a client's account; None where it asks for its key anew for each call."""
    headers: dict[str, Any] = {**client.auth_headers, **client.default_headers}
    given = {name.lower(): value for name, value in headers.items() if isinstance(value, str)}
    return account_in(given)
