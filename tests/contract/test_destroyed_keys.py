"""A log takes no conversation that begins under the key of a subject that operators destroyed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.domain.encryption.bodies import ENCRYPTED, keys_looked_for
from onrecord.domain.encryption.keys import key_name, subject_key
from onrecord.domain.erasure.destroyed import KeyDestroyed
from onrecord.domain.head import Effect
from onrecord.domain.header import SALT_SIZE, ClientHeader, header_bytes
from onrecord.domain.log import Append, Backend, NewEvent, Recorded
from onrecord.domain.marks.marked_ids import destroyed_key_id, operators_of
from onrecord.domain.operators import DESTROYED, SubjectKeyDestroyed, encode_fact
from tests.contract.places import WHERE_THE_LOG_IS
from tests.factories import TENANT
from tests.patience import PATIENCE

# A client over HTTP appends in clear: the service encrypts.
where_the_log_is = pytest.mark.parametrize("place", [*WHERE_THE_LOG_IS], indirect=True)

GONE, OTHER = (subject_key(bytes([number]) * 32).key_id for number in (1, 2))


def begun(
    key: str | None, *, tenant: UUID = TENANT, metadata: dict[str, str] | None = None
) -> Append:
    """Return a conversation that begins under keys, as far as a log looks at it."""
    id_, event_id = uuid7(), uuid7()
    header = ClientHeader(
        event_id=event_id,
        tenant=tenant,
        conversation_id=id_,
        type="signal.received",
        schema_version=1,
        occurred_at=1_795_000_000_000_000,
        codec="json" if key is None else ENCRYPTED,
        key_id=key,
        metadata=metadata or {},
    )
    written, salt = header_bytes(header), bytes(SALT_SIZE)
    event = NewEvent(event_id, header.type, 1, written, salt, b"\x00" * 40, Effect())
    return Append(tenant, id_, (event,), 0)


def destroy(backend: Backend, key: str, tenant: UUID = TENANT) -> None:
    Operators(backend, tenant).destroy_key(key, uuid4(), "ann")


@where_the_log_is
def test_a_conversation_begins_under_no_destroyed_key_and_goes_on_under_it(
    backend: Backend,
) -> None:
    before = begun(GONE)
    assert isinstance(backend.append([before])[0], Recorded)
    destroy(backend, GONE)
    alone, beside = begun(GONE), begun(key_name([GONE, OTHER]))
    live, plain = begun(OTHER), begun(None, metadata={"key": OTHER})
    verdicts = backend.append([alone, beside, live, plain])
    place = key_name([GONE, OTHER]).split("+").index(GONE)
    assert verdicts[:2] == [KeyDestroyed(0), KeyDestroyed(place)]
    assert all(isinstance(verdict, Recorded) for verdict in verdicts[2:])
    assert backend.head(alone.conversation_id).version == 0
    # What began before is erased by its id, which closes it: the key is not asked for at each event.
    (event,) = begun(GONE).events
    on = Append(TENANT, before.conversation_id, (event,), 1)
    assert isinstance(backend.append([on])[0], Recorded)


@where_the_log_is
def test_a_key_is_destroyed_for_its_own_tenant_alone(backend: Backend) -> None:
    other = uuid7()
    backend.append([Append(other, uuid7(), ())])
    destroy(backend, GONE, other)
    assert isinstance(backend.append([begun(GONE)])[0], Recorded)
    assert backend.append([begun(GONE, tenant=other)]) == [KeyDestroyed(0)]


@where_the_log_is
def test_a_key_is_destroyed_once_and_the_stream_says_so(backend: Backend) -> None:
    destroy(backend, GONE)
    destroy(backend, GONE)
    stream = destroyed_key_id(TENANT, GONE)
    assert [event.type for event in backend.read(stream)] == ["subject_key.destroyed"]
    assert backend.head(stream).closed


@where_the_log_is
def test_a_key_that_goes_within_a_batch_is_gone_for_what_comes_behind_it(backend: Backend) -> None:
    backend.append([Append(TENANT, uuid7(), ())])
    operators, stream, event_id = operators_of(TENANT), destroyed_key_id(TENANT, GONE), uuid7()
    header = ClientHeader(
        event_id=event_id,
        tenant=operators,
        conversation_id=stream,
        type=DESTROYED,
        schema_version=1,
        occurred_at=1_795_000_000_000_000,
    )
    fact = SubjectKeyDestroyed(tenant=TENANT, key=GONE, erasure=uuid4(), at=1_795_000_000_000_000)
    said = NewEvent(
        event_id,
        DESTROYED,
        1,
        header_bytes(header),
        bytes(SALT_SIZE),
        encode_fact(fact),
        Effect(closes=True),
    )
    batch = [begun(GONE), Append(operators, stream, (said,), 0), begun(GONE)]
    before, destroyed, behind = backend.append(batch)
    assert isinstance(before, Recorded)
    assert isinstance(destroyed, Recorded)
    assert behind == KeyDestroyed(0)


@where_the_log_is
def test_who_begins_while_a_key_is_destroyed_comes_before_it_or_is_refused(
    backend: Backend,
) -> None:
    writers, rounds = 4, 8
    barrier = Barrier(writers + 1)

    def write(_: int) -> list[object]:
        barrier.wait(PATIENCE)
        return [backend.append([begun(GONE)])[0] for _ in range(rounds)]

    with ThreadPoolExecutor(writers) as pool:
        running = pool.map(write, range(writers))
        barrier.wait(PATIENCE)
        destroy(backend, GONE)
        verdicts = [verdict for each in running for verdict in each]
    (said,) = backend.read(destroyed_key_id(TENANT, GONE))
    assert len(verdicts) == writers * rounds
    for verdict in verdicts:
        assert isinstance(verdict, KeyDestroyed | Recorded)
        if isinstance(verdict, Recorded):
            assert verdict.position < said.position


def test_a_log_reads_the_keys_of_a_header_as_its_members_say() -> None:
    name = key_name([GONE, OTHER])
    assert keys_looked_for(header_of(begun(name))) == tuple(name.split("+"))
    assert keys_looked_for(header_of(begun(name, metadata={"key": GONE}))) == tuple(name.split("+"))
    assert keys_looked_for(header_of(begun("no key"))) == ()


def test_the_metadata_of_an_event_in_clear_names_no_key() -> None:
    metadata = {"codec": ENCRYPTED, "key": GONE}
    assert keys_looked_for(header_of(begun(None, metadata=metadata))) == ()


def header_of(append: Append) -> bytes:
    (event,) = append.events
    return event.header
