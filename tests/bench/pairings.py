"""Ours and the peers on the same database, on the same kind of conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from hansard import Talk
from tests.bench import conversations, payload, peers
from tests.bench.conversations import Sessions
from tests.bench.workspace import Workspace

Database = Literal["sqlite", "postgres"]
Shape = Literal["said", "recorded"]

GUARANTEES: Final = {
    "sqlite": "one transaction, WAL, synchronous=FULL: on disk when it returns",
    "postgres": "one transaction, fsync and synchronous_commit on: on disk when it returns",
}
"""What every side promises of a write; the peers' settings are those that they come with."""

_SHAPES: Final = {"said": payload.as_said, "recorded": payload.as_recorded}


@dataclass(eq=False)
class Pairing:
    """Ours and the peers on one database; what was filled once serves every measure."""

    workspace: Workspace
    database: Database
    _loop: peers.Loop = field(default_factory=peers.Loop)
    _talks: dict[tuple[int, Shape], list[Talk]] = field(
        default_factory=dict[tuple[int, Shape], list[Talk]]
    )
    _sessions: dict[int, Sessions] = field(default_factory=dict[int, Sessions])

    def talks(self, size: int, shape: Shape) -> list[Talk]:
        """Return conversations of ours with so many messages."""
        if (size, shape) not in self._talks:
            made = conversations.talks(self.workspace, self._our_url(), size, _SHAPES[shape])
            self._talks[size, shape] = made
        return self._talks[size, shape]

    def sessions(self, size: int) -> Sessions:
        """Return conversations of OpenAI Agents with so many items."""
        if size not in self._sessions:
            self._sessions[size] = conversations.sessions(
                self.workspace, self._loop, self._session_opener(), size
            )
        return self._sessions[size]

    def threads(self, size: int) -> list[peers.Thread]:
        """Return threads of LangGraph with so many messages, not kept: they are large."""
        return conversations.threads(self.workspace, self._saver(), size)

    @property
    def session_name(self) -> str:
        """How OpenAI Agents calls its store of this database."""
        return "SQLiteSession" if self.database == "sqlite" else "SQLAlchemySession (asyncpg)"

    @property
    def saver_name(self) -> str:
        """How LangGraph calls its store of this database."""
        return "SqliteSaver" if self.database == "sqlite" else "PostgresSaver"

    def _our_url(self) -> str:
        match self.database:
            case "sqlite":
                return f"sqlite:///{self.workspace.path('ours.db')}"
            case "postgres":
                return self.workspace.database()

    def _session_opener(self) -> Callable[[str], peers.Session]:
        match self.database:
            case "sqlite":
                path = self.workspace.path("session.db")
                return lambda key: peers.sqlite_session(path, key)
            case "postgres":
                url = self.workspace.database()
                return lambda key: peers.sqlalchemy_session(url, key)

    def _saver(self) -> peers.Saver:
        match self.database:
            case "sqlite":
                return peers.sqlite_saver(self.workspace.path("checkpoints.db"))
            case "postgres":
                return peers.postgres_saver(self.workspace.database())
