"""The verbs of the storage port by name, for tests that take the service away amid each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from onrecord.domain.log import Backend
from tests.factories import TENANT

REPORT = b"report" * 50_000


def repeated_verbs(log: Backend, conversation: UUID) -> dict[str, Callable[[], Any]]:
    """Those that mean the same when they are asked twice; the conversation is `ada`, and has begun."""
    blob = log.put_blob(TENANT, conversation, [REPORT])
    (first,) = log.first_events([conversation])
    [end] = [each for each in log.cursors() if each.shard == first.shard]
    before = replace(end, position=first.position - 1)
    return {
        "read": lambda: list(log.read(conversation)),
        "first_events": partial(log.first_events, [conversation]),
        "tell": lambda: list(log.tell(conversation)),
        "read_log": partial(log.read_log, before, 3),
        "subscribe": lambda: next(log.subscribe(before)),
        "cursors": lambda: [(each.incarnation, each.shard) for each in log.cursors()],
        "head": partial(log.head, conversation),
        "new_since": partial(log.new_since, conversation, 1, 10),
        "pointed": partial(log.pointed, conversation, "tools", 9, 1),
        "exchange_start": partial(log.exchange_start, conversation, 1),
        "open": partial(log.open, TENANT, "ada", conversation),
        "find": partial(log.find, TENANT, "ada"),
        "owner": partial(log.owner, conversation),
        "conversations": lambda: list(log.conversations(TENANT)),
        "open_conversations": partial(log.open_conversations, TENANT),
        "get_blob": lambda: b"".join(log.get_blob(conversation, blob)),
        "put_blob": partial(log.put_blob, TENANT, conversation, [REPORT]),
        "erasures": log.erasures,
        "erased": partial(log.erased, 0),
        "residue": log.residue,
        "keep": partial(log.actors().keep, TENANT, log.digest("Ana"), "Ana"),
        "names": partial(log.actors().names, TENANT, [log.digest("Ana")]),
        "stored": lambda: list(log.actors().stored()),
    }


def single_verbs(log: Backend) -> dict[str, Callable[[], Any]]:
    """Those that are not asked twice: what they did is not known where the answer was lost."""
    return {"sweep_blobs": partial(log.sweep_blobs, 0), "rewrite": log.rewrite}
