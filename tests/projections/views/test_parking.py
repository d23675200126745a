"""When a parked event is tried again, and when a view is stopped."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.step import (
    CIRCUIT,
    LAST_ATTEMPT,
    SECOND,
    STRICT_ATTEMPTS,
    circuit_opens,
    retry_after,
    stands_still,
)


def test_an_event_waits_longer_after_every_attempt_and_in_the_end_for_a_person() -> None:
    waits = [retry_after(attempts) for attempts in range(1, LAST_ATTEMPT + 3)]
    due = [wait for wait in waits if wait is not None]
    assert due[0] == SECOND
    assert all(later > sooner for sooner, later in pairwise(due))
    assert waits[LAST_ATTEMPT - 1 :] == [None, None, None]


def test_only_a_strict_view_stands_still_and_only_after_its_attempts() -> None:
    strict, lenient = replace(AUDIT, strict=True), replace(AUDIT, strict=False)
    assert not stands_still(strict, STRICT_ATTEMPTS - 1)
    assert stands_still(strict, STRICT_ATTEMPTS)
    assert not stands_still(lenient, 1000)


def test_the_circuit_opens_once_enough_conversations_failed_alike() -> None:
    assert not circuit_opens(CIRCUIT - 1)
    assert circuit_opens(CIRCUIT)
