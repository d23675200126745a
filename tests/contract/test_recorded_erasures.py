"""An erasure is a fact on every backend: intended before anything goes, completed after all of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import StoredEvent

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.eventsourcing.backend_recorder import BackendRecorder
from onrecord.adapters.storage.eventsourcing.erasures import Erasure
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.store import Store, backend_of, tenancy_of
from onrecord.adapters.streams import listing
from onrecord.domain.errors import (
    ConversationNotFound,
    InvalidContent,
    InvalidInput,
    StorageReadOnly,
)
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import erasure_id, operators_of
from onrecord.domain.operators import INTENDED
from tests.contract.places import MemoryPlace, Place
from tests.factories import BECAUSE, TENANT
from tests.patience import PATIENCE

KEY = "support/4711"


class Death(BaseException):
    """The process ends here."""


def opened(backend: Backend, folder: Path) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=TENANT, actor="eve")


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return opened(backend, tmp_path)


def mortal(store: Store, patch: pytest.MonkeyPatch, last: int) -> None:
    """Let a store live for so many steps of an erasure; before and after each it may die."""
    steps = count()

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        def act(*arguments: Any, **named: Any) -> Any:
            if next(steps) == last:
                raise Death
            result = step(*arguments, **named)
            if next(steps) == last:
                raise Death
            return result

        return act

    for owner, name in (
        (backend_of(store), "append"),
        (backend_of(store), "forget"),
        (tenancy_of(store).spool, "forget"),
        (listing, "forks_of"),
    ):
        patch.setattr(owner, name, dying(getattr(owner, name)))


def by_opening(store: Store, conversation: UUID) -> None:
    del conversation
    store.resume_erasures()


def by_sweeping(store: Store, conversation: UUID) -> None:
    del conversation
    store.sweep()


def by_forgetting(store: Store, conversation: UUID) -> None:
    assert store.forget(conversation, **BECAUSE).events in (0, 2)


def by_forgetting_another(store: Store, conversation: UUID) -> None:
    del conversation
    with pytest.raises(ConversationNotFound):
        store.forget("nobody", **BECAUSE)


NEXT = [by_opening, by_sweeping, by_forgetting, by_forgetting_another]


@pytest.mark.parametrize("next_comer", NEXT)
def test_a_death_at_any_step_is_finished_once_by_whoever_comes_next(
    backend: Backend, tmp_path: Path, next_comer: Callable[[Store, UUID], None]
) -> None:
    for last in count():
        store = opened(backend, tmp_path)
        chat = store.conversation(KEY)
        chat.user("swordfish")
        fork = chat.fork(f"fork {last}").conversation_id
        conversation = chat.conversation_id
        with pytest.MonkeyPatch.context() as patch:
            mortal(store, patch, last)
            try:
                store.forget(KEY, **BECAUSE)
            except Death:
                is_alive = False
            else:
                is_alive = True
        begun = store.erasures(conversation)
        if not begun:
            assert [event.body is None for event in backend.read(conversation)] == [False, False]
            store.forget(conversation, **BECAUSE)
        unfinished = [one for one in begun if one.outcome is None]
        verified = opened(backend, tmp_path).verify()
        assert verified.unfinished == tuple(one.conversation_id for one in unfinished)
        next_comer(opened(backend, tmp_path), conversation)
        (entry,) = store.erasures(conversation)
        assert entry.outcome is not None
        assert (entry.outcome.events, entry.outcome.forks) == (2, (fork,))
        assert (entry.intention.actor, entry.intention.reason) == ("ana", "asked to")
        assert len(list(backend.read(entry.erasure_id))) == 2
        assert {event.body for event in backend.read(conversation)} == {None}
        assert backend.find(TENANT, KEY) is None
        if is_alive:
            assert last >= 12
            break
    assert opened(backend, tmp_path).verify().unfinished == ()


def test_what_says_nothing_any_more_is_not_erased_again(store: Store) -> None:
    chat = store.conversation(KEY)
    chat.user("swordfish")
    assert store.forget(KEY, **BECAUSE).events == 2
    assert store.forget(chat.conversation_id, reason="again", actor="bob").events == 0
    (entry,) = store.erasures()
    assert entry.intention.actor == "ana"


def test_the_erasures_of_a_conversation_are_listed_by_its_id_or_its_key(store: Store) -> None:
    erased, said = store.conversation(KEY), store.conversation("support/0815")
    erased.user("swordfish")
    said.user("Hello")
    store.forget(KEY, **BECAUSE)
    (entry,) = store.erasures(erased.conversation_id)
    assert entry.conversation_id == erased.conversation_id
    assert store.erasures("support/0815") == store.erasures(said.conversation_id) == []
    with pytest.raises(ConversationNotFound):
        store.erasures(KEY)
    wrong: Any = 5
    with pytest.raises(InvalidContent, match="a key is a text"):
        store.erasures(wrong)


def test_documents_before_anything_was_said_are_erased_as_often_as_they_come(store: Store) -> None:
    chat = store.conversation(KEY)
    for _ in range(2):
        backend_of(store).open(TENANT, KEY, chat.conversation_id)
        backend_of(store).put_blob(TENANT, chat.conversation_id, [b"report"])
        assert store.forget(KEY, **BECAUSE).events == 0
    entries = store.erasures(chat.conversation_id)
    assert [one.intention.number for one in entries] == [1, 0]
    assert all(one.outcome is not None for one in entries)


def test_forgetting_and_opening_read_no_erasure_that_was_finished_before(
    backend: Backend, tmp_path: Path
) -> None:
    store = opened(backend, tmp_path)
    for number in range(5):
        store.conversation(f"{number}").user("swordfish")
        store.forget(f"{number}", **BECAUSE)
    before = {one.erasure_id for one in store.erasures()}
    last = store.conversation(KEY)
    last.user("swordfish")
    looked_at: list[UUID] = []

    def reading(conversation_id: UUID, **part: Any) -> Any:
        looked_at.append(conversation_id)
        return read(conversation_id, **part)

    def listing(tenant: UUID) -> Any:
        assert tenant != operators_of(TENANT)
        return listed(tenant)

    read, listed = backend.read, backend.conversations
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "read", reading)
        patch.setattr(backend, "conversations", listing)
        store.forget(KEY, **BECAUSE)
        assert opened(backend, tmp_path).resume_erasures() == 0
    assert erasure_id(TENANT, last.conversation_id, 0) in looked_at
    assert before.isdisjoint(looked_at)


def test_an_id_that_never_begins_is_erased_with_few_looks_at_the_times_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, times = store.conversation(KEY), 40
    operators = Operators(backend_of(store), TENANT)
    for number in range(times):
        begun = operators.intend(chat.conversation_id, "ana", "asked to")
        assert begun.number == number
        operators.complete(begun.id, 0, (), "ana")
    looks: list[UUID] = []
    look = operators.erasure

    def looking(id_: UUID) -> Erasure | None:
        looks.append(id_)
        return look(id_)

    monkeypatch.setattr(operators, "erasure", looking)
    last, _ = operators.last_and_next(chat.conversation_id)
    assert last is not None
    assert last.number == times - 1
    assert len(looks) <= 2 * times.bit_length()


def damaged_erasure(backend: Backend) -> UUID:
    """An erasure that was begun, and says what nobody can read."""
    erasure = erasure_id(TENANT, uuid4(), 0)
    recorder = BackendRecorder(backend, operators_of(TENANT))
    recorder.insert_events([StoredEvent(erasure, 1, INTENDED, b'{"reason": 7}')])
    return erasure


def test_a_damaged_erasure_keeps_nobody_from_finishing_the_others(
    backend: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(backend, tmp_path)
    chat = store.conversation(KEY)
    chat.user("swordfish")
    damaged = damaged_erasure(backend)
    Operators(backend, TENANT).intend(chat.conversation_id, "ana", "asked to")
    assert store.resume_erasures() == 1
    assert str(damaged) in caplog.text
    verified = store.verify()
    assert verified.unfinished == ()
    assert damaged in {fault.conversation_id for fault in verified.faults}


def test_of_two_who_erase_at_once_one_says_so(place: Place, tmp_path: Path) -> None:
    first = place.open()
    second = first if isinstance(place, MemoryPlace) else place.open()
    chat = opened(first, tmp_path).conversation(KEY)
    chat.user("swordfish")
    conversation, begun = chat.conversation_id, Barrier(2)

    def forget(backend: Backend, who: str) -> int:
        store = opened(backend, tmp_path / who)
        begun.wait()
        return store.forget(conversation, reason="asked to", actor=who).events

    with ThreadPoolExecutor(2) as pool:
        erased = [pool.submit(forget, first, "ana"), pool.submit(forget, second, "bob")]
        assert {one.result(timeout=PATIENCE) for one in erased} <= {0, 2}
    (entry,) = opened(first, tmp_path).erasures()
    assert entry.outcome is not None
    assert entry.outcome.events == 2
    assert len(list(first.read(entry.erasure_id))) == 2
    first.close()
    second.close()


def test_who_erases_and_why_have_to_be_told(store: Store) -> None:
    store.conversation(KEY).user("swordfish")
    wrong: list[dict[str, Any]] = [{"reason": " "}, {"reason": 7}, {**BECAUSE, "actor": " "}]
    for named in wrong:
        with pytest.raises(InvalidInput) as raised:
            store.forget(KEY, **named)
        assert "swordfish" not in str(raised.value)
    nobody = Store(backend_of(store), "a store", spool=tenancy_of(store).spool, tenant=TENANT)
    with pytest.raises(InvalidInput, match="ONRECORD_ACTOR"):
        nobody.forget(KEY, reason="asked to")
    assert store.erasures() == []
    assert store.forget(KEY, reason="asked to").events == 2
    assert [one.intention.actor for one in store.erasures()] == ["eve"]


def test_no_list_shows_the_operators_stream_and_nothing_forgets_it(store: Store) -> None:
    chat = store.conversation(KEY)
    chat.user("swordfish")
    store.forget(KEY, **BECAUSE)
    (entry,) = store.erasures()
    assert [listed.conversation_id for listed in store.conversations()] == [chat.conversation_id]
    with pytest.raises(ConversationNotFound):
        store.forget(entry.erasure_id, **BECAUSE)
    with pytest.raises(StorageReadOnly, match="kept"):
        backend_of(store).forget(entry.erasure_id)
    operators = Store(
        backend_of(store),
        "theirs",
        spool=tenancy_of(store).spool,
        tenant=operators_of(TENANT),
        actor="eve",
    )
    with pytest.raises(StorageReadOnly, match="kept"):
        operators.forget(entry.erasure_id, reason="to hide it")
    assert store.erasures() == [entry]
    assert store.verify().is_whole


def test_no_header_names_who_or_why(store: Store) -> None:
    store.conversation(KEY).user("swordfish")
    store.forget(KEY, reason="Ms Meier asked to", actor="ana.meier")
    (entry,) = store.erasures()
    for event in backend_of(store).read(entry.erasure_id):
        assert b"eier" not in event.header
        assert event.client_header().actor == backend_of(store).digest("ana.meier").hex()


def test_a_tenant_sees_its_own_erasures_only(backend: Backend, tmp_path: Path) -> None:
    ours = opened(backend, tmp_path)
    theirs = Store(backend, "theirs", spool=Spool(tmp_path / "b"), tenant=uuid4(), actor="eve")
    ours.conversation(KEY).user("Hello")
    erased = ours.conversation(KEY).conversation_id
    ours.forget(KEY, **BECAUSE)
    assert theirs.erasures() == theirs.erasures(erased) == []
