"""A process that appends until it is killed, and tells each acknowledgement as it gets it."""

import json
import random
import secrets
from collections.abc import Sequence
from multiprocessing.connection import Connection
from uuid import UUID, uuid4

from hansard.domain.log import Append, Backend, NewEvent, Recorded
from tests.contract.places import Place
from tests.factories import TENANT, appending, raw_event

Acknowledged = list[UUID]
"""The ids of the events that a writer was told are durable."""


def write_until_killed(place: Place, shared: UUID, told: Connection) -> None:
    """Open the store and append to a conversation of its own and to one that all writers share."""
    backend = place.open()
    own = uuid4()
    told.send([])
    while True:
        told.send(append_some(backend, own, shared))


def append_some(backend: Backend, own: UUID, shared: UUID) -> Acknowledged:
    """Append a batch of requests, one of which conflicts; return what was acknowledged."""
    if random.random() < 0.1:
        blob = backend.put_blob(TENANT, own, [secrets.token_bytes(random.randrange(1, 200_000))])
        backend.append([appending(own, *group(blob.sha256, 1))])
    batch = [
        appending(own, *group("own", random.randrange(1, 5))),
        appending(shared, *group("shared", random.randrange(1, 5))),
        appending(own, *group("never", 2), expected_version=10**9),
    ]
    return acknowledged(batch, backend)


def acknowledged(batch: Sequence[Append], backend: Backend) -> Acknowledged:
    verdicts = backend.append(batch)
    return [
        event.event_id
        for append, verdict in zip(batch, verdicts, strict=True)
        if isinstance(verdict, Recorded)
        for event in append.events
    ]


def group(what: str, size: int) -> list[NewEvent]:
    """Events of one request: each names the request and how many they are."""
    request = str(uuid4())
    return [
        raw_event(
            body=json.dumps(
                {"request": request, "of": size, "what": what, "text": padding()}
            ).encode()
        )
        for _ in range(size)
    ]


def padding() -> str:
    """From nothing to several pages, so that an append is one write or many."""
    return secrets.token_hex(random.choice((0, 50, 500, 10_000)))
