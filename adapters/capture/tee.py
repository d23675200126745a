"""`record(client)`: a client of the same type whose wire is recorded into a conversation.

The SDK keeps its transports, proxies, pools, limits and hooks; each transport is wrapped, and the
wrapped ones share everything with the client that was given.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast

from hansard.adapters.capture.turns import Refusal, Turns
from hansard.adapters.journal import Journal
from hansard.domain.errors import NotRecorded, UnsupportedClient

if TYPE_CHECKING:
    import anthropic

ClientT = TypeVar("ClientT")


def record(client: ClientT, journal: Journal) -> ClientT:
    """Return a client of the same type; what crosses its wire is recorded in the journal.

    The client that was given stays as it is, and shares its connections with the new one. Raises
    UnsupportedClient for anything but a client of the `anthropic` SDK, sync or async.
    """
    if "anthropic" in sys.modules:
        from anthropic import Anthropic, AsyncAnthropic

        if isinstance(client, Anthropic | AsyncAnthropic):
            return cast("ClientT", _recorded(client, journal))
    raise UnsupportedClient(
        f"the wire of {type(client).__module__}.{type(client).__qualname__} cannot be recorded: "
        "give an anthropic.Anthropic or anthropic.AsyncAnthropic"
    )


def _recorded(
    client: anthropic.Anthropic | anthropic.AsyncAnthropic, journal: Journal
) -> anthropic.Anthropic | anthropic.AsyncAnthropic:
    from anthropic import Anthropic

    from hansard.adapters.capture import http_clients

    journal.expect(client.api_key or client.auth_token)
    if http_clients.is_recorded_in(client._client, journal):  # pyright: ignore[reportPrivateUsage]  # the SDK has no other way to it
        return client
    turns = Turns(journal, _refusal())
    if isinstance(client, Anthropic):
        return client.with_options(http_client=http_clients.recorded(client._client, turns))  # pyright: ignore[reportPrivateUsage]  # as above
    return client.with_options(http_client=http_clients.recorded_async(client._client, turns))  # pyright: ignore[reportPrivateUsage]  # as above


@cache
def _refusal() -> Refusal:
    from anthropic import AnthropicError

    class RefusedCall(NotRecorded, AnthropicError):
        """The prompt could not be made durable, so the call was not made."""

    # In a traceback, the name by which it can be caught.
    RefusedCall.__module__, RefusedCall.__qualname__ = "hansard", NotRecorded.__name__
    return RefusedCall
