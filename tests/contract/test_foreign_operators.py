"""What the operators of one tenant write of another one: it erases, keeps and blocks nothing there."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from eventsourcing.domain import Aggregate

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.eventsourcing.erasures import Erasure
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.storage.eventsourcing.retention import Hold, Retention
from onrecord.adapters.store import Store, erase_in
from onrecord.domain.actors import actor_id
from onrecord.domain.errors import ConversationOnHold, CorruptRecord
from onrecord.domain.log import Backend
from onrecord.domain.operators import retention_id
from tests.contract.places import WHERE_THE_LOG_IS
from tests.factories import BECAUSE, OTHER_TENANT, TENANT

pytestmark = pytest.mark.parametrize("place", [*WHERE_THE_LOG_IS], indirect=True)

KEY = "support/4711"
CASE = {"matter": "Smith v. Example", "reason": "claim of 3 March"}


def opened(backend: Backend, folder: Path, tenant: UUID = TENANT) -> Store:
    spool = Spool(folder / f"spool {tenant}")
    return Store(backend, "a store", spool=spool, tenant=tenant, actor="eve")


def foreign(backend: Backend, aggregate: Aggregate) -> None:
    """Write a stream as the operators of OTHER_TENANT, under the id that it has of TENANT."""
    operators = Operators(backend, OTHER_TENANT)
    operators.save(aggregate)


def is_there(backend: Backend, conversation_id: UUID) -> bool:
    return all(event.body is not None for event in backend.read(conversation_id))


def test_an_erasure_of_what_another_tenant_has_is_not_carried_out(
    backend: Backend, tmp_path: Path
) -> None:
    ours, theirs = opened(backend, tmp_path), opened(backend, tmp_path, OTHER_TENANT)
    chat = ours.conversation(KEY)
    chat.user("swordfish")
    theirs.conversation(KEY).user("Hello")
    begun = Operators(backend, OTHER_TENANT).intend(chat.conversation_id, "mallory", "none")
    assert theirs.resume_erasures() == 0
    assert is_there(backend, chat.conversation_id)
    assert begun.id in {fault.conversation_id for fault in ours.verify().faults}


def test_an_erasure_of_the_name_of_another_tenant_s_actor_is_not_carried_out(
    backend: Backend, tmp_path: Path
) -> None:
    ours, theirs = opened(backend, tmp_path), opened(backend, tmp_path, OTHER_TENANT)
    ours.conversation(KEY, actor="ann").user("Hello")
    theirs.conversation(KEY).user("Hello")
    digest = backend.digest("ann")
    Operators(backend, OTHER_TENANT).intend(actor_id(TENANT, digest), "mallory", "none")
    assert theirs.resume_erasures() == 0
    assert backend.actors().names(TENANT, [digest])


def test_a_hold_and_an_erasure_by_other_operators_stand_in_nobody_s_way(
    backend: Backend, tmp_path: Path
) -> None:
    ours = opened(backend, tmp_path)
    opened(backend, tmp_path, OTHER_TENANT).conversation(KEY).user("Hello")
    chat = ours.conversation(KEY)
    chat.user("swordfish")
    squats: list[Aggregate] = [
        Hold(TENANT, None, 0, "squat", "mallory", "none"),
        Hold(TENANT, chat.conversation_id, 0, "squat", "mallory", "none"),
        Erasure(TENANT, chat.conversation_id, 0, "mallory", "none"),
    ]
    for squat in squats:
        foreign(backend, squat)
    assert ours.retention.holds(KEY) == []
    hold = ours.retention.place_hold(KEY, **CASE)
    with pytest.raises(ConversationOnHold, match=str(hold.hold_id)):
        ours.forget(KEY, **BECAUSE)
    ours.retention.lift_hold(hold.hold_id, reason="settled")
    assert ours.forget(KEY, **BECAUSE).events == 2
    faulty = {fault.conversation_id for fault in ours.verify().faults}
    assert {squat.id for squat in squats} <= faulty


def test_a_retention_class_that_other_operators_set_is_none(
    backend: Backend, tmp_path: Path
) -> None:
    ours = opened(backend, tmp_path)
    opened(backend, tmp_path, OTHER_TENANT).conversation(KEY).user("Hello")
    ours.conversation(KEY).user("Hello")
    id_ = retention_id(backend.digest, TENANT)
    foreign(backend, Retention.begin(id_, TENANT, None, None, None, 1, "mallory", "none"))
    assert ours.retention.class_of(KEY) is None
    with pytest.raises(CorruptRecord, match="another tenant"):
        ours.retention.set_class("six-years", rule="a rule")


def test_a_hold_on_a_fork_keeps_what_it_goes_on_from(backend: Backend, tmp_path: Path) -> None:
    store = opened(backend, tmp_path)
    origin = store.conversation(KEY)
    origin.user("swordfish")
    fork = origin.fork("fork")
    fork.user("and then?")
    fork.fork("fork of it").user("and now?")
    hold = store.retention.place_hold("fork of it", **CASE)
    for key in (KEY, "fork"):
        with pytest.raises(ConversationOnHold, match=str(hold.hold_id)):
            store.forget(key, **BECAUSE)
    store.retention.lift_hold(hold.hold_id, reason="settled")
    assert store.forget(KEY, **BECAUSE).events == 2


def test_verify_names_the_hold_that_an_erasure_without_an_intent_broke(
    backend: Backend, tmp_path: Path
) -> None:
    store = opened(backend, tmp_path)
    chat = store.conversation(KEY)
    chat.user("swordfish")
    hold = store.retention.place_hold(KEY, **CASE)
    assert erase_in(store, chat.conversation_id) == 2
    assert any(str(hold.hold_id) in fault.why for fault in store.verify().faults)
