"""What the recording proxy costs until the first byte, beside the same call recorded in process.

`python -m tests.bench.proxying` prints a JSON line a measure. The provider is a server of its own on
this machine, which streams; the proxy is the gateway in a process of its own; both stores are SQLite,
on the disk of the folder for temporary files. Where `litellm` is on the PATH, in an
environment of its own, its proxy is asked as well, which records nothing (`pip install
'litellm[proxy]'`).
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

import uvicorn

from onrecord.adapters.app import connect, connect_tenants
from onrecord.adapters.gateway.gateway import Proxying, gateway_app, service_of
from onrecord.adapters.proxy.asgi import Receive, Scope, Send
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
        contenders = [
            _contender("through the proxy", _through(stack, f"{gateway}/proxy/local/anthropic")),
            _contender("recorded in process", _recorded(stack, folder / "own.db", provider)),
        ]
        if litellm is not None:
            other = _served_by_litellm(stack, litellm, folder, provider)
            other_call = _through(stack, other)
            contenders.append(_contender("through litellm", other_call, "nothing is recorded"))
        ours, peer, *others = take_turns(contenders, pace)
        note = f"{_SAID} bytes there, {_DELTAS} deltas back"
        yield Measure("proxy.first_byte", "ms", ours, peer, note=note)
        yield Measure("proxy.first_byte.over", "ms", _over(ours, peer), aim=Aim(1))
        for figures in others:
            yield Measure("proxy.first_byte.litellm", "ms", ours, figures, Aim(1))


def _over(ours: Figures, peer: Figures) -> Figures:
    """Return what one side takes longer than the other, call by call."""
    rounds = [
        [mine - theirs for mine, theirs in zip(sorted(own), sorted(other), strict=True)]
        for own, other in zip(ours.rounds, peer.rounds, strict=True)
    ]
    return Figures("through the proxy less in process", "", rounds)


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
    _serve(gateway_app(service_of(store, open_store), Proxying(table)), pipe)


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
