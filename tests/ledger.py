"""What must hold of any log at any time, read from outside: whoever wrote it, and however."""

from collections import defaultdict
from itertools import accumulate
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.storage.clocks import stamped
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import Backend, Cursor, RecordedEvent


def verified_log(backend: Backend) -> list[RecordedEvent]:
    """All events of all shards; fails unless they are dense, in order, and as committed to."""
    return [event for last in backend.cursors() for event in verified_shard(backend, last)]


def verified_shard(backend: Backend, last: Cursor) -> list[RecordedEvent]:
    events = backend.read_log(Cursor(last.incarnation, last.shard, 0), last.position)
    assert [event.position for event in events] == list(range(1, last.position + 1))
    assert all(event.shard == last.shard for event in events)
    times = [event.recorded_at for event in events]
    assert times == list(accumulate(times, stamped))
    for event in stored_of(backend).read_log(
        Cursor(last.incarnation, last.shard, 0), last.position
    ):
        verify_leaf(event)
    for conversation_id, own in by_conversation(events).items():
        verify_conversation(backend, conversation_id, own)
    return events


def verify_leaf(event: RecordedEvent) -> None:
    recorded = recorded_header(event.header, event.version, event.position, event.recorded_at)
    assert event.leaf == leaf(recorded, event.digest)
    if event.body is not None and event.salt is not None:
        assert event.digest == body_digest(event.salt, event.body)


def verify_conversation(
    backend: Backend, conversation_id: UUID, in_log_order: list[RecordedEvent]
) -> None:
    versions = [event.version for event in in_log_order]
    assert versions == list(range(1, len(versions) + 1))
    assert list(backend.read(conversation_id)) == in_log_order
    head = backend.head(conversation_id)
    assert (head.version, head.exchange) == (len(versions), in_log_order[-1].exchange)


def by_conversation(events: list[RecordedEvent]) -> dict[UUID, list[RecordedEvent]]:
    found: dict[UUID, list[RecordedEvent]] = defaultdict(list)
    for event in events:
        found[event.conversation_id].append(event)
    return found
