"""Histories on their way into a store: each whole or not at all, and only what is new of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal
from uuid import UUID

from onrecord.adapters.histories.camunda import contexts_in
from onrecord.adapters.histories.database import sessions_in
from onrecord.adapters.histories.doubts import doubts_of
from onrecord.adapters.histories.foreign_history import (
    Doubt,
    Histories,
    History,
    Identity,
    Transcript,
    TranscriptContext,
    with_unique_calls,
)
from onrecord.adapters.histories.json_files import histories_in
from onrecord.adapters.histories.llm import conversations_in
from onrecord.adapters.inputs.arguments import key_given
from onrecord.adapters.store import Store, backend_of, tenancy_of
from onrecord.adapters.streams.lineage import is_forgotten, last_pointed
from onrecord.adapters.streams.stream import Done, append_to, stored_again
from onrecord.domain import conversation
from onrecord.domain.content import Blob
from onrecord.domain.errors import IdempotencyMismatch, InvalidInput, VersionConflict
from onrecord.domain.events import Event, InstructionsSet
from onrecord.domain.head import Head, Pointer
from onrecord.domain.header import SALT_SIZE
from onrecord.domain.log import Append, Duplicate, NewEvent
from onrecord.domain.new_events import Stamp, draft
from onrecord.projections.api import names

Outcome = Literal["recorded", "extended", "unchanged", "refused"]
"""What became of a history: it is new here, or it went on, or nothing of it is new; or it is not
what was imported under its key, and nothing was changed."""

_TRIES: Final = 4
_WHY_CLOSED: Final = "the conversation was closed and takes no more: import it under another key"
_METADATA: Final = {"source": "import"}
_BESIDE: Final = frozenset(
    {
        *("conversation.started", "instructions.set", "tools.declared"),
        *("annotation.added", "content.redacted", "history.compacted"),
    }
)
"""What may stand between the events of a history without making it another one."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What was done with a history: `recorded` of its `events` are new in the store.

    `why` says what is wrong where it was refused; one that cannot be read has no id.
    """

    key: str
    conversation_id: UUID | None
    outcome: Outcome
    events: int
    recorded: int
    doubts: tuple[Doubt, ...] = ()
    why: str | None = None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A history as it is to stand in a store: what it says, and the ids of its entries."""

    key: str
    identity: Identity
    transcript: Transcript
    ids: tuple[UUID, ...]

    @property
    def events(self) -> int:
        """How many events it comes to, with the one that begins it."""
        return 1 + len(self.transcript.settings) + len(self.ids)


def take_in(store: Store, history: History, key: str, *, dry_run: bool = False) -> TakenIn:
    """Record what a history says and the store does not have yet, in one commit.

    One that cannot be read, or that is not what the store has under that key, is refused and
    changes nothing: that is an outcome, not an error. With `dry_run` nothing is recorded, and the
    outcome is what would be. Raises what the store raises.
    """
    digest = backend_of(store).digest
    try:
        identity = Identity(digest, store.tenant, key_given(key))
        transcript = history.transcribe(TranscriptContext(identity.responses(), digest))
    except InvalidInput as exc:
        return TakenIn(key, None, "refused", 0, 0, why=f"{history.place}: {exc}")
    transcript = with_unique_calls(transcript, identity.line)
    ids = tuple(identity.of_events(entry.event for entry in transcript.entries))
    doubts = (*transcript.doubts, *doubts_of(transcript))
    wanted = _Wanted(key, identity, transcript, ids)
    for tries_left in reversed(range(_TRIES)):
        try:
            return replace(_taken_in(store, wanted, dry_run=dry_run), doubts=doubts)
        except (VersionConflict, IdempotencyMismatch):
            if not tries_left:  # Another writer was quicker, each time.
                raise
    raise AssertionError


def _taken_in(store: Store, wanted: _Wanted, *, dry_run: bool) -> TakenIn:
    backend, identity = backend_of(store), wanted.identity
    found = backend.find(store.tenant, wanted.key)
    conversation_id = identity.conversation() if found is None else found
    head = backend.head(conversation_id)
    done = TakenIn(wanted.key, conversation_id, "unchanged", wanted.events, 0)
    if head.version and (found is None or found != identity.conversation()):
        return replace(done, outcome="refused", why=_why_foreign(store, conversation_id, found))
    known = _known(store, conversation_id, wanted.ids) if head.version else 0
    if known is None:
        why = "what is recorded under that key goes on otherwise: import it under another key"
        return replace(done, outcome="refused", why=why)
    new = wanted.transcript.entries[known:]
    if head.version and not new:
        return done
    if head.closed:
        return replace(done, outcome="refused", why=_WHY_CLOSED)
    drafted = tuple(_drafted(store, wanted, conversation_id, head, known))
    append = Append(store.tenant, conversation_id, drafted, head.version)
    if not dry_run and isinstance(_record(store, wanted, append), Duplicate):
        return done  # Another import was quicker.
    outcome: Outcome = "extended" if head.version else "recorded"
    return replace(done, outcome=outcome, recorded=len(drafted))


def _why_foreign(store: Store, conversation_id: UUID, found: UUID | None) -> str:
    if found is None and is_forgotten(backend_of(store), conversation_id):
        return "it was forgotten here: `onrecord audit` says when and why"
    if found is None:
        return "it is in this store under another key: import it under that one"
    return "that key is of a conversation that was not imported: import it under another key"


def _known(store: Store, conversation_id: UUID, ids: Sequence[UUID]) -> int | None:
    """Return how many of these events the log has; None where something else is among them."""
    known = 0
    for recorded in backend_of(store).read(conversation_id):
        if known == len(ids):
            break
        if recorded.event_id == ids[known]:
            known += 1
        elif recorded.type not in _BESIDE:
            return None
    return known


def _drafted(
    store: Store, wanted: _Wanted, conversation_id: UUID, head: Head, known: int
) -> Iterator[NewEvent]:
    """Yield the events that are new: the beginning, other settings than those in force, the rest."""

    def drafted(event: Event, event_id: UUID, occurred_at: int | None) -> NewEvent:
        stamp = Stamp(
            event_id=event_id,
            occurred_at=time.time_ns() // 1000 if occurred_at is None else occurred_at,
            salt=os.urandom(SALT_SIZE),
            tenant=store.tenant,
            conversation_id=conversation_id,
            metadata=_METADATA,
        )
        return draft(event, stamp)

    before = wanted.ids[known - 1] if known else None
    new = wanted.transcript.entries[known:]
    begun = new[0].occurred_at if new else None
    settings: list[Event] = list(conversation.start(head, wanted.key))
    settings += [
        event
        for event in wanted.transcript.settings
        if not _in_force(store, conversation_id, head.version, event)
    ]
    for event in settings:
        yield drafted(event, wanted.identity.of_setting(event, before), begun)
    for entry, event_id in zip(new, wanted.ids[known:], strict=True):
        yield drafted(entry.event, event_id, entry.occurred_at)


def _in_force(store: Store, conversation_id: UUID, version: int, event: Event) -> bool:
    pointer: Pointer = "instructions" if isinstance(event, InstructionsSet) else "tools"
    last = last_pointed(backend_of(store), conversation_id, pointer, version)
    return last is not None and last.event() == event


def _record(store: Store, wanted: _Wanted, append: Append) -> Done:
    backend = backend_of(store)
    tenancy_of(store).spool.settle(backend)
    backend.open(store.tenant, wanted.key, append.conversation_id)
    blobs = (blob for event in append.events for blob in event.blobs)
    needed = {blob.sha256 for blob in blobs if isinstance(blob, Blob)}

    def record() -> Done:
        for digest in sorted(needed & wanted.transcript.blobs.keys()):
            backend.put_blob(
                store.tenant, append.conversation_id, (wanted.transcript.blobs[digest],)
            )
        return append_to(backend, append)

    return stored_again(record)


# The kinds of sources that histories come from, by name, and the keys of what is in them.

SOURCES: Final[Mapping[str, Callable[[Path], Histories]]] = {
    **{api: partial(histories_in, api=api) for api in names()},
    "camunda-agent": contexts_in,
    "openai-agents-session": sessions_in,
    "simonw-llm": conversations_in,
}
"""Name of a kind of source to what reads a file of it; InvalidInput where it is none."""


def key_of(history: History, base: str, *, are_several: bool) -> str:
    """Return the key of a history: `base`, or its own name under that where there are several."""
    return f"{base}/{history.name}" if are_several else base
