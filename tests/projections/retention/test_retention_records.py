"""When a retention class runs out, and which class of several counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.events import AnnotationAdded, ContentRedacted
from onrecord.domain.header import microseconds_of, time_of
from onrecord.domain.operators import RetentionClass, RetentionSet, retention_id
from onrecord.projections.retention.retention_records import (
    RetentionEntry,
    labelled,
    labels_in,
    longest,
    runs_out,
)
from tests.factories import TENANT, appending, prompt, started

MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))


def entry(
    keep: RetentionClass, label: str | None = None, value: str | None = None
) -> RetentionEntry:
    fact = RetentionSet(
        tenant=TENANT, label=label, value=value, keep=keep, actor="ana", rule="a rule", at=0
    )
    return RetentionEntry(retention_id(Memory().digest, TENANT, None, label, value), fact)


@pytest.mark.parametrize(
    ("keep", "moved", "ends"),
    [
        ("six-months", "2026-01-15T09:30:00", "2026-07-15T09:30:00"),
        ("six-months", "2026-08-31T09:30:00", "2027-02-28T09:30:00"),
        ("six-months", "2027-08-31T09:30:00", "2028-02-29T09:30:00"),
        ("six-months", "2026-12-01T00:00:00", "2027-06-01T00:00:00"),
        ("six-years", "2026-03-03T00:00:00", "2032-03-03T00:00:00"),
        ("six-years", "2028-02-29T00:00:00", "2034-02-28T00:00:00"),
        (400, "2026-01-01T00:00:00", "2027-02-05T00:00:00"),
    ],
)
def test_a_class_runs_out_by_the_calendar(keep: RetentionClass, moved: str, ends: str) -> None:
    at = microseconds_of(datetime.fromisoformat(moved).replace(tzinfo=UTC))
    end = runs_out(keep, at)
    assert end is not None
    assert time_of(end).isoformat()[:19] == ends


def test_what_is_unlimited_never_runs_out() -> None:
    assert runs_out("unlimited", 0) is None


@given(MOMENTS)
def test_six_months_are_181_to_184_days_and_the_hour_is_kept(moved: datetime) -> None:
    end = runs_out("six-months", microseconds_of(moved))
    assert end is not None
    assert timedelta(days=180) < time_of(end) - moved <= timedelta(days=184)
    assert time_of(end).time() == moved.time()


@given(MOMENTS, MOMENTS)
def test_what_moved_later_runs_out_no_sooner(one: datetime, other: datetime) -> None:
    first, second = sorted((microseconds_of(one), microseconds_of(other)))
    for keep in ("six-months", "six-years", 30):
        assert (runs_out(keep, first) or 0) <= (runs_out(keep, second) or 0)


def test_of_several_classes_the_one_that_keeps_longest_counts() -> None:
    short, middle, long = entry(30), entry("six-months"), entry("six-years")
    assert longest([middle, long, short], 0) == long
    assert longest([long, entry("unlimited")], 0) == entry("unlimited")
    assert longest([], 0) is None


def test_a_label_is_borne_with_its_value_or_with_any() -> None:
    labels = {"category": "health"}
    assert labelled(entry(30, "category"), labels)
    assert labelled(entry(30, "category", "health"), labels)
    assert not labelled(entry(30, "category", "sport"), labels)
    assert not labelled(entry(30, "other"), labels)
    assert not labelled(entry(30), labels)


def test_labels_are_those_of_the_whole_that_were_not_redacted() -> None:
    log, conversation = Memory(), uuid4()
    said = (
        *(started(), prompt()),
        AnnotationAdded(labels={"category": "sport", "reviewed": "yes"}),
        AnnotationAdded(labels={"of one": "event"}, version=2),
        AnnotationAdded(labels={"category": "health"}),
        AnnotationAdded(labels={"wrong": "yes"}),
        ContentRedacted(version=6),
    )
    log.append([appending(conversation, *said)])
    found = labels_in(log.read(conversation))
    assert found == {"category": "health", "reviewed": "yes"}
