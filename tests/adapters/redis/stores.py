"""Stores with a Redis beside them, and how often they had to do without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.conversation import rendering
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.redis import hot_windows
from onrecord.adapters.redis.accelerator import Accelerator
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.redis.tails import Followed
from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.store import Store
from onrecord.adapters.streams.lineage import LineSegment
from onrecord.domain.events import MessageRecorded
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from onrecord.projections.apis.request import Options, Request
from onrecord.projections.matching.template import RenderedRequest

API = "openai-chat"
KEY = "support/4711"


def same(one: Request, other: Request) -> bool:
    """Whether two requests are the same for whoever sends them, types and order included."""
    return (
        repr(dict(one)) == repr(dict(other))
        and repr(dict(one.body)) == repr(dict(other.body))
        and one.body_parts() == other.body_parts()
        and one.report == other.report
        and repr(one.report) == repr(other.report)
        and one.options == other.options
    )


def followed(backend: Backend) -> Followed:
    """Return a backend, of which all have what wakes up those who follow them."""
    return cast("Followed", backend)


def store_on(
    backend: Backend, folder: Path, beside: Connection | None = None, tenant: UUID = NO_TENANT
) -> Store:
    """Return a store on a backend, with a Redis beside it or without."""
    accelerator = None if beside is None else Accelerator(beside, followed(backend))
    spool = Spool(folder / "spool")
    return Store(backend, "test://", tenant=tenant, spool=spool, accelerator=accelerator)


class Rendered:
    """Counts the requests that had to be rendered although there is a Redis."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        monkeypatch.setattr(hot_windows, "ask", self._ask)

    def _ask(
        self, backend: Backend, segments: tuple[LineSegment, ...], options: Options
    ) -> RenderedRequest:
        self.times += 1
        return rendering.ask(backend, segments, options)


class Reads:
    """Counts how often the log itself is read."""

    def __init__(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        self._read_log = backend.read_log
        monkeypatch.setattr(backend, "read_log", self._counted)

    def _counted(self, after: Cursor, limit: int) -> list[RecordedEvent]:
        self.times += 1
        return self._read_log(after, limit)


@dataclass
class Stores:
    """Two stores on one log, one with a Redis beside it and one without."""

    hot: Store
    cold: Store
    beside: Connection
    rendered: Rendered

    def request(self, key: str = KEY, **wishes: Any) -> onrecord.Request:
        """Ask the hot store; what it gives is what the cold one renders."""
        request = self.hot.conversation(key).request(API, **wishes)
        assert same(request, self.cold.conversation(key).request(API, **wishes))
        return request

    def renders(self, ask: Callable[[], object]) -> int:
        """How many requests had to be rendered for this."""
        before = self.rendered.times
        ask()
        return self.rendered.times - before

    def is_hot(self) -> bool:
        """Whether a request comes from Redis."""
        return self.renders(self.request) == 0


def said(chat: onrecord.Conversation, exchanges: int = 2) -> None:
    for number in range(exchanges):
        chat.user(f"Question {number}")
        answer = MessageRecorded(
            role="assistant", content=(onrecord.Text(text=f"Answer {number}"),)
        )
        chat.log.append(answer)


def kept(beside: Connection, backend: Backend) -> list[bytes]:
    """The keys of what is kept of this log's requests."""
    answers = beside.ask(("KEYS", f"onrecord:{backend.incarnation()}:window:*"))
    assert answers is not None
    found: list[bytes] = answers[0]
    return found
