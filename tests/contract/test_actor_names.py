"""The names of those who act: kept beside the log, shown until they are erased, and erased for good."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.recording.actor_names import ActorNames
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.actors import actor_id
from onrecord.domain.errors import InvalidContent, InvalidInput
from onrecord.domain.log import Backend
from tests.awaited import awaited
from tests.factories import BECAUSE, TENANT
from tests.patience import PATIENCE


def opened(
    backend: Backend, folder: Path, actor: str | None = None, tenant: UUID = TENANT
) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=tenant, actor=actor)


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return opened(backend, tmp_path)


def kept(store: Store, *names: str) -> list[str]:
    """Those of the names that the directory has."""
    backend = backend_of(store)
    digests = [backend.digest(name) for name in names]
    there = backend.actors().names(store.tenant, digests)
    assert all(there.get(backend.digest(name), name) == name for name in names)
    return [name for name in names if backend.digest(name) in there]


def test_a_name_is_kept_with_the_first_event_that_bears_it_and_not_before(store: Store) -> None:
    chat = store.conversation("talk", actor="ana", on_behalf_of="bob")
    assert chat.events() == []
    with chat.recording(actor="cleo"):
        pass
    assert kept(store, "ana", "bob", "cleo") == []
    chat.user("Hello")
    assert kept(store, "ana", "bob", "cleo") == ["ana", "bob"]


def test_a_name_is_there_when_its_first_event_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = backend_of(store)
    append, there = backend.append, list[list[str]]()

    def looked(appends: Any) -> Any:
        there.append(kept(store, "ana"))
        return append(appends)

    monkeypatch.setattr(backend, "append", looked)
    store.conversation("talk", actor="ana").user("Hello")
    assert there == [["ana"]]


def test_where_the_name_cannot_be_kept_nothing_is_recorded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = backend_of(store)

    def full() -> Any:
        raise onrecord.StorageFull("no room")

    chat = store.conversation("talk", actor="ana")
    with monkeypatch.context() as patch:
        patch.setattr(backend, "actors", full)
        with pytest.raises(onrecord.StorageFull):
            chat.user("Hello")
    assert chat.events() == []
    chat.user("Hello")
    assert kept(store, "ana") == ["ana"]


def test_a_name_is_written_once_by_a_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()
    actors = backend_of(store).actors

    def counted() -> Any:
        asked.append("")
        return actors()

    monkeypatch.setattr(backend_of(store), "actors", counted)
    for turn in range(5):
        store.conversation("talk", actor="ana").user(str(turn))
    assert len(asked) == 1


async def test_awaited_appends_keep_names_too(store: Store) -> None:
    store.conversation("talk").user("Hello")
    event = onrecord.MessageRecorded(role="user", content=(onrecord.Text(text="Hi"),))
    chat = store.conversation("talk", actor="ana")
    chat.user("I am here")
    with chat.recording(actor="bob"):
        await awaited(chat).log.append(event)
    assert kept(store, "ana", "bob") == ["ana", "bob"]


def test_many_that_act_by_one_name_at_once_keep_it_once(backend: Backend, tmp_path: Path) -> None:
    both = Barrier(4)

    def act(number: int) -> None:
        chat = opened(backend, tmp_path / str(number), actor="ana").conversation(str(number))
        both.wait(PATIENCE)
        chat.user("Hello")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(act, range(4)))
    assert len(list(backend.actors().stored())) == 1


# -- forgetting ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [str, "digest"])
def test_a_forgotten_name_is_gone_and_its_digest_stays(store: Store, by: Any) -> None:
    for name in ("ana", "bob"):
        store.conversation(name, actor=name).user("Hello")
    digest = backend_of(store).digest("ana").hex()
    store.forget_actor(digest if by == "digest" else "ana", **BECAUSE)
    assert kept(store, "ana", "bob") == ["bob"]
    headers = [event.client_header() for event in store.conversation("ana").events()]
    assert [header.actor for header in headers] == [digest, digest]
    (entry,) = store.erasures()
    assert (entry.intention.named, entry.intention.reason) == (digest, "asked to")
    assert entry.outcome is not None
    verified = store.verify()
    assert verified.faults == ()
    assert verified.unfinished == ()


def test_a_forgotten_name_is_not_written_again_by_what_goes_on(store: Store) -> None:
    chat = store.conversation("talk", actor="ana")
    chat.user("Hello")
    store.forget_actor("ana", **BECAUSE)
    chat.user("Still here")
    store.conversation("other", actor="ana").user("And here")
    assert kept(store, "ana") == []


def test_a_name_that_is_forgotten_between_the_look_and_the_write_of_a_thread_stays_away(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(backend, tmp_path).conversation("first", actor="ana").user("Hello")
    store = opened(backend, tmp_path)  # It has not written the name yet.
    directory = type(backend.actors())
    keep, forgotten = directory.keep, list[str]()

    def forget_first(self: Any, tenant: UUID, digest: bytes, name: str) -> None:
        if not forgotten:
            forgotten.append(name)
            store.forget_actor("ana", **BECAUSE)
        keep(self, tenant, digest, name)

    monkeypatch.setattr(directory, "keep", forget_first)
    store.conversation("second", actor="ana").user("Hello")
    assert forgotten == ["ana"]
    assert kept(store, "ana") == []


def test_a_name_that_another_store_forgot_stays_away_however_many_names_act_since() -> None:
    with onrecord.connect("memory://") as ours:
        names = ActorNames(backend_of(ours), ours.tenant)  # Of another store of the same log.
        names.keep(names.attribution(actor="ana"))
        ours.forget_actor("ana", **BECAUSE)
        for number in range(20_000):
            names.keep(names.attribution(actor=f"actor {number}"))
        names.keep(names.attribution(actor="ana", on_behalf_of="actor 1"))
        assert kept(ours, "ana", "actor 0", "actor 19999") == ["actor 0", "actor 19999"]


def test_a_store_that_is_opened_later_writes_the_name_of_whoever_acts_anew(
    backend: Backend, tmp_path: Path
) -> None:
    first = opened(backend, tmp_path)
    first.conversation("talk", actor="ana").user("Hello")
    first.forget_actor("ana", **BECAUSE)
    later = opened(backend, tmp_path)
    later.conversation("talk").user("Not in her name")
    assert kept(later, "ana") == []
    later.conversation("talk", actor="ana").user("Hello again")
    assert kept(later, "ana") == ["ana"]
    later.forget_actor("ana", **BECAUSE)
    assert kept(later, "ana") == []
    assert sorted(entry.intention.number for entry in later.erasures()) == [0, 1]
    assert later.verify().faults == ()


def test_what_is_no_name_that_is_kept_cannot_be_forgotten(store: Store) -> None:
    store.conversation("talk", actor="ana").user("Hello")
    for nobody in ("bob", "0" * 32):
        with pytest.raises(InvalidInput, match="no such name"):
            store.forget_actor(nobody, **BECAUSE)
    nothing: tuple[Any, ...] = ("", 7)
    for none in nothing:
        with pytest.raises(InvalidContent):
            store.forget_actor(none, **BECAUSE)
    with pytest.raises(InvalidContent):
        store.forget_actor("ana", reason=" ", actor="ana")
    assert kept(store, "ana") == ["ana"]
    assert store.erasures() == []


def test_a_name_is_its_tenants_own(backend: Backend, tmp_path: Path) -> None:
    ours = opened(backend, tmp_path)
    theirs = opened(backend, tmp_path, tenant=uuid4())
    for store in (ours, theirs):
        store.conversation("talk", actor="ana").user("Hello")
    ours.forget_actor("ana", **BECAUSE)
    assert (kept(ours, "ana"), kept(theirs, "ana")) == ([], ["ana"])


def test_an_id_of_another_tenants_name_erases_nothing(backend: Backend, tmp_path: Path) -> None:
    ours, theirs = opened(backend, tmp_path), opened(backend, tmp_path, tenant=uuid4())
    theirs.conversation("talk", actor="ana").user("Hello")
    id_ = actor_id(theirs.tenant, backend.digest("ana"))
    with pytest.raises(InvalidInput, match="no such name"):
        ours.forget_actor(str(id_), **BECAUSE)
    assert (ours.erasures(), kept(theirs, "ana")) == ([], ["ana"])
    theirs.forget_actor(str(id_), **BECAUSE)
    assert kept(theirs, "ana") == []


class Death(BaseException):
    """The process ends here."""


def mortal(last: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Wraps verbs so that before or after the step of this number the process ends."""
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

    return dying


def test_a_death_at_any_step_is_finished_by_whoever_opens_the_store(
    backend: Backend, tmp_path: Path
) -> None:
    for last in count():
        dying = mortal(last)
        name = f"ana {last}"
        store = opened(backend, tmp_path)
        store.conversation("talk", actor=name).user("Hello")
        is_whole = True
        with pytest.MonkeyPatch.context() as patch:
            for verb in ("append", "forget"):
                patch.setattr(backend, verb, dying(getattr(backend, verb)))
            try:
                store.forget_actor(name, **BECAUSE)
            except Death:
                is_whole = False
        id_ = actor_id(TENANT, backend.digest(name))
        begun = store.erasures(id_)
        opened(backend, tmp_path).resume_erasures()
        assert kept(store, name) == ([] if begun else [name])
        assert all(one.outcome is not None for one in store.erasures(id_))
        assert store.verify().faults == ()
        if is_whole:
            return


# -- looking ---------------------------------------------------------------------------------


def test_a_name_that_was_changed_is_a_fault(backend: Backend, tmp_path: Path) -> None:
    store = opened(backend, tmp_path)
    backend.actors().keep(TENANT, backend.digest("ana"), "bob")
    (fault,) = store.verify().faults
    assert "the name of the actor" in fault.why
    assert "bob" not in fault.why


def test_a_name_may_hold_any_character(store: Store) -> None:
    for name in ("a\0b", "Ж 名 👋", "x" * 500):
        store.conversation("talk", actor=name).user("Hello")
        assert kept(store, name) == [name]


def test_a_name_that_is_too_long_is_refused_and_nothing_is_recorded(store: Store) -> None:
    for who in ({"actor": "x" * 501}, {"actor": "ana", "on_behalf_of": "é" * 501}):
        with pytest.raises(InvalidContent, match="501 characters, and it may have 500"):
            store.conversation("talk", **who).user("Hello")
    assert list(store.conversations()) == []
    assert kept(store, "ana") == []


def test_an_answer_of_a_program_that_is_refused_leaves_no_name_of_who_gave_it(store: Store) -> None:
    store.conversation("talk").user("Hello")
    call = onrecord.AssistantCall("track", {"id": 1}, id="call_1")
    store.conversation("talk").assistant("Hi", calls=[call], message_id="m1")
    chat = store.conversation("talk", actor="ana", on_behalf_of="bob")
    version = chat.head().version
    with pytest.raises(InvalidContent, match="is open"):
        chat.assistant(None, calls=[call])
    with pytest.raises(onrecord.IdempotencyMismatch):
        chat.assistant("Something else", message_id="m1")
    with pytest.raises(onrecord.VersionConflict):
        chat.assistant("Hello", expected_version=version - 1)
    assert (chat.head().version, kept(store, "ana", "bob")) == (version, [])
    assert chat.assistant("Hi", calls=[call], message_id="m1").last == version
    chat.assistant("Hello", expected_version=version)
    assert kept(store, "ana", "bob") == ["ana", "bob"]
