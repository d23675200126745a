"""What is said beside a Redis, and how often a log is read."""

from __future__ import annotations

from typing import cast

import pytest

import onrecord
from onrecord.adapters.redis.tails import Followed
from onrecord.domain.events import MessageRecorded
from onrecord.domain.log import Backend, Cursor, RecordedEvent

API = "openai-chat"
KEY = "support/4711"


def followed(backend: Backend) -> Followed:
    """Return a backend, of which all have what wakes up those who follow them."""
    return cast("Followed", backend)


class Reads:
    """Counts how often the log itself is read."""

    def __init__(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        self._read_log = backend.read_log
        monkeypatch.setattr(backend, "read_log", self._counted)

    def _counted(self, after: Cursor, limit: int) -> list[RecordedEvent]:
        self.times += 1
        return self._read_log(after, limit)


def said(chat: onrecord.Conversation, exchanges: int = 2) -> None:
    for number in range(exchanges):
        chat.user(f"Question {number}")
        answer = MessageRecorded(
            role="assistant", content=(onrecord.Text(text=f"Answer {number}"),)
        )
        chat.log.append(answer)
