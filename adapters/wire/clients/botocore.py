"""A boto3 client with its HTTP session wrapped, and all else shared.

Credentials, retries, proxies, limits and certificates are those of the client that was given, which
stays as it is. What comes back is read beside the caller: botocore parses what it always did.

Written against botocore 1.44; imports nothing of it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, cast

from onrecord.adapters.recording.tenancy import HEADER
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.binding import Binding
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.sending import Sending, target_of
from onrecord.adapters.wire.clients.transport import RecordedBody, abandon

SERVICE: Final = "bedrock-runtime"
_BUILT: Final = f"request-created.{SERVICE}"
"""The event at which botocore signs a request, before each attempt."""


def recorded(client: Any, binding: Binding) -> Any:
    """Return a client of the same type whose wire is recorded where it is bound."""
    session = client._endpoint.http_session
    if isinstance(session, RecordedSession):
        if session.exchanges.binding.is_like(binding):
            return client
        client = session.origin  # A conversation takes over from another.
    kind = cast("type[Any]", type(client))
    copied: Any = object.__new__(kind)  # A copy would ask it for what it has not yet.
    copied.__dict__ = dict(cast("dict[str, Any]", vars(client)))
    copied.meta, copied._endpoint = copy.copy(client.meta), copy.copy(client._endpoint)
    events = copied.meta.events = copied._endpoint._event_emitter = copy.copy(client.meta.events)
    events.register_first(_BUILT, _take_binding_out)
    events.register_last(_BUILT, _put_binding_back)
    exchanges = ExchangeRecorder(binding)
    events.register_last(f"before-call.{SERVICE}", partial(_splice, exchanges))
    copied._endpoint.http_session = RecordedSession(
        client._endpoint.http_session, exchanges, client
    )
    return copied


def account_of(client: Any) -> str | None:
    """Return the id of the key that a client signs with; None where it has none that lasts.

    None, too, where it has a bearer token (`AWS_BEARER_TOKEN_BEDROCK`): only a call tells which of
    both it sends.
    """
    signer = client._request_signer
    credentials = None if signer._auth_token is not None else signer._credentials
    # Those that are renewed would be renewed if they were asked, and tell no account.
    members = cast("dict[str, Any]", {} if credentials is None else vars(credentials))
    return None if members.get("token") else members.get("access_key")


class RecordedSession:
    """Sends requests through another session of botocore's and records what crosses it."""

    def __init__(self, inner: Any, exchanges: ExchangeRecorder, origin: Any = None) -> None:
        """Wrap a session of a client, which is kept alive: it signs what is sent."""
        self.inner = inner
        self.exchanges = exchanges
        self.origin = origin

    def send(self, request: Any) -> Any:
        """Record the request, send it, and return a response that is recorded as it is read."""
        bound = self.exchanges.binding.of({}, _text(request.headers.pop(HEADER, None)))
        sending = Sending(request.method, target_of(request.url), _plain(request.headers))
        body = _read(request) if sending.is_recorded else b""
        attempt = self.exchanges.attempt(bound, sending, body)
        if attempt is None:
            unrecorded.say(sending.method, sending.path)
            return self.inner.send(request)
        try:
            response = self.inner.send(request)
        except BaseException as exc:
            attempt.fail(exc)
            raise
        attempt.answered(response.status_code, _plain(response.headers))
        if request.stream_output:
            response.raw = _RecordedRaw(response.raw, attempt)
        else:
            attempt.feed(response.content)
            attempt.finish()
        return response

    def close(self) -> None:
        """Close the session, as closing any client that shares it."""
        self.inner.close()


class _RecordedRaw:
    """A response of urllib3 that is recorded while it is read."""

    def __init__(self, inner: Any, attempt: AnswerRecorder) -> None:
        self._inner = inner
        self._attempt = attempt

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        """Yield the chunks of the body, unchanged."""
        return iter(RecordedBody(_Chunks(self._inner, args, kwargs), self._attempt))

    def read(self, amt: int | None = None, *args: Any, **kwargs: Any) -> bytes:
        """Return the next bytes of the body; the last ones once they are durable."""
        attempt = self._attempt
        try:
            chunk: bytes = self._inner.read(amt, *args, **kwargs)
        except Exception:
            attempt.lose("cut")
            raise
        is_last = attempt.feed(chunk)
        if is_last or amt is None or (amt and not chunk) or self._inner.closed:
            attempt.finish()
        attempt.write_out()
        return chunk

    def close(self) -> None:
        """Release the connection; what was not read is recorded as abandoned."""
        abandon(self._attempt)
        self._inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Chunks:
    """The chunks that a response of urllib3 gives, asked for like that."""

    def __init__(self, raw: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._raw = raw
        self._args = args
        self._kwargs = kwargs

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._raw.stream(*self._args, **self._kwargs))

    def close(self) -> None:
        self._raw.close()


def _splice(exchanges: ExchangeRecorder, params: Any, **_: Any) -> None:
    """Put in what was rendered, before it is signed."""
    bound = exchanges.binding.of({}, _text(params["headers"].get(HEADER)))
    sending = Sending(params["method"], target_of(params["url"]), {})
    body = params["body"]
    if isinstance(body, bytes | bytearray):
        params["body"] = exchanges.spliced(bound, sending, bytes(body))


def _take_binding_out(request: Any, **_: Any) -> None:
    """Keep our header from being signed: it is not sent."""
    header = request.headers.get(HEADER)
    if header is not None:
        del request.headers[HEADER]
        request.context[HEADER] = header


def _put_binding_back(request: Any, **_: Any) -> None:
    """Give the session our header, which it takes out."""
    header = request.context.pop(HEADER, None)
    if header is not None:
        request.headers[HEADER] = header


def _read(request: Any) -> bytes:
    """Return the body of a request, which may be given as a file; that is left where it was."""
    body: Any = request.body
    if body is None:
        return b""
    if not hasattr(body, "read"):
        return body.encode() if isinstance(body, str) else bytes(body)
    place = body.tell()
    data = body.read()
    body.seek(place)
    return data.encode() if isinstance(data, str) else bytes(data)


def _plain(headers: Mapping[str, Any]) -> dict[str, str]:
    return {name.lower(): _text(value) or "" for name, value in headers.items()}


def _text(value: str | bytes | None) -> str | None:
    return value.decode("latin-1") if isinstance(value, bytes) else value
