"""A subject is erased by its key: what was said of it is gone, who erased it and why stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.subject_keys import SubjectKeys
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.upkeep.erasing import Erasing
from onrecord.domain.encryption.subjects import conversation_subject
from onrecord.domain.encryption.wrapped import DestroyedKey
from onrecord.domain.errors import ConversationOnHold, InvalidInput
from onrecord.domain.log import Backend, CatalogueEntry, Recorded
from onrecord.domain.marks.marked_ids import destroyed_key_id, operators_of
from tests.contract.encrypted_places import EncryptedPlace
from tests.contract.places import WHERE_THE_LOG_IS, prepared
from tests.factories import TENANT, appending, prompt, started

ANN = "patient 4711"
WHY: dict[str, Any] = {"reason": "asked to, ticket 88", "rule": "GDPR 17(1)(a)"}
CANARY = "swordfish"


class Killed(Exception):
    """What ends a program amid an erasure, in a test."""


@pytest.fixture(params=WHERE_THE_LOG_IS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    for place in prepared(request.param, tmp_path):
        opened = EncryptedPlace(place, tmp_path).open()
        yield opened
        opened.close()


def opened(log: Backend, folder: Path, actor: str = "eve") -> Store:
    return Store(log, "a store", spool=Spool(folder / "spool"), tenant=TENANT, actor=actor)


@pytest.fixture
def store(log: EncryptedLog, tmp_path: Path) -> Store:
    return opened(log, tmp_path)


def said(store: Store, key: str, *names: str) -> UUID:
    """Begin a conversation about subjects, with a prompt that holds the canary."""
    log = backend_of(store)
    conversation_id = log.open(TENANT, key)
    begun = appending(conversation_id, started(key), prompt(f"{CANARY} of {key}"))
    about = tuple(event._replace(subjects=names) for event in begun.events)
    (verdict,) = log.append([begun._replace(events=about)])
    assert isinstance(verdict, Recorded)
    return conversation_id


def texts(log: Backend, conversation_id: UUID) -> list[bytes | None]:
    return [event.body for event in log.read(conversation_id)]


def test_an_erased_subject_leaves_a_trail_and_nothing_that_it_said(
    store: Store, log: EncryptedLog
) -> None:
    own, shared = said(store, "a", ANN), said(store, "b", "ben", ANN)
    other = said(store, "c", "ben")
    key = own_key(log, own)
    certificate = store.subjects.erase(ANN, **WHY)
    assert (certificate.conversations, certificate.events) == (2, 4)
    assert (certificate.actor, certificate.rule) == ("eve", WHY["rule"])
    assert certificate.key == key
    assert len(certificate.retired) == 1
    assert certificate.undoable_until is None
    assert texts(log, own) == texts(log, shared) == [None, None]
    assert None not in texts(log, other)
    assert log.keys is not None
    assert isinstance(log.keys.cipher_of(key), DestroyedKey)
    assert log.find(TENANT, "a") is None
    assert all(store.verify(each).is_whole for each in (own, shared, other))
    trail = b"".join(
        event.body or b""
        for line in log.conversations(operators_of(TENANT))
        for event in log.read(line.conversation_id)
    )
    assert ANN.encode() not in trail
    assert WHY["rule"].encode() in trail
    assert ANN not in json.dumps(certificate.document())
    assert store.subjects.conversations(ANN) == []
    (told,) = store.subjects.erasures(ANN)
    assert told.erasure_id == certificate.erasure_id
    assert told.intention.subject == store.subjects.digest(ANN) == certificate.subject
    assert store.subjects.erasures("ben") == []
    # To ask again is to have the same certificate.
    again = store.subjects.erase(ANN, **WHY)
    assert again.document() == certificate.document()
    assert store.verify().faults == ()


def own_key(log: EncryptedLog, conversation_id: UUID) -> str:
    (first,) = log.stored.first_events([conversation_id])
    return first.client_header().key_id or ""


def test_a_key_that_went_from_the_key_store_alone_is_a_fault_of_what_was_under_it(
    store: Store, log: EncryptedLog
) -> None:
    own, other = said(store, "a", ANN), said(store, "b", "ben")
    key = own_key(log, own)
    assert log.keys is not None
    log.keys.destroy([key])
    faults = store.verify().faults
    assert [(fault.conversation_id, fault.version) for fault in faults] == [(own, 1), (own, 2)]
    assert all(f"its key {key} is destroyed" in fault.why for fault in faults)
    assert CANARY not in str(faults)
    assert store.verify(other).is_whole
    # The log says it, and the texts were not forgotten yet: an erasure is under way.
    Operators(log, TENANT).destroy_key(key, own, "eve")
    assert store.verify().faults == ()


def test_a_log_that_was_set_back_to_before_an_erasure_is_told_of_it_by_the_key(
    store: Store, log: EncryptedLog
) -> None:
    own, other = said(store, "a", ANN), said(store, "b", "ben")
    key = own_key(log, own)
    assert log.keys is not None
    log.keys.destroy([key])
    assert store.verify().faults
    with pytest.raises(InvalidInput, match="name the key"):
        store.subjects.erase(ANN, **WHY)
    for wrong in (own_key(log, other), "no key", f"{key}.{own_key(log, other)}", "k" * 32):
        with pytest.raises(InvalidInput, match="no destroyed key"):
            store.subjects.erase(ANN, **WHY, destroyed_key=wrong)
    assert store.subjects.erasures(ANN) == []
    certificate = store.subjects.erase(ANN, **WHY, destroyed_key=key)
    assert (certificate.key, certificate.conversations, certificate.events) == (key, 1, 2)
    assert texts(log, own) == [None, None]
    assert None not in texts(log, other)
    assert log.find(TENANT, "a") is None
    assert store.verify().faults == ()
    # To ask again is to have the same certificate.
    for again in (key, None):
        made = store.subjects.erase(ANN, **WHY, destroyed_key=again)
        assert made.document() == certificate.document()


def test_a_hold_on_one_of_its_conversations_refuses_it(store: Store, log: EncryptedLog) -> None:
    first, second = said(store, "a", ANN), said(store, "b", ANN)
    hold = store.retention.place_hold("b", matter="Smith v. Example", reason="claim")
    assert [each.hold for each in store.subjects.conversations(ANN)] == [None, hold]
    with pytest.raises(ConversationOnHold, match="Smith"):
        store.subjects.erase(ANN, **WHY)
    assert None not in texts(log, first) + texts(log, second)
    assert store.erasures() == []
    store.retention.lift_hold(hold.hold_id, reason="settled")
    assert store.subjects.erase(ANN, **WHY).conversations == 2


def test_a_hold_that_comes_before_the_intent_in_the_log_refuses_it(
    store: Store, log: EncryptedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = said(store, "a", ANN)
    intend = Operators.intend

    def after_a_hold(self: Operators, *of: Any) -> Any:
        monkeypatch.undo()
        store.retention.place_hold("a", matter="a case", reason="claim")
        return intend(self, *of)

    monkeypatch.setattr(Operators, "intend", after_a_hold)
    with pytest.raises(ConversationOnHold, match="a case"):
        store.subjects.erase(ANN, **WHY)
    assert None not in texts(log, kept)
    assert log.head(destroyed_key_id(TENANT, own_key(log, kept))).version == 0
    assert [entry.refusal is not None for entry in store.erasures()] == [True]
    said(store, "b", ANN)  # The key is not destroyed, so it is still used.
    assert store.verify().faults == ()


def test_a_hold_that_comes_behind_the_intent_keeps_nothing(
    store: Store, log: EncryptedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = said(store, "a", ANN)
    destroy_key = Operators.destroy_key

    def after_a_hold(self: Operators, *of: Any) -> None:
        store.retention.place_hold("a", matter="a case", reason="claim")
        destroy_key(self, *of)

    monkeypatch.setattr(Operators, "destroy_key", after_a_hold)
    assert store.subjects.erase(ANN, **WHY).events == 2
    assert texts(log, gone) == [None, None]
    assert store.verify().faults == ()


STEPS: list[tuple[type, str]] = [
    (Operators, "destroy_key"),
    (SubjectKeys, "destroy"),
    (Erasing, "forget"),
    (SubjectKeys, "finish"),
    (Operators, "complete"),
]


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=[name for _, name in STEPS])
def test_an_erasure_that_dies_at_a_step_is_finished_by_whoever_opens_the_store(
    store: Store,
    log: EncryptedLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: tuple[type, str],
    is_done: bool,
) -> None:
    gone, other = said(store, "a", ANN), said(store, "b", "ben")
    owner, name = step
    monkeypatch.setattr(owner, name, _dying(getattr(owner, name), is_done=is_done))
    with pytest.raises(Killed):
        store.subjects.erase(ANN, **WHY)
    monkeypatch.undo()
    next_one = opened(log, tmp_path, "bot")
    next_one.resume_erasures()
    certificate = next_one.subjects.erase(ANN, **WHY)
    assert (certificate.actor, certificate.conversations, certificate.events) == ("eve", 1, 2)
    assert len(certificate.retired) == 1
    assert texts(log, gone) == [None, None]
    assert None not in texts(log, other)
    assert next_one.verify().is_whole


def _dying(verb: Callable[..., Any], *, is_done: bool) -> Callable[..., Any]:
    def die(*args: Any) -> Any:
        if is_done:
            verb(*args)
        raise Killed

    return die


def test_who_comes_back_has_another_key_though_a_program_kept_the_old_one(
    store: Store, log: EncryptedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = said(store, "a", ANN)
    late: list[UUID] = []
    destroy_key = Operators.destroy_key

    def and_somebody_writes(self: Operators, *of: Any) -> None:
        destroy_key(self, *of)
        # Its cipher is in memory, and the key store has the key as yet.
        late.append(said(store, "late", ANN))

    monkeypatch.setattr(Operators, "destroy_key", and_somebody_writes)
    assert store.subjects.erase(ANN, **WHY).conversations == 1
    monkeypatch.undo()
    assert texts(log, gone) == [None, None]
    assert None not in texts(log, late[0])
    assert own_key(log, late[0]) != own_key(log, gone)
    assert store.subjects.erase(ANN, **WHY).conversations == 1
    assert texts(log, late[0]) == [None, None]
    assert store.verify().faults == ()


def test_what_is_said_while_an_erasure_waits_is_erased_by_the_next_call(
    store: Store, log: EncryptedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = said(store, "a", ANN)
    first_key = own_key(log, gone)
    # As with keys in a variable, until its owner has rotated them.
    monkeypatch.setattr(SubjectKeys, "finish", _dying(SubjectKeys.finish, is_done=False))
    with pytest.raises(Killed):
        store.subjects.erase(ANN, **WHY)
    monkeypatch.undo()
    late = said(store, "late", ANN)
    certificate = store.subjects.erase(ANN, reason="again", rule="GDPR 21", actor="bob")
    assert (certificate.actor, certificate.reason, certificate.rule) == ("bob", "again", "GDPR 21")
    assert certificate.key == own_key(log, late) != first_key
    assert texts(log, gone) == texts(log, late) == [None, None]
    assert store.subjects.conversations(ANN) == []
    of_subject = [entry for entry in store.erasures() if entry.intention.subject is not None]
    assert {entry.intention.key for entry in of_subject} == {first_key, certificate.key}
    assert all(entry.outcome is not None for entry in of_subject)
    assert store.verify().faults == ()


def test_what_was_stored_before_a_conversation_began_is_erased_by_key_too(
    store: Store, log: EncryptedLog
) -> None:
    keys = log.keys
    assert keys is not None
    log.put_blob(TENANT, log.open(TENANT, "a"), [CANARY.encode()])
    own = conversation_subject(TENANT, said(store, "a", ANN))
    other = log.open(TENANT, "b")
    blob = log.put_blob(TENANT, other, [CANARY.encode()])
    key = keys.key_id_of(own)
    assert key is not None
    assert not isinstance(keys.cipher_of(key), DestroyedKey)
    store.subjects.erase(ANN, **WHY)
    assert isinstance(keys.cipher_of(key), DestroyedKey)
    assert keys.key_id_of(own) is None
    # The own keys of others stay.
    assert b"".join(log.get_blob(other, blob)) == CANARY.encode()


def test_an_erasure_looks_at_the_conversations_of_its_tenant_a_few_times_at_most(
    store: Store, log: EncryptedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        said(store, f"{number}", ANN)
    fork = store.conversation("0").fork("fork").conversation_id
    looks: list[UUID] = []
    listed = log.stored.conversations

    def looking(tenant: UUID) -> Iterator[CatalogueEntry]:
        looks.append(tenant)
        return listed(tenant)

    for place in (log, log.stored):
        monkeypatch.setattr(place, "conversations", looking)
    assert store.subjects.erase(ANN, **WHY).conversations == 7
    # Once for those under the key, once for their forks.
    assert looks.count(TENANT) == 2
    assert texts(log, fork)[0] is None
    assert store.verify().faults == ()


def test_what_is_kept_of_a_subject_is_handed_out_in_clear(store: Store, log: EncryptedLog) -> None:
    own = said(store, "a", ANN)
    said(store, "b", "ben")
    lines = [json.loads(line) for line in store.subjects.export(ANN)]
    assert [line.get("onrecord") for line in (lines[0], lines[-1])] == [
        "export of a subject",
        "end",
    ]
    assert lines[0]["conversations"] == 1
    assert lines[1] == {"conversation": str(own), "key": "a", "events": 2}
    assert f"{CANARY} of a" in lines[3]["body"]
    assert "of b" not in json.dumps(lines)
    assert ANN not in json.dumps(lines)


def test_who_was_never_named_is_neither_erased_nor_exported(store: Store) -> None:
    with pytest.raises(InvalidInput, match="check the name"):
        store.subjects.erase("nobody", **WHY)
    with pytest.raises(InvalidInput, match="check the name"):
        list(store.subjects.export("nobody"))
    said(store, "a", ANN)
    with pytest.raises(InvalidInput, match="rule"):
        store.subjects.erase(ANN, reason="asked to", rule=" ")


def test_a_store_that_is_not_encrypted_knows_no_subjects(
    store: Store, log: EncryptedLog, tmp_path: Path
) -> None:
    plain = opened(log.stored, tmp_path)
    with pytest.raises(InvalidInput, match="not encrypted"):
        plain.subjects.conversations(ANN)
