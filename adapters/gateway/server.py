"""The server: uvicorn, on one address, until it is told to end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import uvicorn
from starlette.types import ASGIApp

_LINGERS: Final = 30
"""How many seconds the answers that are under way have, once the server is told to end."""

_LOOK: Final = 0.05


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens; port 0 is any that is free."""

    host: str
    port: int


def serve(
    app: ASGIApp,
    address: Address,
    *,
    started: Callable[[Address], None],
    ending: Callable[[], None],
) -> None:
    """Serve an application until SIGINT or SIGTERM; answers that are under way are finished.

    `started` is told where it listens. `ending` is called when it is told to end: what would be
    answered for ever has to stop then.
    """
    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_LINGERS,
        backlog=2048,
    )
    server = uvicorn.Server(config)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_served(server, started, ending))


async def _served(
    server: uvicorn.Server, started: Callable[[Address], None], ending: Callable[[], None]
) -> None:
    serving = asyncio.ensure_future(server.serve())
    while not (server.started or serving.done()):
        await asyncio.sleep(_LOOK)
    if server.started:
        host, port = server.servers[0].sockets[0].getsockname()[:2]
        started(Address(host, port))
    while not (server.should_exit or serving.done()):
        await asyncio.sleep(_LOOK)
    ending()
    await serving
