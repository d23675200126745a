"""The aggregate of an erasure: given what happened, when somebody acts, then what is recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.eventsourcing.erasures import Erasure
from onrecord.adapters.storage.eventsourcing.operators import Operators, OperatorsMapper
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.head import Head
from onrecord.domain.marks.marked_ids import erasure_id
from onrecord.domain.operators import ErasureCompleted, ErasureIntended, OperatorsFact, decode_fact
from tests.factories import TENANT

ERASED = UUID("018f0000-0000-7000-8000-000000000009")
ROOT = Path(__file__).parents[4]


def intended(actor: str = "ana", reason: str = "asked to", number: int = 0) -> Erasure:
    return Erasure(TENANT, ERASED, number, actor, reason)


def recorded(erasure: Erasure) -> list[OperatorsFact]:
    """What of it is to be recorded, as it will be read again."""
    mapper = OperatorsMapper(Operators(Memory(), TENANT).construct_transcoder())
    stored = [mapper.to_stored_event(event) for event in erasure.collect_events()]
    assert [mapper.to_stored_event(mapper.to_domain_event(event)) for event in stored] == stored
    return [decode_fact(event.topic, 1, event.state) for event in stored]


def test_given_nothing_when_somebody_intends_it_then_who_and_why_are_recorded() -> None:
    (fact,) = recorded(intended())
    assert isinstance(fact, ErasureIntended)
    assert (fact.tenant, fact.conversation_id) == (TENANT, ERASED)
    assert (fact.actor, fact.reason, fact.number) == ("ana", "asked to", 0)


@pytest.mark.parametrize(("actor", "reason"), [("", "asked to"), ("ana", " "), (" ", "")])
def test_given_nothing_when_nobody_or_no_reason_is_named_then_it_is_refused(
    actor: str, reason: str
) -> None:
    with pytest.raises(InvalidInput, match="who does it and why"):
        intended(actor, reason)


def test_given_an_intent_when_it_is_completed_then_how_much_and_the_forks_are_recorded() -> None:
    fork, erasure = uuid4(), intended()
    recorded(erasure)
    erasure.complete(601, [fork, fork])
    (fact,) = recorded(erasure)
    assert isinstance(fact, ErasureCompleted)
    assert (fact.tenant, fact.conversation_id) == (TENANT, ERASED)
    assert (fact.events, fact.forks) == (601, (fork,))


def test_given_an_intent_when_nobody_can_tell_the_forks_then_that_is_recorded() -> None:
    erasure = intended()
    recorded(erasure)
    erasure.complete(2, None)
    (fact,) = recorded(erasure)
    assert isinstance(fact, ErasureCompleted)
    assert fact.forks is None


def test_given_an_outcome_when_it_is_completed_again_then_it_is_refused() -> None:
    erasure = intended()
    erasure.complete(2, [])
    recorded(erasure)
    with pytest.raises(InvalidInput, match="completed already"):
        erasure.complete(2, [])
    assert recorded(erasure) == []


def test_given_an_intent_when_what_is_erased_is_said_to_stay_then_it_is_refused() -> None:
    erasure = intended()
    with pytest.raises(InvalidInput, match="cannot stay"):
        erasure.complete(2, [ERASED])


def test_two_that_intend_the_same_meet_and_the_next_erasure_is_another() -> None:
    assert intended("ana").id == intended("bob").id == erasure_id(TENANT, ERASED, 0)
    assert intended(number=1).id != intended().id


def test_who_decides_to_erase_while_another_is_quicker_begins_no_second_erasure() -> None:
    backend = Memory()
    operators, others = Operators(backend, TENANT), Operators(backend, TENANT)
    found = operators.last_and_next(ERASED)
    quicker = others.intend(ERASED, "bob", "asked to")
    others.complete(quicker.id, 2, [], "bob")
    erasure = operators.intend(ERASED, "ana", "asked to", found)
    assert (erasure.id, erasure.is_completed) == (quicker.id, True)
    assert operators.intend(ERASED, "ana", "asked to").id != quicker.id


def test_an_erasure_that_another_completes_while_it_is_read_is_no_corrupt_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend, conversation = Memory(), uuid4()
    operators = Operators(backend, TENANT)
    intent, head = operators.intend(conversation, "ana", "asked to"), backend.head

    def completed_meanwhile(conversation_id: UUID) -> Head:
        monkeypatch.setattr(backend, "head", head)
        Operators(backend, TENANT).complete(intent.id, 2, [], "bob")
        return head(conversation_id)

    monkeypatch.setattr(backend, "head", completed_meanwhile)
    found = operators.erasure(intent.id)
    assert found is not None
    assert found.is_completed


def test_a_body_that_has_not_the_shape_is_told_without_what_it_says() -> None:
    for body in (b"", b"[]", b'{"actor":"ana","reason":"asked to"}', b'{"who":"ana"}'):
        with pytest.raises(CorruptRecord) as raised:
            decode_fact("erasure.intended", 1, body)
        assert "ana" not in str(raised.value)
    with pytest.raises(CorruptRecord, match="version 2"):
        decode_fact("erasure.intended", 2, b"{}")


def test_importing_onrecord_and_opening_a_store_load_no_eventsourcing() -> None:
    program = (
        "import sys, onrecord\n"
        "with onrecord.connect('memory://') as store:\n"
        "    store.conversation('a').user('Hello')\n"
        "    store.erasures(), store.verify()\n"
        "assert not [name for name in sys.modules if name.startswith('eventsourcing')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_the_library_is_imported_only_by_its_own_modules() -> None:
    importing = {
        path.relative_to(ROOT).as_posix()
        for folder in ("domain", "projections", "adapters")
        for path in (ROOT / folder).rglob("*.py")
        if "from eventsourcing" in path.read_text("utf-8")
        or "import eventsourcing" in path.read_text("utf-8")
    }
    assert {path.rpartition("/")[0] for path in importing} == {"adapters/storage/eventsourcing"}
