"""One caller's append on PostgreSQL beside the least that durability costs there: a bare INSERT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

import psycopg

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.log import Append
from tests.bench.measure import Aim, Contender, Measure, Work, take_turns
from tests.bench.pairings import GUARANTEES
from tests.bench.payload import prompt, text
from tests.bench.workspace import Workspace
from tests.factories import drafted

_TABLE: Final = "CREATE TABLE bare (id bigint PRIMARY KEY, body bytea NOT NULL)"
_INSERT: Final = "INSERT INTO bare (id, body) VALUES (%b, %b)"
_AIM: Final = Aim(2)


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield one message appended beside one row inserted: through Conversation, and through Backend."""
    store = workspace.closing.enter_context(onrecord.connect(workspace.database()))
    chat = store.conversation("one caller")

    def through_chat(_: int) -> Work:
        said = prompt()
        return lambda: chat.log.append(said)

    def through_backend(_: int) -> Work:
        ready = drafted(prompt(), chat.conversation_id, tenant=stream_of(chat).tenant)
        request = (Append(stream_of(chat).tenant, chat.conversation_id, (ready,)),)
        return lambda: stream_of(chat).backend.append(request)

    chat.log.append(prompt())
    promise = GUARANTEES["postgres"]
    sides = (
        Contender("Conversation.append of one message", promise, through_chat),
        Contender("Backend.append of one drafted message", promise, through_backend),
        Contender(
            "psycopg, autocommit, prepared, binary: INSERT of 1 KB", promise, _bare(workspace)
        ),
    )
    workspace.say("one caller's append beside a bare INSERT")
    by_chat, by_backend, bare = take_turns(sides, workspace.scale.pace)
    yield Measure("insert.postgres", "ms", by_chat, bare, _AIM)
    yield Measure("insert.postgres.backend", "ms", by_backend, bare, _AIM)


def _bare(workspace: Workspace) -> Callable[[int], Work]:
    connection = psycopg.connect(workspace.database(), autocommit=True)
    workspace.closing.callback(connection.close)
    connection.execute(_TABLE)
    numbers = count()

    def prepare(_: int) -> Work:
        row = (next(numbers), text().encode())
        return lambda: connection.execute(_INSERT, row, prepare=True, binary=True)

    return prepare
