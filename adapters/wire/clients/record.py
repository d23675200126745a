"""`record(client)`: a client of the same type whose wire is recorded.

The SDK keeps its transports, proxies, pools, limits and hooks; each transport is wrapped, and the
wrapped ones share everything with the client that was given.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from onrecord.adapters.wire.clients.binding import Binding
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.sending import account_in
from onrecord.adapters.wire.clients.transport import building_without_binding, transports_of
from onrecord.domain.errors import UnsupportedClient

ClientT = TypeVar("ClientT")

_CLIENTS: Final = (
    "anthropic.Anthropic, openai.OpenAI, google.genai.Client, ollama.Client or "
    'boto3.client("bedrock-runtime")'
)

_FOUNDRY: Final = "_azure_ad_token_provider"
"""What anthropic 2.11 asks for tokens for Foundry; without one a key goes with each call."""


@dataclass(frozen=True, slots=True)
class _Sdk:
    """The clients of an SDK: how one is recorded, and the account that it sends under.

    `apis` are those that it speaks.
    """

    apis: tuple[str, ...]
    record: Callable[[Any, Binding], Any]
    account: Callable[[Any], str | None]


def record(client: ClientT, binding: Binding) -> ClientT:
    """Return a client of the same type; what crosses its wire is recorded where it is bound.

    The client that was given stays as it is, and shares its connections with the new one. Raises
    UnsupportedClient for anything but a client of the `anthropic`, `openai`, `google-genai`,
    `ollama` or `boto3` SDK, sync or async, those for Azure, Vertex and Bedrock included.
    """
    sdk = next((each for kinds, each in _sdks() if isinstance(client, kinds)), None)
    if sdk is None:
        raise UnsupportedClient(
            f"the wire of {type(client).__module__}.{type(client).__qualname__} cannot be "
            f"recorded: give an {_CLIENTS}, sync or async"
        )
    recorded = sdk.record(client, binding)
    account = None if binding.recorded is None else sdk.account(client)
    if binding.recorded is not None and account is not None:
        for api in sdk.apis:
            binding.recorded.expect(api, account)
    return cast("ClientT", recorded)


def _sdks() -> Iterator[tuple[tuple[type[Any], ...], _Sdk]]:
    """Yield what is known of the SDKs that something imported, by the types of their clients."""
    if "anthropic" in sys.modules:
        from anthropic._base_client import AsyncAPIClient, SyncAPIClient

        yield (
            (SyncAPIClient, AsyncAPIClient),
            _Sdk(("anthropic-messages",), _stainless, _anthropic_key_of),
        )
    if "openai" in sys.modules:
        from openai import AsyncOpenAI, OpenAI

        yield (OpenAI, AsyncOpenAI), _Sdk(("openai-chat", "openai-responses"), _openai, _key_of)
    if "google.genai" in sys.modules:
        from google.genai import client as genai

        from onrecord.adapters.wire.clients import genai as genai_client

        yield (genai.Client, genai.AsyncClient), _Sdk(("gemini",), _genai, genai_client.account_of)
    if "ollama" in sys.modules:
        import ollama

        yield (ollama.Client, ollama.AsyncClient), _Sdk(("ollama",), _ollama, _sent_key_of)
    if (botocore := sys.modules.get("botocore.client")) is not None:
        from onrecord.adapters.wire.clients import botocore as botocore_client

        apis = ("bedrock-converse", "anthropic-messages")
        yield (botocore.BaseClient,), _Sdk(apis, _botocore, botocore_client.account_of)


def _stainless(client: Any, binding: Binding) -> Any:
    """Return an SDK's client around the same HTTP client, with its transports wrapped."""
    wrapped = _http(client._client, binding)
    return client if wrapped is None else client.with_options(http_client=wrapped)


def _openai(client: Any, binding: Binding) -> Any:
    from onrecord.adapters.wire.clients import unrecorded

    unrecorded.warn_of_connections()
    return _stainless(client, binding)


def _genai(client: Any, binding: Binding) -> Any:
    from onrecord.adapters.wire.clients import genai as genai_client
    from onrecord.adapters.wire.clients import unrecorded

    unrecorded.warn_of_live()
    return genai_client.recorded(client, binding)


def _ollama(client: Any, binding: Binding) -> Any:
    wrapped = _http(client._client, binding)
    if wrapped is None:
        return client
    copied = copy.copy(client)
    copied._client = wrapped
    return copied


def _botocore(client: Any, binding: Binding) -> Any:
    from onrecord.adapters.wire.clients import botocore as botocore_client

    service = client.meta.service_model.service_name
    if service != botocore_client.SERVICE:
        raise UnsupportedClient(
            f"a client of {service} holds no conversations: give one of {botocore_client.SERVICE}"
        )
    return botocore_client.recorded(client, binding)


def _http(inner: Any, binding: Binding) -> Any | None:
    """Return an HTTP client with its transports wrapped; None where that one is, bound like that."""
    return None if is_recorded(inner, binding) else recorded_http(inner, ExchangeRecorder(binding))


def recorded_http(inner: Any, exchanges: ExchangeRecorder) -> Any:
    """Return an HTTP client with its transports wrapped; UnsupportedClient where it is none."""
    wrapped = recorded(inner, exchanges)
    if wrapped is None:
        raise UnsupportedClient(
            f"the client sends through {type(inner).__module__}.{type(inner).__qualname__}, "
            "whose wire cannot be recorded: give it a client of httpx2 or httpx, or none"
        )
    return wrapped


def _key_of(client: Any) -> str | None:
    """Return what tells a client's account; None where it asks for its key anew for each call."""
    headers: dict[str, Any] = {**client.auth_headers, **client.default_headers}
    signing = getattr(client, "aws_access_key", None)
    return account_in(_lower(headers)) or (signing if _lasts(client, signing) else None)


def _anthropic_key_of(client: Any) -> str | None:
    is_sent_with_calls = getattr(client, _FOUNDRY, client) is None
    return _key_of(client) or (client.api_key if is_sent_with_calls else None)


def _lasts(client: Any, signing: object) -> bool:
    """Whether a key id of AWS's is one that a client signs with, and goes on to."""
    keys = (getattr(client, name, None) for name in ("aws_session_token", "api_key"))
    return isinstance(signing, str) and not any(keys)


def _sent_key_of(client: Any) -> str | None:
    return account_in(_lower(client._client.headers))


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items() if isinstance(value, str)}


# The HTTP client of an SDK with its transports wrapped, one by one, and all else shared.
#
# Redirects, hooks, cookies and timeouts are the client's, which stays the same in all but its
# transports.

PACKAGES: Final = ("httpx2", "httpx")
"""What has HTTP clients whose wire can be recorded."""
_OF_LOOP: Final = "_client_for_running_loop"
"""What google-genai 3.4 asks of its async client for the one that has the event loop's connections."""


def recorded(client: Any, exchanges: ExchangeRecorder) -> Any | None:
    """Return a client like that one, with its transports wrapped; None if it is no HTTP client."""
    transport = next(
        (wrapper for kind, wrapper in kinds().items() if isinstance(client, kind)), None
    )
    if transport is None:
        return None
    wrapped = _wrapped(client)
    # A conversation takes over from another.
    origin = client if wrapped is None else wrapped.origin
    return _like(origin, lambda inner: transport(inner, origin, exchanges), exchanges)


def is_recorded(client: Any, binding: Binding) -> bool:
    """Return whether a client's wire is recorded, bound like that, already."""
    wrapped = _wrapped(client)
    return wrapped is not None and wrapped.exchanges.binding.is_like(binding)


def is_wrapped(client: Any) -> bool:
    """Return whether a client's wire is recorded, wherever that is bound."""
    return _wrapped(client) is not None


def kinds() -> dict[type[Any], type[Any]]:
    """Return the HTTP clients whose wire can be recorded, and the transport that does it for each.

    Those of httpx2 and of httpx are among them once something imported that.
    """
    clients: dict[type[Any], type[Any]] = {}
    for package in PACKAGES:
        if (imported := sys.modules.get(package)) is not None:
            sync, coroutine = transports_of(package)
            clients |= {imported.Client: sync, imported.AsyncClient: coroutine}
    return clients


def _wrapped(client: Any) -> Any | None:
    """Return the recording transport of a client, if it has one."""
    transport = getattr(client, "_transport", None)  # Neither package has another way to it.
    return transport if isinstance(transport, tuple(kinds().values())) else None


def _like(client: Any, wrap: Callable[[Any], Any], exchanges: ExchangeRecorder) -> Any:
    """Return a copy of a client, with other transports; all else is shared."""
    copied = copy.copy(client)
    stays_open(copied)
    copied._transport = wrap(client._transport)
    copied._mounts = {
        pattern: None if inner is None else wrap(inner) for pattern, inner in client._mounts.items()
    }
    copied.build_request = building_without_binding(copied.build_request)
    if hasattr(client, _OF_LOOP):
        setattr(copied, _OF_LOOP, lambda: recorded(client._client_for_running_loop(), exchanges))
    return copied


_KINDS: Final[dict[type[Any], type[Any]]] = {}


def stays_open(copied: Any) -> None:
    """Keep a copy from closing what it shares when it is dropped, as the SDKs' own clients do."""
    kind = cast("type[Any]", type(copied))
    if not hasattr(kind, "__del__"):
        return
    if kind not in _KINDS:
        members = {"__del__": _nothing, "__doc__": kind.__doc__, "__module__": kind.__module__}
        _KINDS[kind] = type(kind.__name__, (kind,), members)
    copied.__class__ = _KINDS[kind]


def _nothing(_: object) -> None:
    """Do nothing."""
