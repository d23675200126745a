"""Ours and the peers on the same database, on the same kind of conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from onrecord import Conversation
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
    loop: peers.Loop = field(default_factory=peers.Loop)
    _chats: dict[tuple[int, Shape], list[Conversation]] = field(
        default_factory=dict[tuple[int, Shape], list[Conversation]]
    )
    _sessions: dict[int, Sessions] = field(default_factory=dict[int, Sessions])
    _session_places: dict[int, str] = field(default_factory=dict[int, str])
    _urls: dict[tuple[int, Shape], str] = field(default_factory=dict[tuple[int, Shape], str])

    def __post_init__(self) -> None:
        self.workspace.closing.callback(self.loop.close)

    def chats(self, size: int, shape: Shape) -> list[Conversation]:
        """Return conversations of ours with so many messages."""
        if (size, shape) not in self._chats:
            url = self._urls[size, shape] = self.our_url()
            made = conversations.chats(self.workspace, url, size, _SHAPES[shape])
            self._chats[size, shape] = made
        return self._chats[size, shape]

    def url_of(self, size: int, shape: Shape) -> str:
        """Return where the conversations of ours with so many messages are."""
        self.chats(size, shape)
        return self._urls[size, shape]

    def sessions(self, size: int) -> Sessions:
        """Return conversations of OpenAI Agents with so many items."""
        if size not in self._sessions:
            place = self._session_places[size] = self._session_place()
            opened = self._session_opener(place)
            made = conversations.sessions(self.workspace, self.loop, opened, size)
            self._sessions[size] = made
        return self._sessions[size]

    def session_place(self, size: int) -> str:
        """Return the file or the URL where the conversations of OpenAI Agents are."""
        self.sessions(size)
        return self._session_places[size]

    def threads(self, size: int) -> list[peers.Thread]:
        """Return threads of LangGraph with so many messages, not kept: they are large."""
        return conversations.threads(self.workspace, self.saver(), size)

    @property
    def session_name(self) -> str:
        """How OpenAI Agents calls its store of this database."""
        return "SQLiteSession" if self.database == "sqlite" else "SQLAlchemySession (asyncpg)"

    @property
    def saver_name(self) -> str:
        """How LangGraph calls its store of this database."""
        return "SqliteSaver" if self.database == "sqlite" else "PostgresSaver"

    def our_url(self) -> str:
        """Return the URL of a new store of ours."""
        match self.database:
            case "sqlite":
                return f"sqlite:///{self.workspace.path('ours.db')}"
            case "postgres":
                return self.workspace.database()

    def _session_place(self) -> str:
        match self.database:
            case "sqlite":
                return str(self.workspace.path("session.db"))
            case "postgres":
                return self.workspace.database()

    def _session_opener(self, place: str) -> Callable[[str], peers.Session]:
        match self.database:
            case "sqlite":
                return lambda key: peers.sqlite_session(Path(place), key)
            case "postgres":
                return lambda key: peers.sqlalchemy_session(place, key)

    def saver(self) -> peers.Saver:
        """Return LangGraph's saver on a new store."""
        match self.database:
            case "sqlite":
                return peers.sqlite_saver(self.workspace.path("checkpoints.db"))
            case "postgres":
                return peers.postgres_saver(self.workspace.database())
