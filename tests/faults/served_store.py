"""`onrecord serve` as a process that is killed amid a request, and begun again at the same port."""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import randrange
from uuid import UUID

from onrecord.adapters.storage.http.http import Http, open_http
from onrecord.adapters.upkeep.keys import issue_key
from onrecord.domain.log import Backend
from tests.adapters.storage.http.cutting_proxy import CuttingProxy, cutting
from tests.patience import PATIENCE, kill, until

_IMPORTS = ["onrecord.adapters.cli.commands", "onrecord.adapters.gateway.gateway"]


def serve(url: str, port: int, errors: Path) -> None:
    """Be `onrecord serve`."""
    from onrecord.adapters.cli import main

    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.argv = ["onrecord", "--url", url, "serve", "--port", str(port)]
    main()


class Service:
    """A server that can be killed."""

    def __init__(self, url: str, folder: Path) -> None:
        # A fork of a process that has everything imported is there quickly.
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(_IMPORTS)
        self._store = url
        self._errors = folder / "errors"
        self._port = _own_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process = self._begun()
        until(self._answers, "the service")

    def kill(self) -> None:
        """Kill it, and begin it again: who asks meanwhile finds nobody."""
        kill(self._process)
        self._process = self._begun()

    def close(self) -> None:
        until(self._answers, "the service")
        kill(self._process)
        told = self._errors.read_text()
        assert "Traceback" not in told, told

    def _begun(self) -> BaseProcess:
        process = self._processes.Process(
            target=serve, args=(self._store, self._port, self._errors), daemon=True
        )
        process.start()
        return process

    def _answers(self) -> bool:
        assert self._process.is_alive(), self._errors.read_text()
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self._port)) == 0


def _own_port() -> int:
    """A port that no connection is given by the system while the service is away."""
    while True:
        port = randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@dataclass(frozen=True)
class ServedStore:
    """A store over HTTP whose service is killed where its proxy cuts; the key operates all tenants."""

    proxy: CuttingProxy
    log: Http
    key: str


@contextmanager
def served_store(log: Backend, url: str, folder: Path) -> Generator[ServedStore]:
    """Serve a log that is at an URL."""
    key = issue_key(log, UUID(int=0), "drill", actor="ops", role="operate", all_tenants=True)
    with (
        closing(Service(url, folder)) as service,
        cutting(service.url, service.kill) as proxy,
        closing(open_http(proxy.url, key.token, patience=PATIENCE)) as client,
    ):
        yield ServedStore(proxy, client, key.token)
