"""A log, the relay that puts its end into a Redis, and who follows it there."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from onrecord.adapters.redis.accelerator import Accelerator
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.redis.relay import Relay
from onrecord.adapters.redis.tails import Followed, mark_key, tail_key
from onrecord.domain.log import RecordedEvent, Subscription
from tests.factories import appending, prompt, started
from tests.patience import join


@dataclass
class Followers:
    """A log whose end a relay puts into a Redis, and who follows it there."""

    backend: Followed
    beside: Connection

    def __post_init__(self) -> None:
        self.conversation = uuid4()
        self.backend.append([appending(self.conversation, started())])
        (self.end,) = [cursor for cursor in self.backend.cursors() if cursor.position]
        self.relay = Relay(self.beside, self.backend)

    @property
    def key(self) -> str:
        return tail_key(self.end.incarnation, self.end.shard)

    def say(self, *texts: str) -> None:
        said = [prompt(text) for text in texts]
        self.backend.append([appending(self.conversation, *said)])

    def follow(self, position: int = 1, tenant: UUID | None = None) -> Subscription:
        after = replace(self.end, position=position)
        return Accelerator(self.beside, self.backend).subscribe(after, tenant)

    def log(self, position: int = 1) -> list[RecordedEvent]:
        return self.backend.read_log(replace(self.end, position=position), 9_999)

    def is_relayed(self) -> bool:
        """Whether a relay says that it is at work."""
        return self.beside.ask(("EXISTS", mark_key(self.end.incarnation))) == [1]

    def lose_lease(self, to: str | None = None) -> None:
        """Let the relay's lease run out, or be another's."""
        lease = f"onrecord:{self.end.incarnation}:relay"
        self.beside.ask(("DEL", lease) if to is None else ("SET", lease, to))

    def ids(self) -> list[int]:
        """The positions that are in the tail."""
        answers = self.beside.ask(("XRANGE", self.key, "-", "+"))
        assert answers is not None
        return [int(place.partition(b"-")[0]) for place, _ in answers[0]]


@contextmanager
def relayed(followers: Followers) -> Generator[None]:
    """Let a relay of the log run."""
    stop = threading.Event()
    relay = Relay(followers.beside, followers.backend)
    running = threading.Thread(target=relay.run, args=(stop,))
    running.start()
    try:
        yield
    finally:
        stop.set()
        join(running)
