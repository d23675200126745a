"""The aggregates of a hold and of a retention class: given what happened, when somebody acts, then what is recorded."""

from __future__ import annotations

from uuid import UUID

import pytest
from eventsourcing.domain import Aggregate

from onrecord.adapters.storage.eventsourcing.operators import Operators, OperatorsMapper
from onrecord.adapters.storage.eventsourcing.retention import Hold, Retention
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.errors import InvalidInput
from onrecord.domain.marks.marked_ids import hold_id
from onrecord.domain.operators import (
    HoldLifted,
    HoldPlaced,
    OperatorsFact,
    RetentionClass,
    RetentionSet,
    decode_fact,
    retention_id,
)
from tests.factories import TENANT

KEPT = UUID("018f0000-0000-7000-8000-000000000009")


def recorded(aggregate: Aggregate) -> list[OperatorsFact]:
    """What of it is to be recorded, as it will be read again."""
    mapper = OperatorsMapper(Operators(Memory(), TENANT).construct_transcoder())
    stored = [mapper.to_stored_event(event) for event in aggregate.collect_events()]
    assert [mapper.to_stored_event(mapper.to_domain_event(event)) for event in stored] == stored
    return [decode_fact(event.topic, 1, event.state) for event in stored]


def placed(conversation_id: UUID | None = KEPT) -> Hold:
    return Hold(TENANT, conversation_id, 0, "Smith v. Example", "ana", "claim of 3 March")


def test_given_nothing_when_a_hold_is_placed_then_who_why_and_the_matter_are_recorded() -> None:
    (fact,) = recorded(placed())
    assert isinstance(fact, HoldPlaced)
    assert (fact.tenant, fact.conversation_id, fact.number) == (TENANT, KEPT, 0)
    assert (fact.matter, fact.actor, fact.reason) == (
        *("Smith v. Example", "ana"),
        "claim of 3 March",
    )


@pytest.mark.parametrize(
    ("matter", "actor", "reason"), [(" ", "ana", "claim"), ("a", "", "claim"), ("a", "ana", " ")]
)
def test_given_nothing_when_nobody_no_reason_or_no_matter_is_named_then_it_is_refused(
    matter: str, actor: str, reason: str
) -> None:
    with pytest.raises(InvalidInput, match="matter"):
        Hold(TENANT, KEPT, 0, matter, actor, reason)


def test_given_a_hold_when_it_is_lifted_then_who_and_why_are_recorded() -> None:
    hold = placed(None)
    recorded(hold)
    hold.lift("ben", "settled")
    (fact,) = recorded(hold)
    assert isinstance(fact, HoldLifted)
    assert (fact.tenant, fact.conversation_id) == (TENANT, None)
    assert (fact.actor, fact.reason) == ("ben", "settled")


def test_given_a_lifted_hold_when_it_is_lifted_again_then_it_is_refused() -> None:
    hold = placed()
    hold.lift("ben", "settled")
    recorded(hold)
    with pytest.raises(InvalidInput, match="lifted already"):
        hold.lift("ben", "settled")
    assert recorded(hold) == []


def test_given_a_hold_when_nobody_says_why_it_is_lifted_then_it_is_refused() -> None:
    hold = placed()
    with pytest.raises(InvalidInput, match="who does it and why"):
        hold.lift("ben", "")
    assert not hold.is_lifted


def test_the_id_of_a_hold_follows_from_what_it_is_on_and_which_one_it_is() -> None:
    assert placed().id == hold_id(TENANT, KEPT, 0)
    ids = {hold_id(TENANT, on, number) for on in (None, KEPT, TENANT) for number in (0, 1)}
    assert len(ids) == 6


def begun(keep: RetentionClass = "six-months", rule: str = "EU AI Act 19(1)") -> Retention:
    id_ = retention_id(Memory().digest, TENANT)
    return Retention.begin(id_, TENANT, None, None, None, keep, "ana", rule)


def test_given_nothing_when_a_class_is_set_then_who_how_long_and_the_rule_are_recorded() -> None:
    (fact,) = recorded(begun())
    assert isinstance(fact, RetentionSet)
    assert (fact.tenant, fact.conversation_id, fact.label) == (TENANT, None, None)
    assert (fact.keep, fact.actor, fact.rule) == ("six-months", "ana", "EU AI Act 19(1)")


def test_given_a_class_when_it_is_set_anew_then_that_is_recorded_behind_it() -> None:
    retention = begun()
    recorded(retention)
    retention.change(400, "ben", "own policy 7")
    (fact,) = recorded(retention)
    assert isinstance(fact, RetentionSet)
    assert (fact.keep, fact.actor, fact.rule) == (400, "ben", "own policy 7")
    assert retention.keep == 400


@pytest.mark.parametrize("keep", [0, -1, 36_501])
def test_given_a_class_when_no_such_number_of_days_is_set_then_it_is_refused(keep: int) -> None:
    retention = begun()
    recorded(retention)
    with pytest.raises(InvalidInput, match="days"):
        retention.change(keep, "ben", "own policy 7")
    assert recorded(retention) == []


def test_given_nothing_when_a_class_follows_no_rule_then_it_is_refused() -> None:
    with pytest.raises(InvalidInput, match="which rule it follows"):
        begun(rule=" ")
