"""The sessions of a process, of which a child that it forks has copies, and on which it says nothing.

What a child sends on a copied socket, the end of the session too, the server takes for its parent's
word. A fork may come amid a transaction, in the handler of a signal, and the scopes that the child
then leaves roll back and close. So the first that a child does is to put a socket that leads nowhere
in the place of each.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

import psycopg
from psycopg import AsyncConnection, Connection

_sessions: Final[WeakSet[Connection[Any] | AsyncConnection[Any]]] = WeakSet()


def leave_to_parent(session: Connection[Any] | AsyncConnection[Any]) -> None:
    """Let each child that is forked from now on find a session that has ended."""
    _sessions.add(session)


def _cut_off() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        for session in _sessions:
            # One that is closed has no socket.
            with suppress(psycopg.Error):
                os.dup2(ours.fileno(), session.pgconn.socket, inheritable=False)
    _sessions.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_cut_off)
