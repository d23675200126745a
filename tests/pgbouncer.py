"""A PgBouncer in transaction mode before a test server, where one is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg

from tests.patience import PATIENCE

PROGRAM: Final = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

_SETTINGS: Final = """
[databases]
* = {target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
"""


@contextmanager
def pooler(url: str, size: int) -> Generator[str]:
    """The same database by way of a pooler that has so many connections to it."""
    assert PROGRAM is not None
    with tempfile.TemporaryDirectory(prefix="onrecord-pgbouncer-") as folder:
        port = _free_port()
        settings = Path(folder) / "pgbouncer.ini"
        text = _SETTINGS.format(target=_target(url), port=port, size=size)
        settings.write_text(text, encoding="utf-8")
        Path(folder).chmod(0o755)
        process = subprocess.Popen(
            [PROGRAM, "-q", str(settings)],
            user=_not_root(url),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            database = urlsplit(url).path
            pooled = f"postgresql://{_user(url)}@127.0.0.1:{port}{database}"
            _wait_for(pooled, process)
            yield pooled
        finally:
            process.kill()
            process.wait(PATIENCE)


def _not_root(url: str) -> str | None:
    """The user that it runs as, for it refuses to be root: who owns the server's socket."""
    if os.geteuid() != 0:
        return None
    host = _host(url)
    return Path(host).owner() if host.startswith("/") else "nobody"


def _host(url: str) -> str:
    parts = urlsplit(url)
    return parse_qs(parts.query).get("host", [parts.hostname or "localhost"])[0]


def _target(url: str) -> str:
    parts = urlsplit(url)
    password = f" password={unquote(parts.password)}" if parts.password else ""
    return f"host={_host(url)} port={parts.port or 5432} user={_user(url)}{password}"


def _user(url: str) -> str:
    return unquote(urlsplit(url).username or "postgres")


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
        return port


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "PgBouncer ended at once"
        with suppress(psycopg.OperationalError):
            psycopg.connect(url, connect_timeout=5).close()
            return
        time.sleep(0.02)
    raise AssertionError("PgBouncer did not come up")
