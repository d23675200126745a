"""The stores that people use today, imported when they are measured: they live in .venv-bench.

What is used of each is a Protocol here, so that type checkers need none of them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, cast
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit
from uuid import UUID

Items = Sequence[Mapping[str, Any]]


class Session(Protocol):
    """A session of OpenAI Agents: one conversation."""

    async def add_items(self, items: Items) -> None: ...

    async def get_items(self, limit: int | None = None) -> Items: ...


class SessionService(Protocol):
    """A session service of Google's ADK: all its sessions."""

    async def create_session(self, *, app_name: str, user_id: str, session_id: str) -> Any: ...

    async def append_event(self, session: Any, event: Any) -> Any: ...

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: Any
    ) -> Any: ...

    async def close(self) -> None: ...


class Saver(Protocol):
    """A checkpointer of LangGraph."""

    def setup(self) -> None: ...

    def put(
        self,
        config: Mapping[str, Any],
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, Any],
    ) -> Mapping[str, Any]: ...


class StockRecorder(Protocol):
    """The `eventsourcing` library's own recorder for PostgreSQL."""

    def create_table(self) -> None: ...

    def insert_events(self, stored_events: Sequence[object]) -> Sequence[int] | None: ...


class Loop:
    """An event loop whose operations are timed within it, as an asynchronous program has them."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def clock(self, work: Callable[[], Awaitable[Any]]) -> float:
        """Return how many seconds an operation took, from its first step to its last."""
        return self._runner.run(_timed(work))

    def run(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Run an operation that is not timed."""
        self._runner.run(_timed(work))

    def close(self) -> None:
        """End the loop."""
        self._runner.close()


async def _timed(work: Callable[[], Awaitable[Any]]) -> float:
    began = perf_counter()
    await work()
    return perf_counter() - began


def are_here() -> bool:
    """Say whether this environment has the peers."""
    return find_spec("agents") is not None


def sqlite_session(path: Path, key: str) -> Session:
    """Return OpenAI Agents' SQLiteSession on a file."""
    return cast(Session, import_module("agents").SQLiteSession(key, path))


def sqlalchemy_session(url: str, key: str) -> Session:
    """Return OpenAI Agents' SQLAlchemySession on PostgreSQL, through asyncpg."""
    kind = import_module("agents.extensions.memory").SQLAlchemySession
    return cast(Session, kind.from_url(key, url=asyncpg_url(url), create_tables=True))


def asyncpg_url(url: str) -> str:
    """Return the URL of a PostgreSQL database as SQLAlchemy takes it, for asyncpg."""
    return urlunsplit(urlsplit(url)._replace(scheme="postgresql+asyncpg"))


def adk_sqlite_service(path: Path) -> SessionService:
    """Return ADK's SqliteSessionService on a file."""
    kind = import_module("google.adk.sessions.sqlite_session_service").SqliteSessionService
    return cast(SessionService, kind(str(path)))


def adk_database_service(url: str) -> SessionService:
    """Return ADK's DatabaseSessionService, on whatever database SQLAlchemy knows."""
    kind = import_module("google.adk.sessions.database_session_service").DatabaseSessionService
    return cast(SessionService, kind(url))


def sqlite_saver(path: Path) -> Saver:
    """Return LangGraph's SqliteSaver on a file."""
    return saver_on(sqlite_file(path))


def sqlite_file(path: Path) -> sqlite3.Connection:
    """Return a connection to a file, as SqliteSaver's from_conn_string makes it."""
    return sqlite3.connect(path, check_same_thread=False)


def saver_on(connection: sqlite3.Connection) -> Saver:
    """Return LangGraph's SqliteSaver on a connection."""
    saver = cast(Saver, import_module("langgraph.checkpoint.sqlite").SqliteSaver(connection))
    saver.setup()
    return saver


def postgres_saver(url: str) -> Saver:
    """Return LangGraph's PostgresSaver, on the connection that its from_conn_string makes."""
    connect = import_module("psycopg").Connection.connect
    rows = import_module("psycopg.rows").dict_row
    connection = connect(url, autocommit=True, prepare_threshold=0, row_factory=rows)
    saver = cast(Saver, import_module("langgraph.checkpoint.postgres").PostgresSaver(connection))
    saver.setup()
    return saver


class Thread:
    """A thread of LangGraph: its state is the list of messages, and each turn checkpoints it."""

    def __init__(self, saver: Saver, key: str) -> None:
        self._saver = saver
        self._config: Mapping[str, Any] = {"configurable": {"thread_id": key, "checkpoint_ns": ""}}
        self._messages: list[object] = []
        self._step = 0
        messages = import_module("langchain_core.messages")
        self._human, self._ai = messages.HumanMessage, messages.AIMessage
        self._empty = import_module("langgraph.checkpoint.base").empty_checkpoint

    def fill(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Checkpoint a state that holds so many pairs of messages."""
        for said, answered in pairs:
            self._messages += (self._human(said), self._ai(answered))
        self.put()

    def put_pair(self, said: str, answered: str) -> None:
        """Checkpoint the state with two messages more."""
        self._messages = [*self._messages, self._human(said), self._ai(answered)]
        self.put()

    def put(self) -> None:
        """Checkpoint the state."""
        self._step += 1
        version = f"{self._step:032}.0"
        checkpoint = {
            **self._empty(),
            "channel_values": {"messages": self._messages},
            "channel_versions": {"messages": version},
        }
        metadata: dict[str, Any] = {"source": "loop", "step": self._step, "parents": {}}
        self._config = self._saver.put(self._config, checkpoint, metadata, {"messages": version})


def stock_recorder(url: str, connections: int = 5) -> StockRecorder:
    """Return the `eventsourcing` library's PostgreSQL recorder, as it comes; 5 is its pool."""
    library = import_module("eventsourcing.postgres")
    parts = urlsplit(url)
    host = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
    datastore = library.PostgresDatastore(
        dbname=parts.path.lstrip("/"),
        host=host,
        port=parts.port or 5432,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        pool_size=connections,
    )
    return cast(StockRecorder, library.PostgresApplicationRecorder(datastore))


def stored_event(originator: UUID, version: int, state: bytes) -> object:
    """Return an event in the library's envelope."""
    return import_module("eventsourcing.persistence").StoredEvent(
        originator_id=originator,
        originator_version=version,
        topic="message.recorded",
        state=state,
    )
