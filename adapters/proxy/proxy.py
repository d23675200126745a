"""The recording proxy, an ASGI application: `/<key>/<provider>/<path>` goes to that provider.

Bytes, status and headers pass as they are, both ways; the key is taken out. What a client that is
recorded in process records is recorded here, by the same recorder.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

import aiohttp

from onrecord.adapters.proxy.address import Address, address_of
from onrecord.adapters.proxy.asgi import Message, Receive, Scope, Send
from onrecord.adapters.proxy.binding import Tenants
from onrecord.adapters.proxy.call import AGAIN, Call, Policy, Unrecorded, upgrade_refused
from onrecord.adapters.proxy.exchange import new_session
from onrecord.adapters.proxy.refusals import Refusal, refuse
from onrecord.adapters.proxy.request_body import Hold, ProgramGone, RequestBody, hold_any
from onrecord.adapters.proxy.signing import Signer
from onrecord.adapters.proxy.upstreams import BUILT_IN, Upstream
from onrecord.adapters.store import Store
from onrecord.adapters.wire.wires import endpoint_of
from onrecord.domain.errors import StorageError

logger = logging.getLogger("onrecord")

LONGEST: Final = 64 * 1024**2
"""How many bytes of a request are held to be recorded: documents come in requests."""

_RECORDING_SECONDS: Final = 5.0
"""How long it waits for what is being recorded when it closes: 40 seconds are all that a supervisor waits."""

_DENIAL: Final = "websocket.http.response"


def _leave() -> None:
    """Do nothing: nobody counts."""


class Guest(NamedTuple):
    """Who came in: the store of the tenant, and who acts where a request does not say so.

    `hold` is told how many bytes of the request are held in all; it raises Refusal where there is no
    room for them. `leave` is called once, when the answer is over.
    """

    store: Store
    actor: str | None = None
    hold: Hold = hold_any
    leave: Callable[[], None] = _leave


class Door(Protocol):
    """Who may come in."""

    async def opened(self, token: str, scope: Scope) -> Guest | None:
        """Return who comes in by a key; None where it is no key, or may not write.

        `scope` says whence and by which name the request came. Refusal where nobody may come in now.
        """
        ...


class Proxy:
    """Hands requests on to providers, and records the turns among them. Close it when done."""

    def __init__(
        self,
        door: Door,
        upstreams: Mapping[str, Upstream] = BUILT_IN,
        *,
        unrecorded: Unrecorded = "pass",
        longest: int = LONGEST,
        signer: Signer | None = None,
    ) -> None:
        """Let in whom the door lets in, to these providers.

        What asks a model something and cannot be recorded passes with a header that warns, or is
        refused. A turn of more bytes than `longest` is such a request. What is signed for AWS is
        signed anew by the signer, else it is refused.
        """
        self._door = door
        self._upstreams = upstreams
        self._policy = Policy(unrecorded, longest, signer)
        self._tenants = Tenants()
        self._session: aiohttp.ClientSession | None = None
        self._calls: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        match scope["type"]:
            case "http":
                task = asyncio.current_task()
                assert task is not None  # An application runs in a task of the server.
                self._calls.add(task)
                try:
                    await self._answer(scope, receive, send)
                finally:
                    self._calls.discard(task)
            case "websocket":
                await _deny(scope, receive, send)
            case _:
                raise ValueError("only requests are answered: `close` ends what is open")

    async def close(self) -> None:
        """Let go of connections, when what came of the calls is recorded.

        A server that is to end cancels calls that take too long, and closes without waiting for them.
        """
        if self._calls:
            await asyncio.wait(self._calls, timeout=_RECORDING_SECONDS)
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = address_of(scope)
        upstream = None if address is None else self._upstreams.get(address.provider)
        try:
            if address is None:
                raise Refusal(404, "the path is /<key>/<provider>/<the provider's own path>")
            guest = await self._opened(address.key, scope)
            if guest is None:
                raise Refusal(401, "the key in the path is not good, or may not write")
            try:
                if upstream is None:
                    raise Refusal(404, "no provider has the name in the path")
                tenant = self._tenants.of(guest.store)
                body = RequestBody(receive, scope["headers"], guest.hold)
                call = Call(tenant, guest.actor, upstream, address, scope, body, self._policy)
                with suppress(ProgramGone):
                    await call.answered(self._open_session(), send)
            finally:
                guest.leave()
        except Refusal as refusal:
            await refuse(send, refusal, _shape(scope["method"], address, upstream))

    async def _opened(self, token: str, scope: Scope) -> Guest | None:
        try:
            return await self._door.opened(token, scope)
        except StorageError as exc:
            logger.warning("a key could not be looked up: %s", exc)
            raise Refusal(503, "keys cannot be looked up now: try again", AGAIN) from exc

    def _open_session(self) -> aiohttp.ClientSession:
        """Return what requests go out by, made when the first one does: it wants the loop."""
        if self._session is None:
            self._session = new_session()
        return self._session


def _shape(method: str, address: Address | None, upstream: Upstream | None) -> str:
    """Return the API whose errors a program reads: that of its path, else its provider's first."""
    named = "" if address is None else endpoint_of(method, address.path).api
    return named or next(iter(() if upstream is None else upstream.apis), "")


async def _deny(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a websocket so that programs fall back at once: by status 426, where that can be said."""
    await receive()
    if _DENIAL not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return

    async def send_denial(message: Message) -> None:
        await send({**message, "type": f"websocket.{message['type']}"})

    await refuse(send_denial, upgrade_refused(), "openai-responses")
