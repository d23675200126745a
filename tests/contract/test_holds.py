"""A legal hold overrides every erasure, on every backend: by the order in the log where both come at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.store import Store, backend_of, erase_in
from onrecord.domain.errors import ConversationNotFound, ConversationOnHold, InvalidInput
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import hold_id
from tests.contract.http_places import HTTP_PLACES
from tests.contract.places import WHERE_THE_LOG_IS, MemoryPlace, Place
from tests.factories import BECAUSE, TENANT
from tests.patience import PATIENCE

KEY = "support/4711"
CASE = {"matter": "Smith v. Example", "reason": "claim of 3 March"}


def opened(backend: Backend, folder: Path, tenant: UUID = TENANT) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=tenant, actor="eve")


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return opened(backend, tmp_path)


def is_there(store: Store, conversation_id: UUID) -> bool:
    return all(event.body is not None for event in backend_of(store).read(conversation_id))


def test_what_a_hold_keeps_is_not_forgotten_before_it_is_lifted(store: Store) -> None:
    chat = store.conversation(KEY)
    chat.user("swordfish")
    hold = store.retention.place_hold(KEY, **CASE)
    with pytest.raises(ConversationOnHold, match=r"Smith v\. Example") as refused:
        store.forget(KEY, **BECAUSE)
    assert str(hold.hold_id) in str(refused.value)
    assert "swordfish" not in str(refused.value)
    assert is_there(store, chat.conversation_id)
    assert store.erasures() == []
    assert store.retention.lift_hold(hold.hold_id, reason="settled", actor="ben") is True
    assert store.forget(KEY, **BECAUSE).events == 2
    assert store.verify(chat.conversation_id).is_whole


def test_a_hold_on_all_keeps_every_conversation_and_the_names_of_actors(store: Store) -> None:
    store.conversation(KEY, actor="ann").user("swordfish")
    hold = store.retention.place_hold(**CASE)
    with pytest.raises(ConversationOnHold, match="all that this tenant has"):
        store.forget(KEY, **BECAUSE)
    with pytest.raises(ConversationOnHold):
        store.forget_actor("ann", **BECAUSE)
    store.retention.lift_hold(hold.hold_id, reason="settled")
    assert store.forget(KEY, **BECAUSE).events == 2


def test_of_two_holds_each_keeps_until_it_is_lifted(store: Store) -> None:
    store.conversation(KEY).user("swordfish")
    first = store.retention.place_hold(KEY, **CASE)
    second = store.retention.place_hold(KEY, matter="another", reason="audit")
    assert second.hold_id == hold_id(TENANT, store.get(KEY).conversation_id, 1)
    store.retention.lift_hold(first.hold_id, reason="settled")
    with pytest.raises(ConversationOnHold, match="another"):
        store.forget(KEY, **BECAUSE)
    assert store.retention.holds(KEY) == [second]
    assert [one.hold_id for one in store.retention.holds(KEY, lifted=True)] == [
        first.hold_id,
        second.hold_id,
    ]


def test_holds_tell_who_placed_and_lifted_them_when_and_why(store: Store) -> None:
    store.conversation(KEY).user("Hello")
    placed = store.retention.place_hold(KEY, **CASE, actor="ana")
    assert store.retention.holds() == [placed]
    assert (placed.placed.actor, placed.placed.reason) == ("ana", "claim of 3 March")
    assert store.retention.lift_hold(placed.hold_id, reason="settled", actor="ben") is True
    assert store.retention.lift_hold(placed.hold_id, reason="settled", actor="ben") is False
    assert store.retention.holds() == []
    (entry,) = store.retention.holds(lifted=True)
    assert entry.lifted is not None
    assert (entry.lifted.actor, entry.lifted.reason) == ("ben", "settled")
    assert entry.lifted_time is not None
    assert entry.lifted_time >= entry.placed_time


def test_only_what_is_there_can_be_held_and_only_a_hold_can_be_lifted(store: Store) -> None:
    with pytest.raises(ConversationNotFound):
        store.retention.place_hold("nobody", **CASE)
    with pytest.raises(InvalidInput, match="no hold"):
        store.retention.lift_hold(uuid4(), reason="settled")
    with pytest.raises(InvalidInput, match="matter"):
        store.retention.place_hold(matter=" ", reason="claim")
    assert store.retention.holds() == []


def test_a_tenant_sees_and_obeys_its_own_holds_only(backend: Backend, tmp_path: Path) -> None:
    ours, theirs = opened(backend, tmp_path), opened(backend, tmp_path / "b", uuid4())
    ours.conversation(KEY).user("Hello")
    theirs.conversation(KEY).user("Hello")
    hold = ours.retention.place_hold(**CASE)
    assert theirs.retention.holds() == []
    with pytest.raises(InvalidInput, match="no hold"):
        theirs.retention.lift_hold(hold.hold_id, reason="settled")
    assert theirs.forget(KEY, **BECAUSE).events == 2


def test_a_hold_before_the_intent_in_the_log_refuses_the_erasure_for_good(store: Store) -> None:
    chat = store.conversation(KEY)
    chat.user("swordfish")
    hold = store.retention.place_hold(KEY, **CASE)
    # Somebody looked before the hold was placed, and intended it behind the hold.
    Operators(backend_of(store), TENANT).intend(chat.conversation_id, "ana", "asked to")
    assert store.resume_erasures() == 0
    (entry,) = store.erasures(chat.conversation_id)
    assert entry.refusal is not None
    assert entry.refusal.hold == hold.hold_id
    store.retention.lift_hold(hold.hold_id, reason="settled")
    assert store.resume_erasures() == 0
    assert is_there(store, chat.conversation_id)
    assert store.forget(KEY, **BECAUSE).events == 2
    last, first = store.erasures(chat.conversation_id)
    assert (first.refusal, last.intention.number) == (entry.refusal, 1)


def test_a_hold_behind_the_intent_in_the_log_comes_too_late(store: Store) -> None:
    chat = store.conversation(KEY)
    chat.user("swordfish")
    Operators(backend_of(store), TENANT).intend(chat.conversation_id, "ana", "asked to")
    store.retention.place_hold(KEY, **CASE)
    assert store.resume_erasures() == 1
    assert not is_there(store, chat.conversation_id)
    assert store.verify(chat.conversation_id).is_whole


def test_of_a_hold_and_an_erasure_at_once_the_first_in_the_log_counts(
    place: Place, tmp_path: Path
) -> None:
    first = place.open()
    second = first if isinstance(place, MemoryPlace) else place.open()
    stores = opened(first, tmp_path / "a"), opened(second, tmp_path / "b")
    for number in range(6):
        chat = stores[0].conversation(f"chat {number}")
        chat.user("swordfish")
        conversation, begun = chat.conversation_id, Barrier(2)

        def forget(conversation: UUID = conversation, begun: Barrier = begun) -> bool:
            begun.wait()
            try:
                return stores[0].forget(conversation, **BECAUSE).events == 2
            except ConversationOnHold:
                return False

        def hold(conversation: UUID = conversation, begun: Barrier = begun) -> int:
            begun.wait()
            return stores[1].retention.place_hold(conversation, **CASE).position

        with ThreadPoolExecutor(2) as pool:
            erasing, holding = pool.submit(forget), pool.submit(hold)
            is_erased, held_at = erasing.result(PATIENCE), holding.result(PATIENCE)
        begins = [one.position for one in stores[0].erasures(conversation)]
        came_first = bool(begins) and begins[0] < held_at
        assert is_erased == came_first
        assert is_there(stores[0], conversation) == (not came_first)
        assert stores[0].resume_erasures() == 0
        assert is_there(stores[0], conversation) == (not came_first)
    first.close()
    second.close()


@pytest.mark.parametrize("place", [*HTTP_PLACES], indirect=True)
def test_a_service_erases_nothing_that_a_hold_keeps_whatever_its_client_does(
    place: Place, tmp_path: Path
) -> None:
    backend = place.open()
    store = opened(backend, tmp_path)
    chat = store.conversation(KEY)
    chat.user("swordfish")
    hold = store.retention.place_hold(KEY, **CASE)
    with pytest.raises(ConversationOnHold, match=str(hold.hold_id)):
        backend.forget(chat.conversation_id)
    assert is_there(store, chat.conversation_id)
    backend.close()


@pytest.mark.parametrize("place", [*WHERE_THE_LOG_IS], indirect=True)
def test_verify_names_what_was_erased_past_a_hold(place: Place, tmp_path: Path) -> None:
    backend = place.open()
    store = opened(backend, tmp_path)
    chat = store.conversation(KEY)
    chat.user("swordfish")
    hold = store.retention.place_hold(KEY, **CASE)
    assert store.verify().is_whole
    assert store.verify().recorded_holds == 1
    operators = Operators(backend, TENANT)
    begun = operators.intend(chat.conversation_id, "eve", "to hide it")
    operators.complete(begun.id, erase_in(store, chat.conversation_id), (), "eve")
    (fault,) = store.verify().faults
    assert (fault.conversation_id, str(hold.hold_id) in fault.why) == (chat.conversation_id, True)
    backend.close()
