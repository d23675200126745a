"""A log and its views on SQLite, or in memory, for tests: with clocks of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.views.ports import PageQuery, PageRows
from onrecord.adapters.views.sqlite.views import SqliteViews
from onrecord.domain.log import Backend
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.view import Changes, EventBatch, Row, View
from tests.factories import TENANT, answer, appending, prompt, started

SECOND = 1_000_000


class Broken(Exception):
    """What a fold of these tests raises."""


@dataclass
class Fragile:
    """The audit view, whose fold fails at events of some conversations, or at some versions."""

    strict: bool = False
    revision: int = AUDIT.revision
    name: str = "audit"
    types: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    conversations: set[UUID] = field(default_factory=set[UUID])
    version: int = 2

    def wanted(self, batch: EventBatch) -> list[Row]:
        return AUDIT.wanted(batch)

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        fails = batch.conversation_id in self.conversations
        if fails and any(event.version == self.version for event in batch.events):
            raise Broken
        return AUDIT.fold(batch, known)


@dataclass
class Ticking:
    """Clocks that only a test moves: seconds that work takes, and the time of day."""

    seconds: float = 0.0
    time: int = 1_795_000_000 * SECOND
    a_look_takes: float = 0.0

    def clock(self) -> float:
        self.seconds += self.a_look_takes
        return self.seconds

    def now(self) -> int:
        return self.time


def opened(folder: Path, ticking: Ticking | None = None, wait: float = 10.0) -> Opened:
    log, clocks = open_sqlite(folder / "log.db"), ticking or Ticking()
    views = SqliteViews(log, folder / "log.db", wait=wait, clock=clocks.clock, now=clocks.now)
    return Opened(log, views, clocks)


def in_memory() -> Opened:
    log, clocks = Memory(), Ticking()
    return Opened(log, SqliteViews(log, None, clock=clocks.clock, now=clocks.now), clocks)


@dataclass
class Opened:
    log: Backend
    views: SqliteViews
    ticking: Ticking

    def said(self, *texts: str) -> UUID:
        """A conversation of a prompt and answers, as many events as texts and one more."""
        conversation = uuid4()
        answers = [answer(text) for text in texts[1:]]
        self.log.append(
            [appending(conversation, started(str(conversation)), prompt(texts[0]), *answers)]
        )
        return conversation

    def page(self, view: View = AUDIT, *, limit: int = 1_000, **filters: object) -> PageRows:
        query = PageQuery(view, f"{view.name}_page", TENANT, dict(filters), {}, limit)
        return self.views.page(query)

    def positions(self, view: View = AUDIT) -> list[int]:
        return [row["position"] for row in self.page(view).rows]

    def close(self) -> None:
        self.views.close()
        self.log.close()
