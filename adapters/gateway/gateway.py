"""The gateway put together: a store, its keys, the table of routes, and the server."""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

from starlette.types import ASGIApp

from onrecord.adapters.gateway.server import Address, serve
from onrecord.adapters.service.access import Keyring, NoKeys
from onrecord.adapters.service.application import OpenRequests, Service, application
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.service.doors import Door
from onrecord.adapters.service.routes.table import ROUTES
from onrecord.adapters.service.tenants import Tenants
from onrecord.adapters.store import Store


def service_of(
    store: Store,
    open_store: Callable[[UUID], Store],
    *,
    keyring: Keyring | None = None,
    hosts: Collection[str] = (),
    limits: Limits | None = None,
) -> Service:
    """Return what the routes are answered with: `open_store` makes the stores of other tenants."""
    tenants, bounds = Tenants(store, open_store), limits or Limits()
    door = Door(keyring or NoKeys(), tenants.steps, tenants.tenant, hosts)
    return Service(tenants, door, bounds, OpenRequests(bounds.open_requests))


def service_app(service: Service) -> ASGIApp:
    """Return the application that has all routes."""
    return application(service, ROUTES)


def serve_store(
    store: Store,
    open_store: Callable[[UUID], Store],
    address: Address,
    *,
    hosts: Collection[str] = (),
    access_log: bool = False,
    started: Callable[[Address], None],
) -> None:
    """Serve a store at an address until the process is told to end, then close it."""
    service = service_of(store, open_store, hosts=hosts)
    app = service_app(service)
    serve(app, address, access_log=access_log, started=started, ending=lambda: None)
