"""Who may come in: keys, where the request comes from, and by which name it calls the service."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from typing import Final
from uuid import UUID

from starlette.requests import Request

from onrecord.adapters.service.access import Access, Keyring
from onrecord.adapters.service.problems import (
    FORBIDDEN,
    MALFORMED,
    UNAUTHENTICATED,
    WRONG_HOST,
    Problem,
)
from onrecord.adapters.storage.steps import Steps
from onrecord.domain.marks.marked_ids import is_marked

TENANT: Final = "onrecord-tenant"
"""The header by which a key for all tenants names one."""

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_OF_PAGES: Final = ("origin", "sec-fetch-site")
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Door:
    """Looks at each request before anything else does.

    As long as no key was ever issued, programs of this machine need none: they come from a loopback
    address, call the service by a loopback name, so that no web page reaches it by a name of its own
    (DNS rebinding), nobody forwarded them, and no page of another origin sent them. From the first key
    on, or where keys are required, each request needs one.
    """

    def __init__(
        self, keyring: Keyring, steps: Steps, tenant: UUID, hosts: Collection[str] = ()
    ) -> None:
        """Look into a keyring; `hosts` are the names that the service is called by, none for any."""
        self._keyring = keyring
        self._steps = steps
        self._tenant = tenant
        self._hosts = frozenset(host.lower() for host in hosts)
        self._is_keyed = False

    async def access(self, request: Request) -> Access:
        """Return what whoever asks may do; Problem where that is nothing."""
        return await self.access_by(_token(request), request)

    async def access_by(self, token: str | None, request: Request) -> Access:
        """Return what a token gives to whoever asks; Problem where that is nothing.

        None is for whoever has none, and comes from this machine.
        """
        self.must_name_this_host(request)
        if token is None:
            await self._must_be_open(request)
            return Access(self._tenant, "operate", "this machine")
        access = await self._steps.run(lambda: self._keyring.access(token))
        if access is None:
            raise Problem(UNAUTHENTICATED, "the key is unknown, expired or revoked")
        return access

    def must_name_this_host(self, request: Request) -> None:
        """Raise Problem where the Host is none that the service has; there must be exactly one."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1:
            raise Problem(MALFORMED, "a request names one Host")
        name = _without_port(hosts[0].lower())
        if self._hosts and name not in self._hosts | _LOOPBACK_NAMES:
            raise Problem(WRONG_HOST, "start it with --allow-host and this name")

    def require_keys(self) -> None:
        """Let nobody in without a key from now on, whether one was issued or not."""
        self._is_keyed = True

    async def record_uses(self) -> None:
        """Record which keys were used since the last time: beside the requests, which need not wait."""
        await self._steps.run(self._keyring.record_uses)

    def tenant(self, request: Request, access: Access) -> UUID:
        """Return the tenant that a request is for; Problem where the key is not for it."""
        named = request.headers.get(TENANT)
        if named is None:
            return access.tenant
        try:
            tenant = UUID(named)
        except ValueError:
            raise Problem(MALFORMED, f"{TENANT} is no UUID") from None
        # What operators did is told in a tenant of its own, which no key is for.
        if is_marked(tenant) or (tenant != access.tenant and not access.all_tenants):
            raise Problem(FORBIDDEN, "the key is for one tenant, and not for that one")
        return tenant

    def must_be_of_no_other_page(self, request: Request) -> None:
        """Raise where a web page asks that is not the service's own, by whatever name it calls it.

        A stranger's page may have its own name lead here (DNS rebinding): then Host and Origin are alike.
        """
        if not any(name in request.headers for name in _OF_PAGES):
            return
        is_known = _without_port(request.headers["host"].lower()) in self._hosts | _LOOPBACK_NAMES
        if not is_known or _has_other_origin(request) or is_of_another_page(request):
            raise Problem(FORBIDDEN, "a web page asks that is not the service's own")

    async def is_open_to(self, request: Request) -> bool:
        """Return whether whoever asks needs no key: a program of this machine, until one is issued."""
        return _is_local(request) and not await self._needs_key()

    async def _must_be_open(self, request: Request) -> None:
        if await self.is_open_to(request):
            return
        raise Problem(
            UNAUTHENTICATED,
            "send Authorization: Bearer with a key: `onrecord keys issue` makes one",
        )

    async def _needs_key(self) -> bool:
        # A key that was issued once is never not issued: it need not be looked for again.
        self._is_keyed = self._is_keyed or await self._steps.run(self._keyring.is_used)
        return self._is_keyed


def _token(request: Request) -> str | None:
    given = request.headers.getlist("authorization")
    if not given:
        return None
    scheme, _, token = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise Problem(UNAUTHENTICATED, "Authorization is `Bearer` and one key")
    return token.strip()


def _is_local(request: Request) -> bool:
    """Whether a program of this machine asks, by a name of this machine, and forwards nobody."""
    client = request.client
    if client is None or any(name in request.headers for name in _FORWARDED):
        return False
    if is_of_another_page(request):
        return False
    try:
        is_near = ip_address(client.host).is_loopback
    except ValueError:
        return False
    return is_near and is_called_loopback(request)


def is_called_loopback(request: Request) -> bool:
    """Return whether the service is called by a loopback name, such as localhost."""
    return _without_port(request.headers.get("host", "").lower()) in _LOOPBACK_NAMES


def is_of_another_page(request: Request) -> bool:
    """Return whether a browser asks for a page that is not the service's own.

    A page may send what it likes to a loopback address, and only cannot read the answer. Browsers say
    where a request comes from (Fetch Metadata, 2.1; RFC 6454, 7); programs say nothing.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("none", "same-origin")
    return _has_other_origin(request)


def _has_other_origin(request: Request) -> bool:
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] != request.headers["host"]


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
