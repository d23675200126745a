"""One request to the proxy: what is recorded of it, and that it is sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

import aiohttp

from onrecord.adapters.proxy.address import Address, has_odd_segment
from onrecord.adapters.proxy.asgi import Header, Scope, Send
from onrecord.adapters.proxy.binding import Tenant
from onrecord.adapters.proxy.endpoints import why_unrecorded
from onrecord.adapters.proxy.exchange import Outbound, exchange
from onrecord.adapters.proxy.headers import (
    WARNING,
    by_name,
    must_have_no_key_of_ours,
    passed_on,
)
from onrecord.adapters.proxy.refusals import Refusal
from onrecord.adapters.proxy.request_body import RequestBody, unpacked
from onrecord.adapters.proxy.signing import Signer, is_signed, unsigned
from onrecord.adapters.proxy.upstreams import Upstream
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients.recorded_async import done, opened, result_of
from onrecord.adapters.wire.clients.sending import Sending
from onrecord.adapters.wire.forms import begins_batch
from onrecord.domain.errors import (
    ConversationClosed,
    ConversationForgotten,
    InvalidContent,
    InvalidInput,
    MalformedJson,
    NotRecorded,
)
from onrecord.domain.jsontext import has_more_values

logger = logging.getLogger("onrecord")

Unrecorded: TypeAlias = Literal["pass", "refuse"]
"""What becomes of a request that asks a model something and cannot be recorded."""

_FORM_HEAD: Final = 64 * 1024
AGAIN: Final = (b"retry-after", b"5")
"""The header that says when to try again."""

_HOP_METHODS: Final = frozenset({"CONNECT", "TRACE"})
"""The methods that ask for a tunnel, or for the request itself with the keys in it."""

_UPGRADE: Final = ((b"upgrade", b"HTTP/1.1"), (b"connection", b"upgrade"))

_MOST_VALUES: Final = 1_000_000
"""How many values of JSON a turn may have: each takes hundreds of bytes while it is recorded."""


def upgrade_refused() -> Refusal:
    """Return what a websocket is refused with."""
    why = "what goes over a websocket is not recorded: call the API over HTTP instead"
    return Refusal(426, why, *_UPGRADE)


@dataclass(frozen=True, slots=True)
class Policy:
    """What becomes of requests that cannot be recorded, or are signed for another address.

    `longest` is how many bytes of one are held.
    """

    unrecorded: Unrecorded
    longest: int
    signer: Signer | None = None

    def warning(self, why: str, status: int = 403) -> Header:
        """Return the header that says why something is not recorded; Refusal where it must be."""
        if self.unrecorded == "refuse":
            raise Refusal(status, f"{why}: it is not recorded, and only what is recorded passes")
        logger.warning("a request passes that is not recorded: %s", why)
        return WARNING, f"not recorded: {why}".encode()


class _Prepared(NamedTuple):
    """A request as it is sent: its body, what records the answer, and what is added to that."""

    body: bytes | AsyncIterator[bytes]
    recorder: AnswerRecorder | None = None
    added: tuple[Header, ...] = ()


class Call:
    """One request of a tenant's, to one provider."""

    def __init__(
        self,
        tenant: Tenant,
        actor: str | None,
        upstream: Upstream,
        address: Address,
        scope: Scope,
        body: RequestBody,
        policy: Policy,
    ) -> None:
        """Read a request; Refusal where it is not one to be sent.

        `actor` is who acts where its headers do not say so.
        """
        if has_odd_segment(address.path):
            raise Refusal(400, "the path may be read as another one: write it without dots")
        if scope["method"] in _HOP_METHODS:
            raise Refusal(405, "the method is for whoever is next, and no provider's")
        self._own = by_name(scope["headers"])
        if "upgrade" in self._own:
            raise upgrade_refused()
        self._tenant = tenant
        self._actor = actor
        self._upstream = upstream
        self._address = address
        self._policy = policy
        self._body = body
        self._headers = passed_on(scope["headers"])
        must_have_no_key_of_ours(self._headers, address.query)
        self._is_signed = is_signed(self._headers)
        if self._is_signed and policy.signer is None:
            raise unsigned()
        passed = {name: self._own[name] for name in (name.lower() for name, _ in self._headers)}
        path = f"/{address.path}"
        target = f"{path}?{address.query}" if address.query else path
        self._sending = Sending(scope["method"], target, passed)

    async def answered(self, session: aiohttp.ClientSession, send: Send) -> None:
        """Send the request and hand its answer on, as long as the program is there."""
        await _while_there(self._sent(session, send), self._body.gone())

    async def _sent(self, session: aiohttp.ClientSession, send: Send) -> None:
        body, recorder, added = await self._prepared()
        sending = self._sending
        length = None if isinstance(body, bytes) else self._own.get("content-length")
        outbound = Outbound(
            self._upstream, sending.method, sending.target, self._headers, body, length
        )
        try:
            outbound = await self._signed(outbound)
        except BaseException as exc:
            if recorder is not None:
                await done(partial(recorder.fail, exc))
            raise
        await exchange(session, outbound, recorder, send, added)

    async def _signed(self, outbound: Outbound) -> Outbound:
        """Return a request as AWS takes it, if its program signed it."""
        signer = self._policy.signer
        if signer is None or not self._is_signed:
            return outbound
        body = outbound.body if isinstance(outbound.body, bytes) else await self._held()
        sign = partial(signer.signed, outbound.method, str(outbound.url), outbound.headers, body)
        return replace(outbound, headers=await result_of(sign), body=body, length=None)

    async def _held(self) -> bytes:
        body = await self._body.hold(self._policy.longest)
        if body is None:
            raise Refusal(413, "the request is too long to be signed anew")
        return body

    async def _prepared(self) -> _Prepared:
        """Record what is to be recorded before the request is sent."""
        sending = self._sending
        if not (sending.is_recorded and self._upstream.speaks(sending.purpose.api)):
            why = why_unrecorded(sending)
            return self._passing(() if why is None else (self._policy.warning(why),))
        if sending.kind == "upload" and not begins_batch(
            sending.headers, await self._body.head(_FORM_HEAD)
        ):
            return self._passing()
        body = await self._body.hold(self._policy.longest)
        if body is None:
            why = f"the request is longer than {self._policy.longest} bytes"
            return self._passing((self._policy.warning(why, 413),))
        read = unpacked(body, sending.headers.get("content-encoding"), self._policy.longest)
        if read is None:
            return _Prepared(body, None, (self._policy.warning("its coding is not known", 400),))
        if read is not body:
            self._body.count(len(body) + len(read))
        if await result_of(partial(has_more_values, read, _MOST_VALUES)):
            why = f"the request has more than {_MOST_VALUES:,} values"
            return _Prepared(body, None, (self._policy.warning(why, 413),))
        try:
            return _Prepared(body, await self._opened(read))
        except (InvalidContent, MalformedJson):
            why = "the body is no request of the API that its path names"
            return _Prepared(body, None, (self._policy.warning(why, 400),))

    def _passing(self, added: tuple[Header, ...] = ()) -> _Prepared:
        return _Prepared(self._pieces(), None, added)

    def _pieces(self) -> bytes | AsyncIterator[bytes]:
        has_body = {"content-length", "transfer-encoding"} & self._own.keys()
        return self._body.pieces() if has_body else b""

    async def _opened(self, body: bytes) -> AnswerRecorder | None:
        """Return what records the answer, the request being durable; Refusal where it is not.

        InvalidContent or MalformedJson where the body is none that can be recorded.
        """
        tenant, own = self._tenant, self._own

        def attempt() -> AnswerRecorder | None:
            caller = tenant.attribution(own, self._actor)
            return tenant.attempt(self._address, own, self._sending, body, caller)

        try:
            return await opened(attempt)
        except InvalidInput as exc:
            raise Refusal(400, str(exc)) from exc
        except NotRecorded as exc:
            cause = exc.__cause__
            if isinstance(cause, (InvalidContent, MalformedJson)):
                raise cause from exc
            if isinstance(cause, (ConversationClosed, ConversationForgotten, InvalidInput)):
                raise Refusal(400, str(cause)) from exc
            logger.exception("a request could not be recorded, and was not sent")
            why = "the request was not sent, for it could not be recorded first: try again"
            raise Refusal(503, why, AGAIN) from exc


async def _while_there(work: Awaitable[None], gone: Awaitable[None]) -> None:
    """Do work until somebody is gone; whoever is cancelled amid it waits for its end."""
    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(gone)
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.wait((working, watching))
    if not working.cancelled():
        working.result()
