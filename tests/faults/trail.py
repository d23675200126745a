"""What a reader that follows a shard has seen: every position, whole requests, each of them once."""

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from onrecord.domain.content import Text
from onrecord.domain.events import Event, MessageRecorded
from onrecord.domain.log import RecordedEvent


class Mark(NamedTuple):
    """Which request of which writer an event belongs to, and of how many events that is."""

    writer: int
    request: int
    of: int

    def events(self) -> list[Event]:
        """The events of the request, each of which bears its mark."""
        words = Text(text=json.dumps(self))
        return [MessageRecorded(role="user", content=(words,))] * self.of


def mark_of(event: RecordedEvent) -> Mark:
    # Not through event(): millions are read here.
    body = json.loads(event.body or b"")
    return Mark(*json.loads(body["content"][0]["text"]))


@dataclass
class Trail:
    """Follows one shard from its beginning; fails where a position or a part of a request is missing."""

    position: int = 0
    requests: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    _current: Mark | None = None
    _left: int = 0
    _ids: bytes = b""

    def follow(self, event: RecordedEvent) -> None:
        assert event.position == self.position + 1, (event.position, self.position)
        self.position = event.position
        self._ids = sha256(self._ids + event.event_id.bytes).digest()
        mark = mark_of(event)
        if self._left == 0:
            request = (mark.writer, mark.request)
            assert request not in self.requests, mark
            self.requests.add(request)
            self._current, self._left = mark, mark.of
        assert mark == self._current
        self._left -= 1

    def end(self) -> tuple[int, str]:
        """What two trails of the same shard have in common, once they are at its end."""
        assert self._left == 0, self._current
        return self.position, self._ids.hex()
