"""The proxy on a port of this machine, between a program and a provider that is faked."""

from __future__ import annotations

import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Thread
from types import MappingProxyType
from typing import Any

import uvicorn

from onrecord import Store
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.proxy.asgi import Receive, Scope, Send
from onrecord.adapters.proxy.proxy import Guest, Proxy
from onrecord.adapters.proxy.upstreams import BUILT_IN, Upstream
from tests.patience import join, until

KEY = "ork_canary_0123456789abcdef"
PROVIDER_KEY = "sk-ant-canary-0123456789"


class OneDoor:
    """Lets one key in, to one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def opened(self, token: str, scope: Scope) -> Guest | None:
        return Guest(self.store) if token == KEY else None


class Mounted:
    """An application that has the proxy at a path, and closes it when the server ends."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self.proxy({**scope, "root_path": "/proxy"}, receive, send)
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.proxy.close()
        await send({"type": "lifespan.shutdown.complete"})


@dataclass(frozen=True, slots=True)
class Proxied:
    """A proxy that runs, and the store that it records in."""

    origin: str
    store: Store
    key: str = KEY

    def base(self, provider: str, path: str = "") -> str:
        """The base URL that a program is given."""
        return f"{self.origin}/proxy/{self.key}/{provider}{path}"

    def only(self) -> Conversation:
        """The one conversation that there is."""
        (listed,) = self.store.conversations()
        return self.store.get(listed.conversation_id)

    def keys(self) -> list[str]:
        return sorted(listed.key or "" for listed in self.store.conversations())


@contextmanager
def served(app: Any, **options: Any) -> Generator[str]:
    """Run an application on a free port; yield its origin."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            **options,
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listening],), name="proxy")
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive(), "the server")
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            join(thread)


def at(url: str, *providers: str) -> Mapping[str, Upstream]:
    """The providers that are there, all at the URL of one server."""
    return {name: replace(BUILT_IN[name], url=url) for name in providers or BUILT_IN}


@contextmanager
def proxied(
    store: Store,
    upstreams: Mapping[str, Upstream],
    server: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Generator[Proxied]:
    """Run the proxy before providers; `server` are options of uvicorn's."""
    proxy = Proxy(OneDoor(store), upstreams, **options)
    with served(Mounted(proxy), **server) as origin:
        yield Proxied(origin, store)
