"""Stores over HTTP for the contract suite: one server in a thread, and a service of each place.

A server takes longer to begin and to end than most tests take: so there is one of them for a run, and
the path of a URL tells which service is asked.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from uuid import UUID

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from onrecord.adapters.app import connect_tenants
from onrecord.adapters.gateway.gateway import gateway_app, service_of
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.application import Service
from onrecord.adapters.storage.http.http import Http, open_http
from onrecord.domain.inventory import Inventory
from tests.patience import PATIENCE, until

KEY = "ork_contract"


class KeyForAll:
    """A keyring of one key: it operates all tenants, as the suite does."""

    def access(self, token: str) -> Access | None:
        if token != KEY:
            return None
        return Access(UUID(int=0), "operate", "contract", UUID(int=1), all_tenants=True)

    def is_used(self) -> bool:
        return True

    def record_uses(self) -> int:
        return 0


class Server:
    """A server whose services come and go with the tests."""

    def __init__(self) -> None:
        self._names = count(1)
        self._apps: dict[str, ASGIApp] = {}
        self._services: dict[str, Service] = {}
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            host="127.0.0.1",
            port=0,
            log_config=None,
            access_log=False,
            lifespan="off",
        )
        self._server = uvicorn.Server(config)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        until(lambda: self._server.started, "the server")
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def serve(self, url: str) -> str:
        """The URL of a service that serves a store."""
        name = f"/place-{next(self._names)}"
        service = service_of(*connect_tenants(url), keyring=KeyForAll())
        self._services[name], self._apps[name] = service, gateway_app(service)
        return self.url + name

    def inventory(self, url: str) -> Inventory:
        """All that the store of a service has."""
        return self._services[url.removeprefix(self.url)].tenants.backend.inventory()

    def end(self, url: str) -> None:
        """Close the store of a service."""
        name = url.removeprefix(self.url)
        del self._apps[name]
        closing = self._services.pop(name).tenants.close()
        asyncio.run_coroutine_threadsafe(closing, self._loop).result(PATIENCE)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        self._loop.run_until_complete(self._server.serve())
        self._loop.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, name, rest = scope["raw_path"].decode().split("/", 2)
        inner = {**scope, "raw_path": f"/{rest}".encode(), "path": f"/{rest}"}
        await self._apps[f"/{name}"](inner, receive, send)


@cache
def server() -> Server:
    """The server of this run."""
    begun = Server()
    atexit.register(begun.stop)
    return begun


class Client(Http):
    """A store over HTTP whose rows are verified where they are."""

    def inventory(self) -> Inventory:
        self._transport.must_be_open()
        return server().inventory(self.url)

    def is_encrypted(self) -> bool:
        """No service of these places has keys."""
        return False


@dataclass(frozen=True)
class HttpPlace:
    """A service that stays where it began, wherever the place is sent."""

    url: str

    def open(self) -> Http:
        opened = open_http(self.url, KEY)
        opened.__class__ = Client
        return opened

    def remove(self) -> None:
        server().end(self.url)


def _served_sqlite(folder: Path) -> HttpPlace:
    return HttpPlace(server().serve(f"sqlite:///{folder / 'log.db'}"))


HTTP_PLACES: dict[str, Callable[[Path], HttpPlace]] = {
    "http-sqlite": _served_sqlite,
}
