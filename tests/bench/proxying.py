"""What the recording proxy costs until the first byte, beside the same call recorded in process.

`python -m tests.bench.proxying` prints a JSON line a measure. The provider is a server of its own on
this machine, which streams; the proxy is the gateway in a process of its own; both stores are SQLite,
on the disk of the folder for temporary files. Where `litellm` is on the PATH, in an
environment of its own, its proxy is asked as well, which records nothing (`pip install
'litellm[proxy]'`).

A bare hop of the same server and the same client, which records nothing either, tells how much of
that is the price of any proxy.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from urllib.request import urlopen

import aiohttp
import uvicorn
from multidict import CIMultiDict

from onrecord.adapters.app import connect, connect_tenants
from onrecord.adapters.gateway.bounded_http import BoundedHttp
from onrecord.adapters.gateway.gateway import Proxying, gateway_app, service_of
from onrecord.adapters.proxy.asgi import Receive, Scope, Send
from onrecord.adapters.proxy.exchange import new_session
from onrecord.adapters.proxy.headers import handed_back, passed_on
from onrecord.adapters.proxy.upstreams import BUILT_IN
from tests.bench.children import start
from tests.bench.measure import Aim, Contender, Figures, Measure, Pace, Work, take_turns
from tests.bench.payload import API, text
from tests.bench.streams import streamed
from tests.patience import until

if TYPE_CHECKING:
    import anthropic

_DELTAS: Final = 40
_SAID: Final = 20 * 1024
_PACE: Final = Pace(rounds=20, each=10)

_UNLOCKED: Final = "general_settings: {dangerously_permit_weak_or_unset_master_key: true}\n"
"""With a key of its own, the other proxy would look that up for each call."""

NOTHING: Final = "nothing is recorded"

Call = Callable[[], float]
"""Makes a call, and returns how many seconds passed until its first byte."""


def main() -> None:
    """Print all measures."""
    with tempfile.TemporaryDirectory() as folder:
        for measure in measures(Path(folder), _PACE, shutil.which("litellm")):
            print(json.dumps(measure.line()), flush=True)


def measures(folder: Path, pace: Pace, litellm: str | None = None) -> Iterator[Measure]:
    """Yield what the proxy costs, beside a recorded client, and beside another proxy."""
    with ExitStack() as stack:
        provider = start(stack, _serve_provider).recv()
        gateway = start(stack, _serve_gateway, folder / "proxied.db", provider).recv()
        hop = start(stack, _serve_hop, provider).recv()
        contenders = [
            _contender("through the proxy", _through(stack, f"{gateway}/proxy/local/anthropic")),
            _contender("recorded in process", _recorded(stack, folder / "own.db", provider)),
            _contender("through a bare hop", _through(stack, hop), NOTHING),
            _contender("without a proxy", _through(stack, provider), NOTHING),
        ]
        if litellm is not None:
            other = _served_by_litellm(stack, litellm, folder, provider)
            other_call = _through(stack, other)
            contenders.append(_contender("through litellm", other_call, NOTHING))
        ours, peer, bare, direct, *others = take_turns(contenders, pace)
        note = f"{_SAID} bytes there, {_DELTAS} deltas back"
        yield Measure("proxy.first_byte", "ms", ours, peer, note=note)
        over = _over(ours, peer, "through the proxy less in process")
        yield Measure("proxy.first_byte.over", "ms", over, aim=Aim(1))
        price = _over(bare, direct, "through a bare hop less without a proxy")
        yield Measure("proxy.first_byte.hop", "ms", price, note=NOTHING)
        for figures in others:
            yield Measure("proxy.first_byte.litellm", "ms", ours, figures, Aim(1))


def _over(ours: Figures, peer: Figures, what: str) -> Figures:
    """Return what one side takes longer than the other, call by call."""
    rounds = [
        [mine - theirs for mine, theirs in zip(sorted(own), sorted(other), strict=True)]
        for own, other in zip(ours.rounds, peer.rounds, strict=True)
    ]
    return Figures(what, "", rounds)


def _contender(what: str, call: Call, promises: str = "the prompt is durable") -> Contender:
    return Contender(what, promises, lambda _: call, _told)


def _told(work: Work) -> float:
    seconds: float = work()
    return seconds


# The calls.


def _through(stack: ExitStack, base_url: str) -> Call:
    """Return a call by a plain client, whose base URL alone says who else hears it."""
    client = _client(stack, base_url)
    return lambda: _first_byte(client)


def _recorded(stack: ExitStack, path: Path, provider: str) -> Call:
    store = stack.enter_context(connect(f"sqlite:///{path}"))
    recorded = store.record(_client(stack, provider))
    return lambda: _first_byte(recorded)


def _client(stack: ExitStack, base_url: str) -> anthropic.Anthropic:
    import anthropic  # The servers, which import this module as well, need none.

    return stack.enter_context(anthropic.Anthropic(api_key="bench", base_url=base_url))


_NUMBERS: Final = itertools.count()


def _first_byte(client: anthropic.Anthropic) -> float:
    """Have a new program say 20 KB; the rest of the answer is read when the clock has stopped."""
    said = f"{next(_NUMBERS)} {(text() * (_SAID // len(text()) + 1))[:_SAID]}"
    create: Any = client.messages.with_streaming_response.create
    messages = [{"role": "user", "content": said}]
    began = perf_counter()
    with create(model="m", max_tokens=9, messages=messages, stream=True) as response:
        pieces = response.http_response.iter_raw()
        next(pieces)
        taken = perf_counter() - began
        for _ in pieces:
            pass
    return taken


# The servers.


async def _provider(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] == "http"
    while (await receive()).get("more_body"):
        continue
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for event in streamed(API, _DELTAS):
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _serve_provider(pipe: Connection) -> None:
    _serve(_provider, pipe, lifespan="off")


def _serve_gateway(path: Path, provider: str, pipe: Connection) -> None:
    table = {"anthropic": replace(BUILT_IN["anthropic"], url=provider)}
    store, open_store = connect_tenants(f"sqlite:///{path}")
    _serve(gateway_app(service_of(store, open_store), Proxying(table)), pipe, http=BoundedHttp)


class _Hop:
    """Hands requests on, and answers back as they come, and does nothing else."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            if self._session is not None:
                await self._session.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        session = self._session = self._session or new_session()
        body, is_more = b"", True
        while is_more:
            message = await receive()
            body += message.get("body", b"")
            is_more = message.get("more_body", False)
        headers, url = CIMultiDict(passed_on(scope["headers"])), self._url + scope["path"]
        async with session.request(scope["method"], url, headers=headers, data=body) as response:
            kept = handed_back(response.raw_headers)
            await send({"type": "http.response.start", "status": response.status, "headers": kept})
            async for piece in response.content.iter_any():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def _serve_hop(provider: str, pipe: Connection) -> None:
    _serve(_Hop(provider), pipe, http=BoundedHttp)


def _serve(app: Any, pipe: Connection, **options: Any) -> None:
    """Serve an application until the pipe says that it is over; tell it where."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_level="error", access_log=False, **options)
        server = uvicorn.Server(config)

        def end() -> None:
            with suppress(EOFError):
                pipe.recv()
            server.should_exit = True

        threading.Thread(target=end, daemon=True).start()
        pipe.send(f"http://127.0.0.1:{listening.getsockname()[1]}")
        server.run([listening])


def _served_by_litellm(stack: ExitStack, litellm: str, folder: Path, provider: str) -> str:
    """Start the other proxy, and return the base URL that a program takes there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "litellm.yaml"
    config.write_text(_UNLOCKED, encoding="utf-8")
    process = subprocess.Popen(
        [litellm, "--host", "127.0.0.1", "--port", str(port), "--config", config],
        cwd=folder,
        env={
            **os.environ,
            "ANTHROPIC_API_BASE": provider,
            "ANTHROPIC_API_KEY": "bench",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    until(lambda: process.poll() is not None or _answers(port), "litellm")
    if process.poll() is not None:
        raise RuntimeError("litellm did not start")
    return f"http://127.0.0.1:{port}/anthropic"


def _answers(port: int) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=5):
        return True
    return False


if __name__ == "__main__":
    main()
