"""The gateway put together: a store, its keys, the table of routes, and the server."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from uuid import UUID

from starlette.types import ASGIApp

from onrecord.adapters.gateway.mcp_reads import AgentReads
from onrecord.adapters.gateway.mcp_route import mcp_route
from onrecord.adapters.gateway.mounted_proxy import PATH, ProxyDoor
from onrecord.adapters.gateway.page_table import page_routes
from onrecord.adapters.gateway.server import Address, serve
from onrecord.adapters.page.proof.verification import Verifications
from onrecord.adapters.page.visitors.issuer_sign_in import IssuerSignIn
from onrecord.adapters.page.visitors.sessions import Sessions
from onrecord.adapters.page.visitors.visitors import Visitors
from onrecord.adapters.proxy.call import Unrecorded
from onrecord.adapters.proxy.proxy import Proxy
from onrecord.adapters.proxy.signing import Signer
from onrecord.adapters.proxy.upstreams import BUILT_IN, Upstream
from onrecord.adapters.service.access import Keyring
from onrecord.adapters.service.application import Service, application
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.service.doors import Door
from onrecord.adapters.service.hub import Hub
from onrecord.adapters.service.keyring import LogKeyring
from onrecord.adapters.service.metrics import ServiceMetrics
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.routes.table import ROUTES
from onrecord.adapters.service.tails import Tails
from onrecord.adapters.service.tenants import Tenants
from onrecord.adapters.store import Store, backend_of


def service_of(
    store: Store,
    open_store: Callable[[UUID], Store],
    *,
    keyring: Keyring | None = None,
    hosts: Collection[str] = (),
    limits: Limits | None = None,
) -> Service:
    """Return what the routes are answered with: `open_store` makes the stores of other tenants.

    Keys are those of the log, where no other keyring is given.
    """
    tenants, bounds = Tenants(store, open_store), limits or Limits()
    door = Door(keyring or LogKeyring(tenants.backend), tenants.steps, tenants.tenant, hosts)
    hub = Hub(tenants.backend, tenants.steps)
    tails = Tails(hub, Quota(bounds.tails), bounds.tail_seconds)
    requests = Quota(bounds.open_requests)
    bodies = Quota(bounds.bodies)
    metrics = ServiceMetrics(requests, tails.open_tails, bodies)
    return Service(tenants, door, bounds, requests, bodies, tails, metrics)


@dataclass(frozen=True, slots=True)
class Proxying:
    """Which providers the proxy reaches, and what becomes of requests that it cannot record.

    The signer signs for AWS what programs signed for the proxy's own address.
    """

    upstreams: Mapping[str, Upstream] = field(default_factory=lambda: BUILT_IN)
    unrecorded: Unrecorded = "pass"
    signer: Signer | None = None


def gateway_app(
    service: Service,
    proxying: Proxying | None = None,
    sessions: Sessions | None = None,
    issuer: IssuerSignIn | None = None,
) -> ASGIApp:
    """Return the application that has all routes, the page, MCP, and the recording proxy beside them.

    People sign in to the page by a key, and by an issuer where there is one: then this machine needs a key, too.
    """
    chosen = proxying or Proxying()
    proxy = Proxy(
        ProxyDoor(service), chosen.upstreams, unrecorded=chosen.unrecorded, signer=chosen.signer
    )
    if issuer is not None:
        # A proxy on this machine may hand on a stranger as if a program of this machine asked.
        service.door.require_keys()
    visitors = Visitors(service.door, sessions or Sessions())
    verifications = Verifications()
    routes = (
        *ROUTES,
        mcp_route(service, AgentReads(verifications.under_way)),
        *page_routes(visitors, verifications, issuer),
    )
    return application(service, routes, {PATH: proxy}, closes=proxy.close)


def serve_store(
    store: Store,
    open_store: Callable[[UUID], Store],
    address: Address,
    *,
    hosts: Collection[str] = (),
    access_log: bool = False,
    proxying: Proxying | None = None,
    without_keys: bool = False,
    issuer: IssuerSignIn | None = None,
    started: Callable[[Address], None],
) -> None:
    """Serve a store at an address until the process is told to end, and close it in any case.

    InvalidInput where its keys cannot be seen: `without_keys` answers programs of this machine then.
    """
    with closing(store):
        keyring = LogKeyring(backend_of(store), without_keys=without_keys)
        keyring.must_show_keys()
        service = service_of(store, open_store, keyring=keyring, hosts=hosts)
        app = gateway_app(service, proxying, issuer=issuer)
        serve(app, address, access_log=access_log, started=started, ending=service.end)
