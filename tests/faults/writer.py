"""A process that appends until it is killed, and tells each acknowledgement as it gets it."""

import json
import secrets
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from random import Random
from uuid import UUID, uuid4

from onrecord.domain.content import Blob, Document, Text
from onrecord.domain.events import Event, MessageRecorded
from onrecord.domain.log import Append, Backend, Log, Recorded
from tests.contract.places import Place
from tests.factories import TENANT, appending
from tests.patience import PATIENCE

THREADS = 3
"""How many append at once in a process, so that they share what a process shares."""

NEVER = "never"
"""What a request says that must not be recorded."""

Acknowledged = list[UUID]
"""The ids of the events that a writer was told are durable."""


def write_until_killed(place: Place, shared: UUID, told: Connection, seed: str) -> None:
    """Open the store and append in a few threads, each to its own conversation and to one of all.

    Ends before it is killed only by an error.
    """
    backend = place.open()
    told.send([])
    telling = HintSender(told)
    writers = [
        Writer(backend, shared, Random(f"{seed}/{number}"), telling) for number in range(THREADS)
    ]
    with ThreadPoolExecutor(THREADS) as pool:
        for writing in [pool.submit(writer.write) for writer in writers]:
            writing.result(PATIENCE)


class HintSender:
    """A pipe that several threads tell through, one message at a time."""

    def __init__(self, told: Connection) -> None:
        self._told = told
        self._turn = threading.Lock()

    def send(self, told: object) -> None:
        with self._turn:
            self._told.send(told)


@dataclass(frozen=True, slots=True)
class Writer:
    """One thread that appends for ever."""

    backend: Backend
    shared: UUID
    random: Random
    telling: HintSender

    def write(self) -> None:
        own = uuid4()
        while True:
            self.telling.send(append_some(self.backend, own, self.shared, self.random))


def append_some(backend: Backend, own: UUID, shared: UUID, random: Random) -> Acknowledged:
    """Append a batch of requests, one of which conflicts; return what was acknowledged."""
    blobs: list[Blob] = []
    if random.random() < 0.1:
        data = secrets.token_bytes(random.randrange(1, 200_000))
        blobs.append(backend.put_blob(TENANT, own, [data]))
    batch = [
        appending(own, *group("own", random.randrange(1, 5), random, blobs)),
        appending(shared, *group("shared", random.randrange(1, 5), random)),
        appending(own, *group(NEVER, 2, random), expected_version=10**9),
    ]
    return acknowledged(batch, backend)


def acknowledged(batch: Sequence[Append], log: Log) -> Acknowledged:
    """Append, and return the ids of the events of those requests that were recorded."""
    verdicts = log.append(batch)
    return [
        event.event_id
        for append, verdict in zip(batch, verdicts, strict=True)
        if isinstance(verdict, Recorded)
        for event in append.events
    ]


def group(what: str, size: int, random: Random, blobs: Iterable[Blob] = ()) -> list[Event]:
    """Events of one request: each names the request and how many they are."""
    request = str(uuid4())
    documents = [Document(media_type="application/pdf", blob=blob) for blob in blobs]
    return [
        MessageRecorded(
            role="user",
            content=(
                Text(text=json.dumps({"request": request, "of": size, "what": what})),
                Text(text=padding(random)),
                *documents,
            ),
        )
        for _ in range(size)
    ]


def padding(random: Random) -> str:
    """From nothing to several pages, so that an append is one write or many."""
    return secrets.token_hex(random.choice((0, 50, 500, 10_000)))
