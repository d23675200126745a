"""The way of an exported conversation into a store: verified whole, then appended in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.inputs.arguments import key_given
from onrecord.adapters.streams.lineage import is_forgotten
from onrecord.adapters.streams.stream import done_of
from onrecord.adapters.transfer.export import blobs_in
from onrecord.adapters.transfer.exported import Beginning, Line, Piece, read_export
from onrecord.domain.admission import need_of
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import IdempotencyMismatch, InvalidExport, InvalidInput
from onrecord.domain.events import ConversationForked, ConversationStarted
from onrecord.domain.head import NOTHING, effect_of
from onrecord.domain.log import Append, Backend, Mismatch, NewEvent, RecordedEvent
from onrecord.domain.new_events import Stamp, draft, once_of

Progress = Callable[[int, int], None]
"""Is told how many steps are done, and how many there are in all."""

_BATCH_EVENTS: Final = 256
_BATCH_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that proves itself: what it begins with, and how many of its events were erased.

    `fork` is the event that says what the conversation goes on from, if it is a fork.
    """

    beginning: Beginning
    tenant: UUID
    erased: int
    fork: ConversationForked | None


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: `events` are in the file, `recorded` of them are new in the store."""

    key: str
    conversation_id: UUID
    events: int
    recorded: int


def unheeded(done: int, total: int) -> None:
    """Let progress pass."""


def check(path: Path, progress: Progress = unheeded) -> Checked:
    """Verify every line, digest and leaf of a file; InvalidExport where one is wrong."""
    erased = 0
    tenant: UUID | None = None
    fork: ConversationForked | None = None
    with path.open("rb") as file:
        lines = read_export(file)
        beginning = _beginning(lines)
        for line in lines:
            if isinstance(line, RecordedEvent):
                tenant = _of_one(tenant, line)
                erased += line.body is None
                fork = fork or _fork(line)
                progress(line.version, beginning.events)
    if tenant is None:
        raise InvalidExport("the file holds no event")
    return Checked(beginning, tenant, erased, fork)


def _of_one(tenant: UUID | None, recorded: RecordedEvent) -> UUID:
    """Return the tenant of an event, who is that of the events before it."""
    owner = recorded.client_header().tenant
    if tenant is not None and owner != tenant:
        raise InvalidExport(f"version {recorded.version} is of another tenant than those before it")
    return owner


def import_file(
    backend: Backend,
    tenant: UUID,
    path: Path,
    *,
    key: str | None = None,
    progress: Progress = unheeded,
) -> Imported:
    """Record the events of a file that the store does not have yet, under their own ids.

    `key` is another name for the conversation; only its first event is written anew then. Nothing
    is recorded before the whole file was verified. Raises InvalidExport, InvalidInput where this
    store cannot take the conversation in, IdempotencyMismatch where it has other events of it, and
    VersionConflict where someone else appended meanwhile.
    """
    checked = check(path, lambda done, total: progress(done, 2 * total))
    beginning = checked.beginning
    name = _must_fit(checked, tenant, key)
    _must_have_origin(backend, tenant, checked.fork)
    present = _place(backend, tenant, name, beginning.conversation_id)
    with path.open("rb") as file:
        lines = _dealt_with(read_export(file), beginning.events, progress)
        _beginning(lines)
        _compare(backend, beginning.conversation_id, lines, min(present, beginning.events), name)
        _append(backend, tenant, beginning.conversation_id, _renamed(lines, key), present)
    new = max(beginning.events - present, 0)
    return Imported(name, beginning.conversation_id, beginning.events, new)


def _beginning(lines: Iterator[Line]) -> Beginning:
    beginning = next(lines, None)
    if not isinstance(beginning, Beginning):
        raise InvalidExport("the file is empty")
    return beginning


def must_fit_a_new_store(path: Path, tenant: UUID, key: str | None) -> None:
    """Raise what `import_file` raises where a store holds nothing yet; so none need be made."""
    checked = check(path)
    _must_fit(checked, tenant, key)
    if checked.fork is not None:
        raise _without_origin(checked.fork)


def _must_fit(checked: Checked, tenant: UUID, key: str | None) -> str:
    """Return the key that a conversation gets, whatever the store holds."""
    if checked.erased:
        raise InvalidInput(
            f"{checked.erased} of the {checked.beginning.events} events were forgotten: what is "
            "left of them proves that they were recorded (--check), but cannot be recorded again"
        )
    if checked.tenant != tenant:
        raise InvalidInput("the file is of another tenant: connect as that tenant")
    name = checked.beginning.key if key is None else key_given(key)
    if name is None:
        raise InvalidInput("the file names no key: give one with --as KEY")
    return name


def _fork(recorded: RecordedEvent) -> ConversationForked | None:
    if recorded.type != "conversation.forked":
        return None
    event = recorded.event()
    return event if isinstance(event, ConversationForked) else None


def _must_have_origin(backend: Backend, tenant: UUID, fork: ConversationForked | None) -> None:
    """Refuse a fork whose origin is not here: its requests would lack what was said before."""
    if fork is None:
        return
    is_own = backend.owner(fork.origin) == tenant
    if not is_own or backend.head(fork.origin).version < fork.version:
        raise _without_origin(fork)


def _without_origin(fork: ConversationForked) -> InvalidInput:
    return InvalidInput(
        f"the conversation is a fork of {fork.origin} at version {fork.version}, which is not "
        "in this store: import that one first"
    )


def _place(backend: Backend, tenant: UUID, key: str, conversation_id: UUID) -> int:
    """Make the conversation's place in the catalogue; return the version that it is at."""
    known = backend.find(tenant, key)
    present = backend.head(conversation_id).version
    if known is None and present:
        if is_forgotten(backend, conversation_id):
            raise InvalidInput("the conversation was forgotten here: it cannot be imported again")
        raise InvalidInput("the conversation is in this store already, under another key")
    if known is None:
        known = backend.open(tenant, key, conversation_id)
    if known != conversation_id:
        raise InvalidInput(
            "another conversation has that key in this store: import with --as ANOTHER-KEY"
        )
    return present


def _dealt_with(lines: Iterator[Line], events: int, progress: Progress) -> Iterator[Line]:
    """Yield the lines, and tell of each event that the second half of the work goes on."""
    for line in lines:
        yield line
        if isinstance(line, RecordedEvent):
            progress(events + line.version, 2 * events)


def _compare(
    backend: Backend, conversation_id: UUID, lines: Iterator[Line], until: int, key: str
) -> None:
    """Read the lines up to a version; they must be what the store has."""
    stored = backend.read(conversation_id, until=until)
    for recorded in stored:
        event = next(line for line in lines if isinstance(line, RecordedEvent))
        if not _is_same(recorded, event, key):
            raise IdempotencyMismatch(
                f"version {recorded.version} is another event here than in the file: "
                "import into another store, or export again"
            )


def _is_same(recorded: RecordedEvent, event: RecordedEvent, key: str) -> bool:
    if recorded.event_id == event.event_id and (
        recorded.digest == event.digest or (recorded.body == event.body is not None)
    ):
        return True
    return event.version == 1 and recorded.event() == _renamed_start(event, key)


def _renamed(lines: Iterator[Line], key: str | None) -> Iterator[Line | NewEvent]:
    """Yield the lines, the first event rewritten to begin the conversation under another key."""
    for line in lines:
        if key is not None and isinstance(line, RecordedEvent) and line.version == 1:
            yield _started(line, key)
        else:
            yield line


def _started(first: RecordedEvent, key: str) -> NewEvent:
    header = first.client_header()
    stamp = Stamp(
        event_id=uuid7(),
        occurred_at=header.occurred_at,
        salt=first.salt or b"",
        tenant=header.tenant,
        conversation_id=header.conversation_id,
        actor=header.actor,
    )
    return draft(_renamed_start(first, key), stamp)


def _renamed_start(first: RecordedEvent, key: str) -> ConversationStarted:
    """Return how a conversation began, under another key."""
    start = first.event()
    rules = start.rules if isinstance(start, ConversationStarted) else 1
    return ConversationStarted(key=key, rules=rules)


def _append(
    backend: Backend,
    tenant: UUID,
    conversation_id: UUID,
    lines: Iterator[Line | NewEvent],
    present: int,
) -> None:
    batch: list[NewEvent] = []
    size = 0
    for line in lines:
        match line:
            case Piece():
                _store_blob(backend, tenant, conversation_id, line, lines)
            case RecordedEvent() | NewEvent():
                new = again(line) if isinstance(line, RecordedEvent) else line
                batch.append(new)
                size += len(new.body)
            case Beginning():
                raise InvalidExport("the file begins twice")
        if len(batch) == _BATCH_EVENTS or size >= _BATCH_BYTES:
            present = _commit(backend, Append(tenant, conversation_id, tuple(batch), present))
            batch, size = [], 0
    if batch:
        _commit(backend, Append(tenant, conversation_id, tuple(batch), present))


def _commit(backend: Backend, request: Append) -> int:
    """Append a batch; return the version that the conversation is at."""
    (result,) = backend.append((request,))
    if isinstance(result, Mismatch):
        raise IdempotencyMismatch(
            f"the {request.events[result.ordinal].type} event is in this store already, "
            "with other content or in another conversation"
        )
    return done_of(request, result).last


def again(recorded: RecordedEvent) -> NewEvent:
    """Return a recorded event as one that a log does not have yet, byte for byte."""
    event = recorded.event()
    if isinstance(event, Erased) or recorded.salt is None or recorded.body is None:
        raise InvalidExport("an erased event cannot be recorded again")
    return NewEvent(
        event_id=recorded.event_id,
        type=recorded.type,
        schema_version=recorded.schema_version,
        header=recorded.header,
        salt=recorded.salt,
        body=recorded.body,
        effect=NOTHING if isinstance(event, Unrecognised) else effect_of(event),
        once=None if isinstance(event, Unrecognised) else once_of(event),
        blobs=blobs_in(recorded),
        needs=need_of(event),
    )


def _store_blob(
    backend: Backend,
    tenant: UUID,
    conversation_id: UUID,
    first: Piece,
    lines: Iterator[Line | NewEvent],
) -> None:
    """Store a blob whose first piece was read; the others are the next lines."""

    def data() -> Iterator[bytes]:
        for piece in chain((first,), lines):
            if isinstance(piece, Piece):
                yield piece.data
                if piece.is_last:
                    return

    backend.put_blob(tenant, conversation_id, data())
