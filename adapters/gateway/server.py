"""The server: uvicorn, on one address, until it is told to end."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from onrecord.adapters.gateway.bounded_http import BoundedHttp
from onrecord.domain.errors import InvalidInput

_LINGERS: Final = 30
"""How many seconds the answers that are under way have, once the server is told to end."""

_LOOK: Final = 0.05

_BACKLOG: Final = 2048
"""How many connections may wait to be taken."""

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens; port 0 is any that is free."""

    host: str
    port: int


def serve(
    app: ASGIApp,
    address: Address,
    *,
    access_log: bool = False,
    started: Callable[[Address], None],
    ending: Callable[[], None],
) -> None:
    """Serve an application until SIGINT or SIGTERM; answers that are under way are finished.

    The program's own loggers take its lines; `access_log` has one for each request. `started` is told
    where it listens. `ending` is called when it is told to end: what would be answered for ever has to
    stop then. InvalidInput where nobody can listen at the address.
    """
    config = config_of(app, access_log=access_log)
    server = uvicorn.Server(config)
    loops = asyncio.Runner(loop_factory=config.get_loop_factory())
    with _early_signals() as early, _listening(address) as listening, loops as runner:
        runner.run(_served(server, listening, early, lambda: started(_address(listening)), ending))


def config_of(app: ASGIApp, *, access_log: bool = False) -> uvicorn.Config:
    """Return how uvicorn serves an application.

    It takes no header's word for where a request comes from: the door decides by what it sees.
    """
    return uvicorn.Config(
        app,
        http=BoundedHttp,
        log_config=None,
        access_log=access_log,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_LINGERS,
    )


def _listening(address: Address) -> socket.socket:
    """Return the socket that listens at an address; InvalidInput where it cannot."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        where = f"{address.host}:{address.port}"
        raise InvalidInput(f"nobody can listen at {where}: {error.strerror}") from error


def _address(listening: socket.socket) -> Address:
    host, port = listening.getsockname()[:2]
    return Address(host, port)


@contextmanager
def _early_signals() -> Generator[list[int]]:
    """Lend the list of the signals that came before the server took them over, or after it ended.

    uvicorn raises those that it took once more when it has ended, as if they had ended the process
    badly. To be told to end is how this program ends well.
    """
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        del frame
        heard.append(number)

    before = {number: signal.signal(number, hear) for number in _ENDING}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def _served(
    server: uvicorn.Server,
    listening: socket.socket,
    early: Sequence[int],
    started: Callable[[], None],
    ending: Callable[[], None],
) -> None:
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    while not (server.started or serving.done()):
        await asyncio.sleep(_LOOK)
    if server.started:
        started()
    while not (server.should_exit or serving.done()):
        if early:
            server.should_exit = True
        await asyncio.sleep(_LOOK)
    ending()
    await serving
