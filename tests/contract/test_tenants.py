"""Tenants share a log and do not meet in it: what is one's takes nothing from another."""

from dataclasses import replace
from itertools import islice
from uuid import UUID, uuid4

import pytest

from onrecord.domain.errors import StorageReadOnly
from onrecord.domain.log import Backend, Recorded
from tests.contract.opened import TENANTS
from tests.factories import (
    OTHER_TENANT,
    TENANT,
    answer,
    appending,
    drafted,
    prompt,
    started,
    tool_result,
)
from tests.ledger import verified_log


def test_another_tenants_append_is_refused_with_all_beside_it(backend: Backend) -> None:
    theirs, new = uuid4(), uuid4()
    backend.append([appending(theirs, started())])
    before = verified_log(backend)
    with pytest.raises(StorageReadOnly, match="another tenant's"):
        backend.append(
            [
                appending(new, started(), tenant=OTHER_TENANT),
                appending(theirs, answer(), tenant=OTHER_TENANT),
            ]
        )
    assert verified_log(backend) == before
    assert backend.head(new).version == 0


@pytest.mark.parametrize("other", TENANTS[1:])
def test_a_batch_that_begins_a_conversation_keeps_others_out_of_it(
    backend: Backend, other: UUID
) -> None:
    conversation = uuid4()
    with pytest.raises(StorageReadOnly, match="another tenant's"):
        backend.append(
            [
                appending(conversation, started(), tenant=TENANTS[0]),
                appending(uuid4(), started(), tenant=TENANTS[0]),
                appending(conversation, answer(), tenant=other),
            ]
        )
    assert verified_log(backend) == []


def test_another_tenant_does_not_learn_what_was_recorded(backend: Backend) -> None:
    conversation = uuid4()
    known = drafted(tool_result("c1"), conversation)
    backend.append([appending(conversation, known)])
    for guess in (known, tool_result("c1"), tool_result("c1", "another")):
        with pytest.raises(StorageReadOnly, match="another tenant's"):
            backend.append([appending(conversation, guess, tenant=OTHER_TENANT)])


def test_another_tenant_puts_no_blob_and_no_key_on_a_conversation(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started())])
    for data in (b"report", b"long" * 1024 * 1024):
        with pytest.raises(StorageReadOnly, match="another tenant's"):
            backend.put_blob(OTHER_TENANT, conversation, [data])
    with pytest.raises(StorageReadOnly, match="another tenant's"):
        backend.open(OTHER_TENANT, "mine", conversation)
    assert backend.find(OTHER_TENANT, "mine") is None
    assert backend.sweep_blobs(0) == 0


def test_a_conversation_belongs_to_who_began_it(backend: Backend) -> None:
    conversation = backend.open(TENANT, "ada")
    assert backend.owner(conversation) is None
    backend.append([appending(conversation, started("ada"))])
    assert backend.owner(conversation) == TENANT
    backend.forget(conversation)
    assert backend.owner(conversation) == TENANT


def test_a_subscription_may_bring_one_tenants_events_only(backend: Backend) -> None:
    own, tenants = uuid4(), [uuid4() for _ in range(12)]
    (verdict,) = backend.append([appending(own, started(), prompt())])
    assert isinstance(verdict, Recorded)
    (mine,) = [cursor for cursor in backend.cursors() if cursor.position]
    with backend.subscribe(replace(mine, position=0), TENANT) as subscription:
        assert [event.version for event in islice(subscription, 2)] == [1, 2]
        for tenant in tenants:
            backend.append([appending(uuid4(), started(), tenant=tenant)])
        backend.append([appending(own, answer())])
        assert next(subscription).version == 3
    with backend.subscribe(replace(mine, position=0)) as subscription:
        (end,) = [cursor for cursor in backend.cursors() if cursor.shard == mine.shard]
        everything = [event.position for event in islice(subscription, end.position)]
        assert everything == list(range(1, end.position + 1))
