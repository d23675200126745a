"""What the views of a log grow by on PostgreSQL: bytes on disk and in the write-ahead log, by view.

The log holds recorded exchanges, a tool called in every fourth one; texts are 1 KB of words that are
as frequent as words are (Zipf's law), for a full-text index has little to do with random bytes. What
is told is by event of the log, whether the view has a row for it or not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Final
from uuid import uuid4

import psycopg

from onrecord.adapters.storage.postgres.postgres import open_postgres
from onrecord.domain.events import Event
from onrecord.domain.log import Log
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.workers import caught_up
from tests.bench.growth import checkpointed, leave_alone, measured, number, wal_written
from tests.bench.measure import Measure
from tests.bench.payload import Exchange, as_recorded
from tests.bench.workspace import Workspace
from tests.factories import appending

_MOST: Final = 20_000
_CONVERSATIONS: Final = 100
_WORDS: Final = 150
"""Of a text; a word has five and a half letters and a blank."""

_ONE_EVENT: Final = "an event of recorded exchanges, after {count:,} of them"
_TAKEN: Final = "SELECT pg_total_relation_size('onrecord.view_{}')"


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield what each view takes, kept by a worker that has nothing else to do."""
    url = workspace.database()
    log = open_postgres(url)
    workspace.say("growth: a log with words in it")
    count = _fill(log, min(workspace.scale.sizes[-1], _MOST))
    log.close()
    with psycopg.connect(url, autocommit=True) as connection:
        leave_alone(connection)
        # The first who reads a page marks its rows as committed, and that is written too.
        connection.execute("VACUUM onrecord.event")
        for name in sorted(VIEWS):
            workspace.say(f"growth: the view {name}")
            start = checkpointed(connection)
            caught_up(url, {name: VIEWS[name]})
            written = wal_written(connection) - start
            taken = number(connection, _TAKEN.format(name))
            yield measured(f"growth.view.{name}", taken / count, count, _ONE_EVENT)
            yield measured(f"growth.view.{name}.wal", written / count, count, _ONE_EVENT)


def _fill(log: Log, least: int) -> int:
    """Append exchanges until there are so many events, and return how many there are."""
    conversations = cycle([uuid4() for _ in range(_CONVERSATIONS)])
    count = 0
    for exchange in _exchanges():
        said: list[Event] = list(as_recorded(exchange))
        log.append([appending(next(conversations), *said)])
        count += len(said)
        if count >= least:
            break
    return count


def _exchanges() -> Iterator[Exchange]:
    texts = _texts()
    for call in cycle((True, False, False, False)):
        prompt, answer, result = islice(texts, 3)
        if call:
            yield Exchange(prompt, answer, f"toolu_{uuid4().hex[:18]}", result)
        else:
            yield Exchange(prompt, answer)


def _texts() -> Iterator[str]:
    drawn = random.Random(4711)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(drawn.choices(letters, k=drawn.randint(2, 9))) for _ in range(20_000)]
    frequencies = [1 / rank for rank in range(1, len(words) + 1)]
    while True:
        yield " ".join(drawn.choices(words, frequencies, k=_WORDS))
