"""Hints by PostgreSQL's NOTIFY, apart from the appends: in an append they would queue all commits.

Who listens holds a lock that the teller looks at, so that nothing is notified where nobody listens. Both
only try to take it: whoever may connect can hold it, and then a hint is sent for nothing.
LISTEN needs a session of its own, hence a connection that goes past a pooler of transactions.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from onrecord.adapters.storage.postgres.connections import (
    Address,
    Connections,
    LogConnection,
    connected,
    fetched,
)
from onrecord.adapters.storage.subscription import UNHEARD_PACE, HintSender
from onrecord.domain.errors import OnrecordError

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_AT_MOST: Final = 1.0

# Nothing is sent while it listens: only these find out that the line is dead.
_KEEPALIVES: Final = {"keepalives_idle": "15", "keepalives_interval": "5", "keepalives_count": "3"}


class PostgresHints(HintSender):
    """Hints between the processes of one log."""

    def __init__(self, connections: Connections, listen: Address) -> None:
        """Tell over the log's own connections; listen over a direct one, at that address."""
        super().__init__(self._notify)
        self._connections = connections
        parameters = {name: str(value) for name, value in conninfo_to_dict(listen.conninfo).items()}
        self._listen = Address(make_conninfo(**(_KEEPALIVES | parameters)), listen.schema)
        # Which hints are this process's own: it has no need to hear them.
        self._name = secrets.token_hex(8)

    @contextmanager
    def listen(self, heard: Callable[[], None]) -> Generator[None]:
        """Call `heard` for each hint of others while the scope lasts."""
        ear = _Ear(self._listen, self._name, heard)
        ear.begin()
        try:
            yield
        finally:
            ear.end()

    def _notify(self) -> bool:
        try:
            return bool(self._connections.ask("hint", (self._name,)))
        except OnrecordError:
            # The appends say that the server is away; who missed this hint polls.
            return False


class _Ear:
    """A thread that listens, and connects again where the connection is lost."""

    def __init__(self, address: Address, own_name: str, heard: Callable[[], None]) -> None:
        self._address, self._own_name, self._heard = address, own_name, heard
        # Closing one end wakes up whoever waits at the other.
        self._own_end, self._other_end = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="onrecord-listen", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._own_end.close()
        # It may be connecting; then it ends by itself when that is over.
        self._thread.join(_AT_MOST)

    def _run(self) -> None:
        pause = 0.0
        with self._other_end:
            while not _readable(self._other_end, within=pause):
                # The log's own connections say that the server is away; who misses hints polls.
                with (
                    suppress(psycopg.Error, OnrecordError),
                    closing(connected(self._address)) as line,
                ):
                    fetched(line, "listen")
                    pause = 0.0
                    self._hear(line)
                pause = min(max(_FIRST_PAUSE, 2 * pause), _LONGEST_PAUSE)

    def _hear(self, line: LogConnection) -> None:
        has_news, is_heard = True, False
        while self._other_end not in _readable(
            line.pgconn.socket,
            self._other_end,
            within=0 if has_news else None if is_heard else UNHEARD_PACE,
        ):
            if not is_heard:
                [(is_heard,)] = fetched(line, "be_heard")
                has_news = True
            if has_news:
                self._heard()
            names = [notify.payload for notify in line.notifies(timeout=0)]
            has_news = any(name != self._own_name for name in names)


def _readable(*sources: socket.socket | int, within: float | None) -> list[object]:
    """Return those from which can be read by then; None waits for one."""
    with selectors.DefaultSelector() as selector:
        for each in sources:
            selector.register(each, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(within)]
