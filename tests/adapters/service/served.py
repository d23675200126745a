"""A service that answers on a port of its own, in a thread of the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import urllib3
import uvicorn
from starlette.types import ASGIApp
from urllib3.util import Timeout

from onrecord.adapters.app import connect_tenants
from onrecord.adapters.gateway.gateway import Proxying, gateway_app, service_of
from onrecord.adapters.gateway.server import config_of
from onrecord.adapters.page.visitors.issuer_sign_in import IssuerSignIn
from onrecord.adapters.page.visitors.sessions import Sessions
from onrecord.adapters.service.access import Keyring
from onrecord.adapters.service.application import Service
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.service.route import Route
from tests.patience import PATIENCE


@dataclass(frozen=True)
class Served:
    """Where a service answers."""

    url: str
    pool: urllib3.PoolManager
    service: Service
    loop: asyncio.AbstractEventLoop

    def end(self) -> None:
        """Tell the service that the server is ending."""
        self.loop.call_soon_threadsafe(self.service.end)

    def ask(
        self,
        method: str,
        path: str,
        json: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """Return the answer to a request; nothing is repeated, and no redirect is followed."""
        sent = dict(headers or {})
        if key is not None:
            sent["authorization"] = f"Bearer {key}"
        given = {} if json is None else {"json": json}
        return self.pool.request(
            method,
            self.url + path,
            headers=sent,
            body=body,
            retries=False,
            redirect=False,
            timeout=Timeout(PATIENCE),
            **given,
        )


@contextmanager
def served(
    url: str = "memory://",
    *,
    keyring: Keyring | None = None,
    hosts: tuple[str, ...] = (),
    limits: Limits | None = None,
    proxying: Proxying | None = None,
    sessions: Sessions | None = None,
    issuer: IssuerSignIn | None = None,
) -> Generator[Served]:
    """Serve the store at an URL; it is closed in the end."""
    store, open_store = connect_tenants(url)
    service = service_of(store, open_store, keyring=keyring, hosts=hosts, limits=limits)
    app = gateway_app(service, proxying, sessions, issuer)
    with running(app, ending=service.end) as (place, loop), urllib3.PoolManager() as pool:
        yield Served(place, pool, service, loop)


@contextmanager
def running(
    app: ASGIApp, ending: Callable[[], None] | None = None
) -> Generator[tuple[str, asyncio.AbstractEventLoop]]:
    """Run an application in a thread: where it answers, and its loop, in which `ending` is called."""
    config = config_of(app)
    config.host, config.port = "127.0.0.1", 0
    server = uvicorn.Server(config)
    started = threading.Event()
    loops = list[asyncio.AbstractEventLoop]()

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        serving = asyncio.ensure_future(server.serve())
        while not (server.started or serving.done()):
            await asyncio.sleep(0.01)
        started.set()
        await serving

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        assert started.wait(PATIENCE)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}", loops[0]
    finally:
        if ending is not None and loops and not loops[0].is_closed():
            loops[0].call_soon_threadsafe(ending)
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def path_of(route: Route[Any, Any], **parameters: str) -> str:
    """A path of a route, with a value that is allowed for each of its parameters."""
    values = {
        "key": "a",
        "version": "1",
        "call_id": "c1",
        "api": "openai-chat",
        "sha256": "0" * 64,
        "conversation_id": f"{1:032x}",
        "problem": "invalid-input",
    }
    return route.path.format(**(values | parameters))
